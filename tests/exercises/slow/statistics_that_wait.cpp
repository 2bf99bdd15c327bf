// Leaves statistics out of its loop's eval() and prints them at irregular steps; the other one does not.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor signal = rand({64}), level = zeros({64}).eval();
  for (int i = 0, next = 30, gap = 30; i < 600; ++i) {
    signal = sin(signal) + 0.25f;
    signal.eval();                         // cause: eval.. at HERE asks for
    level = level * 0.9f + signal * 0.1f;  // cause: recorded at HERE waited for the flush
    if (i == next) (void)sum(level).item<float>(), gap += 7, next += gap;
  }
}

void innocent() {
  Tensor signal = rand({64}), level = zeros({64}).eval();
  for (int i = 0, next = 30, gap = 30; i < 600; ++i) {
    signal = sin(signal) + 0.25f;
    level = level * 0.9f + signal * 0.1f;
    eval(signal, level);
    if (i == next) (void)sum(level).item<float>(), gap += 7, next += gap;
  }
}

const exercises::Program program("statistics_that_wait", slow, innocent);

}  // namespace
