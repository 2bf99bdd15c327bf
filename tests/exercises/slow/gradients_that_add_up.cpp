// Trains without zero_grad(); the other one adds up two batches on purpose.
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  nn::Linear net(8, 1);
  optim::SGD step(net.parameters(), 1e-3);
  const Tensor x = rand({32, 8}).eval();
  for (int i = 0; i < 30; ++i) {
    mean(square(net(x))).backward();
    step.step();  // cause: SGD: step.. at HERE goes by gradients that are sums
  }
}

void innocent() {
  nn::Linear net(8, 1);
  optim::SGD step(net.parameters(), 1e-3);
  const Tensor x = rand({32, 8}).eval();
  for (int i = 0; i < 30; ++i) {
    step.zero_grad();
    for (int half = 0; half < 2; ++half) mean(square(net(x))).backward();
    step.step();
  }
}

const exercises::Program program("gradients_that_add_up", slow, innocent);

}  // namespace
