// Classifies points by Bayes' rule, as if features were independent and normal within a class.
#include <numbers>

#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(naive_bayes, .elementary = true) {
  const Tensor train = in("train"), label = in("label"), asked = in("asked");
  const int64_t kinds = max(label).item<int64_t>() + 1;
  const Tensor member = (label == arange(kinds)(_, newaxis))(_, _, newaxis);  // (kinds, n, 1)
  const Tensor count = sum(member, 1);
  const Tensor mean = sum(where(member, train, 0), 1) / count;
  const Tensor square_ = square(train - mean(_, newaxis));
  const Tensor variance = sum(where(member, square_, 0), 1) / count + 0.01;
  const Tensor prior = bincount(label) / label.size();
  const Tensor logarithm =
      log(prior) -
      0.5 * sum(log(2 * std::numbers::pi * variance) + square(asked(_, newaxis) - mean) / variance, -1);
  const Tensor posterior = exp(logarithm - logsumexp(logarithm, 1, keepdims));
  return {{"mean", mean}, {"variance", variance}, {"posterior", posterior}, {"answer", argmax(posterior, 1)}};
}
