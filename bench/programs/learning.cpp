// Programs that learn from examples: mixtures, neighbours, logistic regression, a network with Adam.
#include <cmath>
#include <memory>
#include <numbers>

#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "programs.hpp"

using namespace lazy;
using programs::uniform;

/// Fits a mixture of normal distributions with independent features by expectation and maximisation.
PROGRAM(gaussian_mixture, "20000x8_6") {
  const int64_t points = n(20000, 200), kinds = 6;
  const Tensor x = (uniform({points, 8}, -1, 1, 10) + floor(uniform({points, 1}, 0, 6, 11))).eval();
  return [=] {
    Tensor mean = x(slice(kinds)), variance = ones_like(mean), weight = full(kinds, 1.0f / 6.0f);
    for (int step = 0; step < 30; ++step) {
      const Tensor far = square(x(_, newaxis) - mean) / variance;
      const Tensor score =
          log(weight) - 0.5f * sum(far + log(2.0f * std::numbers::pi_v<float> * variance), 2);
      const Tensor share = exp(score - logsumexp(score, 1, keepdims));
      const Tensor total = sum(share, 0);
      weight = total / static_cast<float>(points);
      mean = matmul(share.T(), x) / total(_, newaxis);
      variance = matmul(share.T(), square(x)) / total(_, newaxis) - square(mean) + 1e-3f;
      eval(mean, variance, weight);
    }
    return concat({mean, variance}, 1);
  };
}

/// Classifies points by a vote among the five nearest of those whose class is known.
PROGRAM(nearest_neighbours, "1000x5000x64") {
  const Tensor known = uniform({n(5000, 300), 64}, -1, 1, 12), asked = uniform({n(1000, 40), 64}, -1, 1, 13);
  const Tensor label = floor(uniform(n(5000, 300), 0, 10, 14)).astype(int64).eval();
  return [=] {
    const Tensor distance =
        sum(square(asked), 1, keepdims) + sum(square(known), 1) - 2.0f * matmul(asked, known.T());
    const Tensor nearest = topk(distance, 5, 1, false).indices;
    const Tensor votes = sum(one_hot(label(nearest), 10), 1);
    return argmax(votes, 1);
  };
}

/// Fits a logistic regression by gradient descent with a step that shrinks.
PROGRAM(logistic_regression, "10000x100") {
  const int64_t examples = n(10000, 200), features = n(100, 12);
  const Tensor x = uniform({examples, features}, -1, 1, 15);
  const Tensor truth = uniform(features, -1, 1, 16);
  const Tensor y = (matmul(x, truth) > 0.0f).astype(float32).eval();
  return [=] {
    Tensor w = zeros(features), b = zeros({});
    for (int step = 0; step < 200; ++step) {
      const Tensor error = sigmoid(matmul(x, w) + b) - y;
      const float rate = 2.0f / (1.0f + 0.01f * static_cast<float>(step));
      w = w - rate * (matmul(x.T(), error) / static_cast<float>(examples) + 1e-4f * w);
      b = b - rate * mean(error);
      eval(w, b);
    }
    return concat({w, b.reshape({1})});
  };
}

namespace {

struct Network : nn::Module {
  nn::Linear hidden, middle, out;
  LAZY_MODULE(hidden, middle, out)
  Network(int64_t inputs, int64_t width) : hidden(inputs, width), middle(width, width), out(width, 10) {}
  Tensor operator()(const Tensor& x) const { return out(relu(middle(relu(hidden(x))))); }
};

}  // namespace

/// Trains a small network with Adam, a batch at a time.
PROGRAM(adam_network, "128x784x256") {
  const int64_t inputs = n(784, 20), width = n(256, 16), batch = n(128, 16), steps = 40;
  const Tensor x = uniform({4 * batch, inputs}, 0, 1, 17);
  const Tensor label = floor(uniform(4 * batch, 0, 10, 18)).astype(int64).eval();
  Network first(inputs, width);
  uint64_t seed = 100;
  for (ParameterRef p : first.parameters()) {
    const float most = 1 / std::sqrt(static_cast<float>((*p).size(-1)));
    *p = uniform((*p).shape(), -most, most, seed++);
  }
  return [=] {
    Network model = first;
    optim::Adam optimizer(model.parameters(), {.lr = 1e-3});
    Tensor total = zeros({});
    for (int64_t step = 0; step < steps; ++step) {
      const auto rows = slice(step % 4 * batch, (step % 4 + 1) * batch);
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(model(x(rows)), label(rows));
      loss.backward();
      optimizer.step();
      total = total + loss.detach();
      total.eval();
    }
    return total.reshape({1});
  };
}
