// Takes the loss of all pairs, for shapes that broadcast; the other one's fit.
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor predicted = rand({2000, 1}).eval(), target = rand({2000}).eval();
  for (int i = 0; i < 5; ++i) {
    mse_loss(predicted * 2.0f, target).eval();  // cause: mse_loss at HERE broadcasts
  }
}

void innocent() {
  const Tensor predicted = rand({2000, 1}).eval(), target = rand({2000}).eval();
  for (int i = 0; i < 5; ++i) mse_loss(reshape(predicted * 2.0f, {2000}), target).eval();
}

const exercises::Program program("loss_of_all_pairs", slow, innocent);

}  // namespace
