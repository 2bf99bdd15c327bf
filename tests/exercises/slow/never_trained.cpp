// Has a layer that the loss does not depend on; the other one says that it is meant, or has turns.
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

struct Net : nn::Module {
  nn::Linear first{8, 8}, second{8, 8}, head{8, 1};
  LAZY_MODULE(first, second, head)
  Tensor operator()(const Tensor& x, bool both) const {
    const Tensor y = relu(first(x));
    return head(both ? relu(second(y)) : y);
  }
};

void train(Net& net, bool in_turns) {
  optim::SGD step(net.named_parameters(), 1e-3);
  const Tensor x = rand({32, 8}).eval();
  for (int i = 0; i < 80; ++i) {
    step.zero_grad();
    const Tensor loss = mean(square(net(x, in_turns && i % 2 == 0)));
    loss.backward();
    step.step();  // cause: 2 of 6 parameters .second.weight, second.bias. never .* at HERE
    eval(loss, net.head.weight);
  }
}

void slow() {
  Net net;
  train(net, false);
}

void innocent() {
  Net net;
  train(net, true);
  Net frozen;
  for (auto& p : frozen.second.parameters()) p->requires_grad_(false);
  train(frozen, false);
}

const exercises::Program program("never_trained", slow, innocent);

}  // namespace
