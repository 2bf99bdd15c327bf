// More questions on arrays: blocks, bits, coordinates, sums by group.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(more_array_puzzles, .elementary = true) {
  const Tensor x = in("x"), y = in("y"), bins = in("bins"), weight = in("weight"), bits = in("bits");
  const int64_t n = x.size(0);

  const Tensor blocks = sum(x.reshape({n / 4, 4, n / 4, 4}), {1, 3});
  const Tensor apart = sqrt(sum(square(y(_, newaxis) - y), -1));
  const Tensor collected = index_add(zeros(6), 0, bins, weight);
  const Tensor means = bincount(bins, weight, 6) / maximum(bincount(bins, 6), 1);
  const Tensor unpacked = (bits(_, newaxis) & (1 << arange(8))) != 0;
  const auto grids = meshgrid({arange(3), arange(4)}, "ij");
  Tensor spread = zeros(4 * 5 - 3 + 1);  // with three zeros in between
  spread(slice(none, 4 * 5 - 3, 4)) = y(slice(5), 0);
  const Tensor flat = sort(x.ravel()).values;
  const Tensor both = intersect1d(bins(slice(10)), bins(slice(10, none)));
  return {{"blocks", blocks},
          {"upper", triu(x) + triu(x, 1).T()},
          {"apart", apart},
          {"collected", collected},
          {"means", means},
          {"unpacked", unpacked},
          {"grid", stack(grids, -1).reshape({-1, 2})},
          {"spread", spread},
          {"middle", flat(n * n / 2)},
          {"polar", stack({hypot(y(_, 0), y(_, 1)), atan2(y(_, 1), y(_, 0))}, 1)},
          {"one_hot", eye(6)(bins)},
          {"diagonal", diag(matmul(x, x))},
          {"product", einsum("ij,ji->i", x, x)},
          {"runs", flatnonzero(diff(bins) != 0)},
          {"intersection", both}};
}
