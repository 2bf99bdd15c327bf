// Finds how likely each state of a hidden Markov model was at each time, given all that was seen.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(forward_backward, .elementary = true) {
  const Tensor step = in("step"), start = in("start");
  const std::vector<Tensor> emit = unstack(in("emit")(_, in("seen")), 1);
  const size_t n = emit.size();
  std::vector<Tensor> forward = {start * emit[0]}, backward = {ones_like(start)};
  for (size_t t = 1; t < n; ++t) {
    forward.push_back(matmul(forward.back(), step) * emit[t]);
    backward.insert(backward.begin(), matmul(step, emit[n - t] * backward.front()));
  }
  const Tensor together = stack(forward) * stack(backward);
  return {{"posterior", together / sum(together, 1, keepdims)},
          {"likelihood", log(sum(forward.back()))},
          {"likely", argmax(together, 1)}};
}
