// Inverts a matrix by arithmetic alone: each column is eliminated from all other rows.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(gauss_jordan, .tolerance = 1e-4, .any_size = false) {  // a step for each column
  const Tensor a = in("a");
  const int64_t n = a.size(0);
  Tensor both = concat({a, eye(n), in("b")(_, newaxis)}, 1);
  for (int64_t i = 0; i < n; ++i) {
    both(i) /= both(i, i);
    const Tensor factor = where(arange(n) == i, 0, both(_, i));
    both -= outer(factor, both(i));
  }
  return {{"inverse", both(_, slice(n, 2 * n))}, {"x", both(_, -1)}};
}
