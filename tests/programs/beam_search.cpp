// Searches for the likeliest text by keeping the best few beginnings.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(beam_search, .elementary = true) {
  const Tensor logs = log(in("step"));
  const int64_t words = logs.size(0), k = in.whole("k");
  Tensor texts = zeros({1, 1}, int64), scores = zeros(1);
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const Tensor longer = scores(_, newaxis) + logs(texts(_, -1));
    const auto [best, at] = topk(longer.ravel(), k);
    scores = best;
    texts = concat({texts(floor_divide(at, words)), (at % words)(_, newaxis)}, 1);
    eval(texts, scores);
  }
  return {{"texts", texts}, {"scores", scores}};
}
