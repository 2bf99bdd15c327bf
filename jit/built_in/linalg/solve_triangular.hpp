// Solves systems of triangular matrices; the other triangle is not read. Right-hand sides and solutions are
// rows.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// a (..., n, n), b (..., k, n) -> x (..., k, n). Throws for a 0 on the diagonal.
extern const CallDefinition kSolveTriangular;
inline constexpr uint32_t kUpper = 1;       // a is upper triangular, else lower
inline constexpr uint32_t kUnit = 2;        // its diagonal is 1, and not read
inline constexpr uint32_t kTransposed = 4;  // solves with the transpose of a

/// Returns the place of the first 0 on the diagonal, counted from 1; 0 if there is none.
template <class T>
int64_t zero_on_diagonal(const T* a, int64_t n, uint32_t flags) {
  if (flags & kUnit) return 0;
  for (int64_t i = 0; i < n; ++i)
    if (a[i * n + i] == T{0}) return i + 1;
  return 0;
}
/// Throws Error for matrix `index`, which has 0 at that place, counted from 1.
[[noreturn]] void fail_triangular(const CallRun&, int64_t index, int64_t order);

/// Solves for one right-hand side in place.
template <class T>
void substitute(const T* a, int64_t n, uint32_t flags, T* x);

}  // namespace lazy::jit::calls
