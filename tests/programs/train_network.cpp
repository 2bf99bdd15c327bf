// Trains a network of two layers by Adam, with the gradients written out.
#include <cmath>

#include "tests/programs/program.hpp"

using namespace lazy;

namespace {

/// Holds a weight with what Adam remembers of its gradients.
struct Weight {
  Tensor value, mean = zeros_like(value), square = zeros_like(value);
  void step(const Tensor& gradient, int64_t t) {
    mean = 0.9 * mean + 0.1 * gradient;
    square = 0.999 * square + 0.001 * lazy::square(gradient);
    const double bias1 = 1 - std::pow(0.9, t), bias2 = 1 - std::pow(0.999, t);
    value -= 0.05 * (mean / bias1) / (sqrt(square / bias2) + 1e-8);
  }
};

}  // namespace

PROGRAM(train_network, .tolerance = 1e-4, .elementary = true) {
  const Tensor x = in("x"), label = in("label");
  Weight w1{in("w1")}, b1{in("b1")}, w2{in("w2")}, b2{in("b2")};
  std::vector<Tensor> losses;
  for (int64_t t = 1; t <= in.whole("steps"); ++t) {
    const Tensor inner = matmul(x, w1.value) + b1.value, hidden = relu(inner);
    const Tensor scores = matmul(hidden, w2.value) + b2.value;
    losses.push_back(cross_entropy(scores, label));
    const Tensor back = (softmax(scores, 1) - one_hot(label, scores.size(1))) / x.size(0);
    const Tensor deeper = matmul(back, w2.value.T()) * (inner > 0);
    w2.step(matmul(hidden.T(), back), t);
    b2.step(sum(back, 0), t);
    w1.step(matmul(x.T(), deeper), t);
    b1.step(sum(deeper, 0), t);
    eval(losses.back(), w1.value, b1.value, w2.value, b2.value);
  }
  return {{"w1", w1.value}, {"b1", b1.value}, {"w2", w2.value}, {"b2", b2.value}, {"losses", stack(losses)}};
}
