// Fits a mixture of normal distributions with independent features by expectation and maximisation.
#include <numbers>

#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(gaussian_mixture, .tolerance = 1e-4, .elementary = true) {
  const Tensor points = in("points");
  Tensor mean = in("start"), variance = ones_like(mean);
  const int64_t n = points.size(0), kinds = mean.size(0);
  Tensor weight = full(kinds, 1.0 / kinds), evidence, share;
  for (int64_t round = 0; round < in.whole("rounds"); ++round) {
    const Tensor square_ = square(points(_, newaxis) - mean) / variance;
    const Tensor logarithm = log(weight) - 0.5 * sum(square_ + log(2 * std::numbers::pi * variance), 2);
    evidence = logsumexp(logarithm, 1);
    share = exp(logarithm - evidence(_, newaxis));
    const Tensor total = sum(share, 0);
    weight = total / n;
    mean = matmul(share.T(), points) / total(_, newaxis);
    variance = matmul(share.T(), square(points)) / total(_, newaxis) - square(mean) + 1e-3;
    eval(weight, mean, variance);
  }
  return {{"weight", weight},
          {"mean", mean},
          {"variance", variance},
          {"likelihood", sum(evidence)},
          {"kind", argmax(share, 1)}};
}
