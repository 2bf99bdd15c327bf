// Hands a pending state back and forth between threads; in the other one each thread has its own.
#include <atomic>
#include <thread>

#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

void slow() {
  Tensor x = rand({256}).eval();
  std::atomic<int> turn{0};
  const auto steps = [&](int mine) {
    for (int i = 0; i < 2000; ++i) {
      while (turn.load() != mine) std::this_thread::yield();
      x = x * 0.5f + 1.0f;  // cause: HERE.*other.thread
      turn = 1 - mine;
    }
  };
  std::thread other(steps, 1);
  steps(0);
  other.join();
}

void innocent() {
  const auto steps = [](int seed) {
    Tensor x = full({256}, seed, float32);
    for (int i = 0; i < 2000; ++i) {
      x = x * 0.5f + 1.0f;
      if (i % 20 == 19) x.eval();
    }
  };
  std::thread other(steps, 1);
  steps(0);
  other.join();
}

const exercises::Program program("two_threads_take_turns", slow, innocent);

}  // namespace
