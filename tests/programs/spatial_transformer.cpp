// Turns and stretches images: where each pixel comes from is a product of matrices, what it is an
// interpolation there.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(spatial_transformer, .elementary = true) {
  const Tensor x = in("x"), angle = in("angle"), stretch = in("stretch");
  const int64_t n = x.size(0), rows = x.size(2), columns = x.size(3);
  const Tensor c = cos(angle) * stretch, s = sin(angle) * stretch, zero = zeros_like(angle);
  const Tensor theta = stack({stack({c, -s, zero + 0.1}, -1), stack({s, c, zero}, -1)}, 1);
  const auto centres = [](int64_t extent) { return (2 * arange(extent) + 1) / extent - 1; };
  const auto at = meshgrid({centres(columns), centres(rows)});
  const Tensor place = stack({at[0], at[1], ones_like(at[0])}, -1).reshape({-1, 3});
  const Tensor grid = matmul(place, theta.mT()).reshape({n, rows, columns, 2});
  return {{"grid", grid}, {"turned", grid_sample(x, grid)}};
}
