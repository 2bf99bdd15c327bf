// Follows a moving point by noisy sightings of where it is: state and covariance, one step a sighting.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(kalman_filter) {
  const Tensor f = tensor({{1.0, 1.0}, {0.0, 1.0}}), q = diag(tensor({0.01, 0.1}));
  const Tensor h = tensor({{1.0, 0.0}});
  const double r = 0.5;
  Tensor x = stack({in("seen")(0), tensor(0.0)}), p = eye(2);
  std::vector<Tensor> track;
  for (const Tensor& z : unstack(in("seen"))) {
    x = matmul(f, x);
    p = matmul(f, matmul(p, f.T())) + q;
    const Tensor gain = matmul(p, h.T()) / (matmul(h, matmul(p, h.T())) + r);
    x = x + gain(_, 0) * (z - matmul(h, x)(0));
    p = matmul(eye(2) - matmul(gain, h), p);
    track.push_back(x);
    eval(x, p);
  }
  return {{"track", stack(track)}, {"p", p}};
}
