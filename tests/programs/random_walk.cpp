// Follows random walks: where they are, and when they first are far from where they began.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(random_walk) {
  const Tensor path = cumsum(in("steps"), 1);
  const Tensor hit = abs(path) >= in.whole("height");
  const Tensor crossed = any(hit, 1);
  const Tensor first = where(crossed, argmax(hit, 1), -1);
  return {{"path", path},
          {"crossed", sum(crossed)},
          {"first", first},
          {"mean_first", mean(first(crossed))},
          {"spread", path(_, -1).std()},
          {"extremes", stack({min(path, 1), max(path, 1)})}};
}
