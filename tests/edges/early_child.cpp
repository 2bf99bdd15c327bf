// Needs values before main, in statics that are constructed before any of the library's could be, and again
// while they end.
#include <cstdio>
#include <thread>

#include "lazy/lazy.hpp"

using namespace lazy;

namespace {

struct Early {
  Tensor kept;
  double first = 0, in_thread = 0;
  explicit Early(int n) {
    kept = arange(0, n, 1, float32) + 1;
    first = sum(kept * 2).item<double>();
    std::thread([&] { in_thread = sum(arange(0, 300000, 1, float64) + kept(0)).item<double>(); }).join();
  }
  ~Early() {
    std::printf("late %g\n", sum(exp(kept * 0) + first).item<double>());
    std::fflush(stdout);
  }
};

[[gnu::init_priority(101)]] Early before_all(10);
Early with_the_others(20);

}  // namespace

int main() {
  std::printf("early %g %g %g %g\n", before_all.first, before_all.in_thread, with_the_others.first,
              with_the_others.in_thread);
  std::printf("main %g\n", sum(before_all.kept).item<double>());
  std::fflush(stdout);
}
