// Has one thread for large values, as for a measurement; the other one for small ones, or for a while.
#include "lazy/lazy.hpp"
#include "support/config.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void repeat(int size) {
  Tensor x = rand({size, size}).eval();
  for (int i = 0; i < 40; ++i) x = tanh(sin(x) * 0.9f + 0.1f).eval();
}

void slow() {
  config::set("LAZY_NUM_THREADS", "1");  // cause: LAZY_NUM_THREADS is 1, set at HERE
  repeat(1024);
}

void innocent() {
  {
    const config::Override one("LAZY_NUM_THREADS", "1");
    repeat(64);
  }
  repeat(1024);
}

const exercises::Program program("one_thread_left", slow, innocent);

}  // namespace
