// Computes an encoding of positions in each step; the other one does so once.
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  nn::Linear net(256, 2);
  optim::SGD step(net.parameters(), 1e-3);
  for (int i = 0; i < 60; ++i) {
    const Tensor at = reshape(arange(0, 512, 1, float32), {512, 1}),
                 rates = exp(arange(0, 256, 1, float32) * -0.03f);
    const Tensor code = sin(at * rates) + cos(at * rates);  // cause: add at HERE .* was the same in all
    step.zero_grad();
    const Tensor loss = mean(square(net(code + static_cast<float>(i))));
    loss.backward();
    step.step();
    eval(loss, net.weight, net.bias);
  }
}

void innocent() {
  nn::Linear net(256, 2);
  optim::SGD step(net.parameters(), 1e-3);
  const Tensor at = reshape(arange(0, 512, 1, float32), {512, 1}),
               rates = exp(arange(0, 256, 1, float32) * -0.03f);
  const Tensor code = (sin(at * rates) + cos(at * rates)).eval();
  for (int i = 0; i < 60; ++i) {
    step.zero_grad();
    const Tensor loss = mean(square(net(code + static_cast<float>(i))));
    loss.backward();
    step.step();
    eval(loss, net.weight, net.bias);
  }
}

const exercises::Program program("positions_each_step", slow, innocent);

}  // namespace
