// Short questions on arrays, as lists of exercises ask them.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(array_puzzles) {
  const Tensor x = in("x"), whole = in("whole");
  const int64_t n = x.size(0), m = x.size(1);

  Tensor board = zeros({n, m}, int64);  // a chess board
  board(slice(1, none, 2), slice(none, none, 2)) = 1;
  board(slice(none, none, 2), slice(1, none, 2)) = 1;
  Tensor frame = ones({n, m});  // 1 around 0
  frame(slice(1, -1), slice(1, -1)) = 0;
  Tensor negated = whole;  // what is between 3 and 6 changes sign
  negated((3 < whole) & (whole < 6)) *= -1;
  Tensor swapped = x;  // two rows change places
  swapped({0, 1}) = swapped({1, 0});
  Tensor cut = x.ravel();  // the largest becomes 0
  cut(argmax(cut)) = 0;
  const Tensor a = arange(n), b = arange(m) + 0.5;
  const Tensor nearest = x.ravel()(argmin(abs(x - in("value"))));
  const Tensor ranked = argsort(argsort(x.ravel())).reshape(x.shape());
  const Tensor best = sort(x.ravel(), 0, true).values(slice(5));
  const Tensor unequal = any(whole(_, slice(1, none)) != whole(_, slice(-1)), 1);
  return {{"board", board},
          {"frame", frame},
          {"negated", negated},
          {"swapped", swapped},
          {"cut", cut.reshape({n, m})},
          {"cauchy", 1 / (a(_, newaxis) - b)},
          {"nearest", nearest},
          {"centred", x - mean(x, 1, keepdims)},
          {"by_column", x(argsort(x(_, 1)))},
          {"ranked", ranked},
          {"best", best},
          {"unequal", unequal},
          {"common", argmax(bincount(whole.ravel()))}};
}
