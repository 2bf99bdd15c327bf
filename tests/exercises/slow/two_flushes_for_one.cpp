// Asks for two values of the same data one after the other; the other one evaluates them together.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor x = rand({1 << 19}).eval();
  for (int i = 0; i < 140; ++i) {
    const Tensor low = min(x + static_cast<float>(i)), high = max(x * static_cast<float>(i));
    (void)low.item<float>();   // cause: when item.. at HERE flushed
    (void)high.item<float>();  // cause: item.. at HERE flushes by itself .* 2.0 MiB of inputs are read twice
  }
}

void innocent() {
  const Tensor x = rand({1 << 19}).eval();
  for (int i = 0; i < 140; ++i) {
    const Tensor low = min(x + static_cast<float>(i)), high = max(x * static_cast<float>(i));
    eval(low, high);
    (void)low.item<float>();
    (void)high.item<float>();
  }
}

const exercises::Program program("two_flushes_for_one", slow, innocent);

}  // namespace
