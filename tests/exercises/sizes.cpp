// An exercise: this program compiles a new program in each iteration. Find out why from what LAZY_LOG=miss
// says.
#include <cstdio>
#include <lazy/lazy.hpp>
using namespace lazy;

void configure() { config::set("LAZY_DYNAMIC", "never"); }

int main() {
  configure();
  float last = 0;
  for (int n = 100; n < 107; ++n) {
    Tensor x = linspace(0, 1, n);
    last = sum(exp(x) * 0.5f).item<float>();
  }
  std::printf("%.3f, %lu programs for 7 sizes\n", last, static_cast<unsigned long>(metrics().program_misses));
}
