// Joins all losses so far in each step; the other one keeps a running sum.
#include <vector>

#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor x = rand({64}).eval();
  std::vector<Tensor> losses;
  for (int i = 0; i < 14; ++i) {
    losses.push_back(mean(square(x - 0.1f * static_cast<float>(i))));
    mean(stack(losses)).eval();  // cause: the graph flushed at HERE grows each time .* joins ever more values
  }
}

void innocent() {
  const Tensor x = rand({64}).eval();
  Tensor total = zeros({1});
  for (int i = 0; i < 14; ++i) {
    total = total + mean(square(x - 0.1f * static_cast<float>(i)));
    total.eval();
  }
}

const exercises::Program program("list_that_grows", slow, innocent);

}  // namespace
