// Computes a tone anew in each take, though only the drive differs; in the other one the tone differs, too.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor time = (rand({1 << 16}) * 6.0f).eval();
  for (int i = 0; i < 40; ++i) {
    const Tensor tone =
        sin(time * 440.0f) + erf(time) + tanh(time);  // cause: recorded at HERE: compute it once
    (void)sum(tone * exp(time * (static_cast<float>(i) * 1e-3f))).item<float>();
  }
}

void innocent() {
  const Tensor time = (rand({1 << 16}) * 6.0f).eval();
  for (int i = 0; i < 40; ++i) {
    const Tensor tone = sin(time * (440.0f + static_cast<float>(i))) + erf(time * static_cast<float>(i));
    (void)sum(tone * exp(time * (static_cast<float>(i) * 1e-3f))).item<float>();
  }
}

const exercises::Program program("the_same_each_time", slow, innocent);

}  // namespace
