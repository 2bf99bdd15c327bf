// Solves a system of linear equations as a program would that has only arithmetic.
#pragma once
#include <lazy/lazy.hpp>

namespace programs {

/// Returns x with matmul(a, x) = b for a symmetric positive definite a of (n, n), b of (n): eliminates each
/// column from all other rows.
inline lazy::Tensor solve_definite(const lazy::Tensor& a, const lazy::Tensor& b) {
  using namespace lazy;
  const int64_t n = a.size(0);
  Tensor both = concat({a, b(_, newaxis)}, 1);
  for (int64_t i = 0; i < n; ++i) {
    both(i) /= both(i, i);
    const Tensor factor = where(arange(n) == i, 0, both(_, i));
    both -= outer(factor, both(i));
  }
  return both(_, n);
}

}  // namespace programs
