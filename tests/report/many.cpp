// Flushes often, with a few programs and sizes, for a trace as large as one likes.
#include <cstdlib>
#include <lazy/lazy.hpp>
#include <vector>

using namespace lazy;

int main(int, char** argv) {
  const long flushes = std::atol(argv[1]);
  if (flushes == 0) {
    profile::start("trace.json");  // replaces the recording at the first use, which is never made
    return 0;
  }
  const std::vector<float> numbers(4096, 0.5f);
  Tensor x = from_span<float>(numbers, {64, 64});
  Tensor state = x + 0;
  for (int n = 1; n < 6; ++n) {  // one line, kernels of 2, 4, ... ops
    Tensor v = x;
    for (int k = 0; k < n; ++k) v = v * (0.5f + x);
    sum(v).item<float>();
  }
  const Tensor image = reshape(x, {1, 4, 32, 32}), weights = reshape(x, {64, 4, 4, 4});
  conv2d(image, weights).eval();
  for (long i = 0; i < flushes; ++i) {
    state = i % 3 == 0   ? state * 0.5f + x
            : i % 3 == 1 ? matmul(state, x) * 0.01f
                         : state - mean(state, {1}, keepdims);
    if (i % 7 == 0) sum(state(slice(0, 1 + i % 64), _)).item<float>();
    else state.eval();
  }
}
