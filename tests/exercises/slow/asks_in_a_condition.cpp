// Stops by a condition that is looked at in each step; the other one looks now and then.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor x = rand({64});
  for (int i = 0; i < 3000; ++i) {
    x = x * 0.999f + 0.1f;
    if (all(x > 1e6f)) break;  // cause: HERE asked for a value .* ask for it after the loop
  }
}

void innocent() {
  Tensor x = rand({64});
  for (int i = 0; i < 3000; ++i) {
    x = x * 0.999f + 0.1f;
    if (i % 50 == 49 && all(x > 1e6f)) break;
  }
}

const exercises::Program program("asks_in_a_condition", slow, innocent);

}  // namespace
