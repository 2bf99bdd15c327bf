// Records another graph in each iteration; in the other one only numbers differ.
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  const Tensor x = rand({100}).eval();
  for (int i = 0; i < 18; ++i) {
    Tensor y = x;
    for (int bit = 1; bit < 32; bit *= 2) y = (i * 11) % 32 & bit ? y * 2.0f : y + 1.0f;
    y.eval();  // cause: each of the last 16 flushes at HERE compiled a new program
  }
}

void innocent() {
  const Tensor x = rand({100}).eval();
  for (int i = 0; i < 18; ++i) {
    Tensor y = x;
    for (int bit = 1; bit < 32; bit *= 2) y = y * static_cast<float>((i * 11) % 32 & bit) + 1.0f;
    y.eval();
  }
}

const exercises::Program program("another_graph_each_time", slow, innocent);

}  // namespace
