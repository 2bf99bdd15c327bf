// Scores the alignment of two sequences (Needleman and Wunsch), one diagonal from lower left to upper right
// after another: those elements do not depend on each other. Row i of `diagonals` has the scores with i + j
// equal, by i.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(sequence_alignment) {  // a step for each diagonal
  const Tensor a = in("a"), b = in("b");
  const int64_t n = a.size(), m = b.size();
  const Tensor match = where(a(_, newaxis) == b, 1, -1);
  const Tensor row = arange(n + 1);
  const Tensor column = arange(n + m + 1)(_, newaxis) - row;  // j, by i + j and i
  const Tensor skewed = match(clip(row - 1, 0, n - 1), clip(column - 1, 0, m - 1));
  Tensor before = where(row == 0, 0, -1000), last = where(row < 2, -2, -1000);
  std::vector<Tensor> diagonals = {before, last};
  for (int64_t s = 2; s <= n + m; ++s) {
    const auto shifted = [&](const Tensor& d) { return concat({full(1, -1000), d(slice(-1))}); };
    const Tensor best = maximum(shifted(before) + skewed(s), maximum(shifted(last), last) - 2);
    const Tensor j = s - row;
    Tensor now = where((row == 0) | (j == 0), -2 * s, best);
    now(j < 0) = -1000;
    diagonals.push_back(now);
    before = last;
    last = now;
  }
  const Tensor all = stack(diagonals);
  const Tensor i = row(_, newaxis);
  const Tensor score = all(i + arange(m + 1), i);
  return {{"score", score}, {"best", score(-1, -1)}};
}
