// Runs a loop that only adds up, with and without evaluating the sum.
//   memory carry: nothing is evaluated for 1000 steps; memory evaluate: each step is
#include <cstdio>
#include <cstring>
#include <lazy/lazy.hpp>
using namespace lazy;

int main(int, char** argv) {
  const bool evaluate = std::strcmp(argv[1], "evaluate") == 0;
  Tensor total = zeros({1000});
  for (int step = 0; step < 1000; ++step) {
    const std::vector<float> batch(1000, static_cast<float>(step));  // 4 kB of input
    total = total + from_span<float>(batch, {1000});
    if (evaluate) total.eval();
  }
  const Metrics m = metrics();
  std::printf("peak %lu kB, %.0f\n", static_cast<unsigned long>(m.bytes_peak / 1000), total(0).item<float>());
}
