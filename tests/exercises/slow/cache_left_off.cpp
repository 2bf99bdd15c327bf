// Compiles much, and keeps nothing of it for the next process; the other one compiles little.
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

/// Runs so many programs, each of another shape of graph.
void compile(int programs) {
  for (int i = 0; i < programs; ++i) {
    Tensor x = rand({100 + i});
    for (int k = 0; k < 9; ++k) x = i >> k & 1 ? sin(x) : x * x + 1.0f;
    (void)softmax(x, 0).eval();
    (void)cumsum(x).eval();
  }
}

void slow() {
  config::set("LAZY_CACHE", "off");  // cause: LAZY_CACHE is off, set at HERE: .* programs were compiled
  compile(300);
}

void innocent() {
  config::set("LAZY_CACHE", "off");
  compile(2);
}

const exercises::Program program("cache_left_off", slow, innocent);

}  // namespace
