// Trains a small convolutional network by gradient descent with momentum; the gradients come from the forward
// pass.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(train_convolutions, .tolerance = 1e-4, .elementary = true) {
  const Tensor x = in("x"), label = in("label");
  const auto loss = [&](const Tensor& w, const Tensor& b, const Tensor& v) {
    const Tensor seen = max_pool(relu(conv2d(x, w, {.padding = 1, .bias = b})), 2);
    return cross_entropy(linear(seen.reshape({x.size(0), -1}), v), label);
  };
  Tensor w = in("w"), b = in("b"), v = in("v");
  Tensor dw = zeros_like(w), db = zeros_like(b), dv = zeros_like(v);
  std::vector<Tensor> losses;
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const auto [value, g] = value_and_grad(loss)(w, b, v);
    dw = 0.9 * dw + g[0];
    db = 0.9 * db + g[1];
    dv = 0.9 * dv + g[2];
    w -= 0.1 * dw;
    b -= 0.1 * db;
    v -= 0.1 * dv;
    losses.push_back(value);
    eval(value, w, b, v, dw, db, dv);
  }
  return {{"w", w}, {"b", b}, {"v", v}, {"losses", stack(losses)}};
}
