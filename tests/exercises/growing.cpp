// An exercise: this program compiles a new program in each iteration. Find out why from what LAZY_LOG=miss
// says.
#include <cstdio>
#include <lazy/lazy.hpp>
#include <vector>
using namespace lazy;

int main() {
  Tensor x = arange(0, 64, 1, float32);
  std::vector<Tensor> losses;
  for (int step = 0; step < 12; ++step) {
    losses.push_back(mean(square(x - 0.1f * static_cast<float>(step))));
    const Tensor so_far = mean(stack(losses));
    if (step == 11) std::printf("mean loss %.3f\n", so_far.item<float>());
    else so_far.eval();
  }
  std::printf("%lu programs for 12 steps\n", static_cast<unsigned long>(metrics().program_misses));
}
