// Lloyd's k-means: each point joins its nearest centre, each centre moves to the mean of its points.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(k_means) {
  const Tensor points = in("points");
  const int64_t k = in.whole("k");
  Tensor centres = points(slice(k));
  const auto distances = [&] { return sum(square(points(_, newaxis) - centres), 2); };
  for (int64_t round = 0; round < in.whole("rounds"); ++round) {
    const Tensor member = argmin(distances(), 1)(_, newaxis) == arange(k);
    const Tensor count = sum(member, 0)(_, newaxis);
    centres = where(count > 0, matmul(member.T(), points) / maximum(count, 1), centres);
    centres.eval();
  }
  const Tensor distance = distances();
  return {
      {"centres", centres}, {"size", bincount(argmin(distance, 1), k)}, {"inertia", sum(min(distance, 1))}};
}
