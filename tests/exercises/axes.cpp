// An exercise: this program compiles a new program in each iteration. Find out why from what LAZY_LOG=miss
// says.
#include <cstdio>
#include <lazy/lazy.hpp>
using namespace lazy;

Tensor normalised(const Tensor& x, int step) {
  const Tensor centred = x - mean(x, {step % 4}, keepdims);
  const Tensor turned = permute(centred, {step % 4, (step + 1) % 4, (step + 2) % 4, (step + 3) % 4});
  return turned / max(abs(turned), {step / 4}, keepdims);
}

int main() {
  Tensor x = reshape(arange(0, 3 * 4 * 5 * 6, 1, float32), {3, 4, 5, 6});
  float last = 0;
  for (int step = 0; step < 12; ++step) last = normalised(x, step).sum().item<float>();
  std::printf("%.3f, %lu programs for 12 steps\n", last,
              static_cast<unsigned long>(metrics().program_misses));
}
