// Finds the directions in which points vary most, by power iteration: the covariance matrix is applied until
// a vector turns no more, then that direction is taken out of it.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(power_iteration, .tolerance = 1e-3) {
  const Tensor points = in("points");
  const int64_t kept = in.whole("kept");
  const Tensor centred = points - mean(points, 0);
  Tensor covariance = cov(points.T());
  const Tensor total = trace(covariance);
  std::vector<Tensor> variances, directions;
  for (int64_t i = 0; i < kept; ++i) {
    Tensor v = ones({points.size(1)});
    for (int step = 0; step < 200; ++step) {
      v = matmul(covariance, v);
      v /= norm(v);
      v.eval();
    }
    v *= sign(Tensor(v)(argmax(abs(v))));
    const Tensor variance = dot(v, matmul(covariance, v));
    covariance -= variance * outer(v, v);
    variances.push_back(variance);
    directions.push_back(v);
  }
  const Tensor variance = stack(variances), direction = stack(directions);
  return {{"variance", variance},
          {"direction", direction},
          {"share", variance / total},
          {"projected", matmul(centred, direction.T())}};
}
