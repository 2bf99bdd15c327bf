// Factors matrices as P x = L U and as x = L L^H, block of columns by block, and solves by L and U. The bits
// do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <functional>

namespace lazy::cpu_backend {

/// Calls f(0) ... f(pieces - 1), which may be on several threads.
using EachPiece = std::function<void(int64_t pieces, const std::function<void(int64_t)>& f)>;

/// Factors a row-major m x n matrix in place, as jit::calls::factor_lu() does. T is float, double or a
/// complex number of these, as below.
template <class T>
int64_t factor_lu_by_blocks(T* a, int64_t m, int64_t n, int32_t* pivots, const EachPiece&);

/// Solves in place for the `count` columns of x, row-major n x count, by factors of n x n.
template <class T>
void solve_lu_by_blocks(const T* a, int64_t n, const int32_t* pivots, T* x, int64_t count, const EachPiece&);

/// Factors the lower triangle of a row-major, Hermitian n x n matrix in place. Returns 0, or the order of the
/// first leading minor that is not positive.
template <class T>
int64_t factor_cholesky_by_blocks(T* a, int64_t n, const EachPiece&);

}  // namespace lazy::cpu_backend
