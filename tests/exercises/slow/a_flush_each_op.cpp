// Evaluates each value by itself; the other one the last.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor x = rand({4096}).eval();
  for (int i = 0; i < 500; ++i) {
    Tensor y = x;
    for (int k = 0; k < 4; ++k) {
      y = y * 2.0f;
      y.eval();  // cause: HERE eval: .* flushes of 1 op
    }
    x = y;
  }
}

void innocent() {
  Tensor x = rand({4096}).eval();
  for (int i = 0; i < 500; ++i) {
    for (int k = 0; k < 4; ++k) x = x * 2.0f;
    x.eval();
  }
}

const exercises::Program program("a_flush_each_op", slow, innocent);

}  // namespace
