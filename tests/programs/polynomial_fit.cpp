// Fits a polynomial to noisy values by the normal equations of its Vandermonde matrix.
#include "tests/programs/gauss_jordan.hpp"
#include "tests/programs/program.hpp"

using namespace lazy;

namespace {

/// Returns the polynomial, highest power first, at x, by Horner's rule.
Tensor at(const Tensor& coefficients, const Tensor& x) {
  Tensor value = zeros_like(x);
  for (const Tensor& c : unstack(coefficients)) value = value * x + c;
  return value;
}

}  // namespace

PROGRAM(polynomial_fit, .tolerance = 1e-4, .elementary = true) {
  const Tensor x = in("x"), y = at(in("coefficient"), x) + in("noise");
  const Tensor powers = vander(x, in("coefficient").size());
  const Tensor found = programs::solve_definite(matmul(powers.T(), powers), matmul(powers.T(), y));
  return {{"found", found}, {"rest", sum(square(y - at(found, x)))}, {"at", at(found, linspace(-1, 1, 5))}};
}
