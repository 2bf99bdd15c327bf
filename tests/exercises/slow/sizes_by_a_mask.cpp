// Selects by a mask in each step, which has to count; the other one puts zeros in.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor x = rand({4096}).eval();
  float total = 0;
  for (int i = 0; i < 300; ++i) {
    const Tensor chosen = x(x > static_cast<float>(i) * 1e-3f);  // cause: HERE count
    total += sum(chosen).item<float>();
  }
}

void innocent() {
  const Tensor x = rand({4096}).eval();
  float total = 0;
  for (int i = 0; i < 300; ++i) total += sum(where(x > static_cast<float>(i) * 1e-3f, x, 0.0f)).item<float>();
}

const exercises::Program program("sizes_by_a_mask", slow, innocent);

}  // namespace
