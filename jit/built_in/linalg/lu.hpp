// Factors matrices as P x = L U, and solves systems by that. Right-hand sides and solutions are rows here:
// each is along memory.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// x (..., m, n) -> factors (..., n, m): the transpose of L below the diagonal, whose own is 1, and U;
/// pivots (..., k) int32: row i was exchanged with row pivots[i] - 1, k = min(m, n); order (..., m) int64:
/// row i of L U is row order[i] of x. A singular matrix has a 0 on U's diagonal.
extern const CallDefinition kLu;
/// factors (..., n, n) and pivots (..., n) as of kLu, b (..., k, n) -> x (..., k, n). Throws for a singular
/// one.
extern const CallDefinition kLuSolve;
/// a (..., n, n), b (..., k, n) -> x (..., k, n). Throws for a singular matrix, but with the flag kInfinite,
/// with which all of x is infinite then.
extern const CallDefinition kSolve;
inline constexpr uint32_t kInfinite = 1;

/// Factors an m x n matrix in place, row-major. Returns 0, or the place of the first 0 on U's diagonal,
/// counted from 1.
template <class T>
int64_t factor_lu(T* a, int64_t m, int64_t n, int32_t* pivots);
/// Solves for one right-hand side in place, by factors of factor_lu().
template <class T>
void substitute_lu(const T* a, int64_t n, const int32_t* pivots, T* x);
/// Throws Error for factors of matrix m that have 0 on the diagonal, or pivots out of range.
template <class T>
void check_factors(const CallRun&, int64_t m, const T* a, const int32_t* pivots, int64_t n);
/// Writes to which row of x each row of L U belongs.
void order_of(const int32_t* pivots, int64_t count, int64_t rows, int64_t* order);

}  // namespace lazy::jit::calls
