// Adds up losses of many batches with all that their gradients would need; the other ones have none,
// or use them.
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  nn::Linear net(8, 1);
  const Tensor x = rand({32, 8}).eval();
  Tensor total = zeros({});
  for (int i = 0; i < 100; ++i) {
    total = total + mean(square(net(x)));  // cause: total at HERE kept how each of its 100 parts
  }
  (void)total.item<float>();
}

void innocent() {
  nn::Linear net(8, 1);
  const Tensor x = rand({32, 8}).eval();
  Tensor total = zeros({});
  for (int i = 0; i < 100; ++i) total = total + mean(square(net(x))).detach();
  (void)total.item<float>();
  Tensor steps = zeros({});  // of a recurrent net, say
  for (int i = 0; i < 100; ++i) steps = steps + mean(square(net(x)));
  steps.backward();
  (void)steps.item<float>();
}

const exercises::Program program("validation_keeps_graphs", slow, innocent);

}  // namespace
