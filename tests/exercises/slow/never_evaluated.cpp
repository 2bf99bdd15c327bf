// Carries a state on that nobody asks for until the end; the other one evaluates it now and then.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor state = rand({1000}).eval();
  for (int i = 0; i < 4000; ++i) {
    state = sin(state) * 0.9f + 0.1f;  // cause: pending was flushed at HERE .* by LAZY_MAX_GRAPH
  }
  (void)sum(state).item<float>();
}

void innocent() {
  Tensor state = rand({1000}).eval();
  for (int i = 0; i < 4000; ++i) {
    state = sin(state) * 0.9f + 0.1f;
    if (i % 20 == 19) state.eval();
  }
  (void)sum(state).item<float>();
}

const exercises::Program program("never_evaluated", slow, innocent);

}  // namespace
