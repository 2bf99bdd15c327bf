// Finds the most likely way of a hidden Markov model through its states, given what was seen.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(viterbi, .elementary = true) {
  const Tensor step = log(in("step")), seen = in("seen");
  const Tensor emit = log(in("emit")(_, seen)).T();  // (time, states)
  Tensor best = log(in("start")) + emit(0);
  std::vector<Tensor> came;
  for (int64_t t = 1; t < seen.size(); ++t) {
    const Tensor score = best(_, newaxis) + step;
    came.push_back(argmax(score, 0));
    best = max(score, 0) + emit(t);
  }
  std::vector<Tensor> path = {argmax(best)};
  for (size_t t = came.size(); t-- > 0;) path.push_back(Tensor(came[t](path.back())));
  return {{"path", flip(stack(path))}, {"score", max(best)}};
}
