// Asks for a number in each step of what is carried on; the other one asks at the end.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor x = rand({64});
  float last = 0;
  for (int i = 0; i < 3000; ++i) {
    x = x * 0.5f + 1.0f;
    last += sum(x).item<float>();  // cause: item.*HERE asked for a value 256 times
  }
}

void innocent() {
  Tensor x = rand({64}), total = zeros({1});
  for (int i = 0; i < 3000; ++i) {
    x = x * 0.5f + 1.0f;
    total = total + sum(x);
    if (i % 50 == 49) eval(x, total);
  }
  (void)total.item<float>();
}

const exercises::Program program("asks_each_step", slow, innocent);

}  // namespace
