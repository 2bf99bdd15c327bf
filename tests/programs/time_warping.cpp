// Finds the cheapest way to stretch one series onto another, row by row: within a row, going right is a
// running minimum of costs less their running sum.
#include <limits>

#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(time_warping) {  // a step for each element of x
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Tensor x = in("x"), y = in("y");
  std::vector<Tensor> rows;
  Tensor above = concat({tensor({0.0}), full(y.size(), inf)});
  for (const Tensor& here : unstack(x)) {
    const Tensor cost = abs(here - y);
    const Tensor entered = minimum(above(slice(1, none)), above(slice(-1)));
    const Tensor total = cumsum(cost);
    const Tensor row = total + cummin(entered - (total - cost)).values;
    rows.push_back(row);
    above = concat({full(1, inf), row});
  }
  return {{"distance", rows.back()(-1)}, {"cost", stack(rows)}};
}
