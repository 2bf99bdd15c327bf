// Learns a linear model by gradient descent and compares it with the solution of the normal equations.
#include <cmath>
#include <cstdio>

#include "demo.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "steps.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(regression [STEPS]
Learns y = X w + b from 2000 noisy examples (default: 150 steps) and compares w with the normal equations.
)";

void learn(const demo::Arguments& arguments) {
  const long steps = demo::number(arguments, 0, 150, 1, 100000);
  set_default_dtype(float64);
  constexpr int64_t kExamples = 2000, kInputs = 12;
  Generator g(1);
  const Tensor x = randn(g, {kExamples, kInputs}), truth = randn(g, {kInputs, 1});
  const Tensor y = matmul(x, truth) + 0.5 + 0.1 * randn(g, {kExamples, 1});
  eval(x, y);

  nn::Linear model(kInputs, 1);
  optim::SGD optimizer(model.parameters(), {.lr = 0.1, .momentum = 0.5});
  demo::Steps counted;
  double first = 0, last = 0;
  for (long i = 0; i < steps; ++i)
    counted.run([&] {
      optimizer.zero_grad();
      const Tensor loss = mse_loss(model(x), y);
      loss.backward();
      optimizer.step();
      last = loss.item<double>();
      if (i == 0) first = last;
    });
  std::printf("loss %.6f in the first step, %.6f in the last (the noise has 0.01)\n", first, last);
  counted.report();

  const no_grad scope;
  const Tensor with_one = concat({x, ones({kExamples, 1})}, 1);
  const Tensor exact =
      solve(matmul(with_one.T(), with_one), matmul(with_one.T(), y));  // the normal equations
  const Tensor learned = concat({model.weight.T(), model.bias.reshape({1, 1})}, 0);
  const double off = max(abs(learned - exact)).item<double>();
  std::printf("differs from the normal equations by %.1e: %s\n", off, off < 1e-6 ? "ok" : "not there yet");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 1, learn); }
