// Fits a polynomial to noisy values by least squares.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(polynomial_fit, .tolerance = 1e-4, .elementary = true) {
  const Tensor x = in("x"), y = polyval(in("coefficient"), x) + in("noise");
  const Tensor found = lstsq(vander(x, in("coefficient").size()), y).solution;
  return {{"found", found},
          {"rest", sum(square(y - polyval(found, x)))},
          {"at", polyval(found, linspace(-1, 1, 5))}};
}
