// Finds the shortest ways between all places of a map: by each place in turn, if that is shorter.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(floyd_warshall) {
  Tensor d = in("length");
  const int64_t n = d.size(0);
  d = where(eye(n) == 1, 0, d);
  for (int64_t k = 0; k < n; ++k) {
    d = minimum(d, d(_, k)(_, newaxis) + d(k));
    d.eval();
  }
  const Tensor reached = isfinite(d);
  return {{"distance", d}, {"reached", sum(reached, 1)}, {"longest", max(where(reached, d, 0))}};
}
