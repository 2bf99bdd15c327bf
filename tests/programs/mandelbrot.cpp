// Counts for each point of the plane how many steps it stays near, with masks for those that have not left.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(mandelbrot) {
  const int64_t rows = in.whole("rows"), columns = in.whole("columns"), steps = in.whole("steps");
  const auto grid = meshgrid({linspace(-2.0, 0.6, columns), linspace(-1.2, 1.2, rows)});
  const Tensor cx = grid[0], cy = grid[1];
  Tensor x = zeros_like(cx), y = zeros_like(cy), count = zeros(cx.shape(), int64);
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor inside = x * x + y * y <= 4;
    const Tensor next = x * x - y * y + cx;
    y = where(inside, 2 * x * y + cy, y);
    x = where(inside, next, x);
    count(inside) += 1;
  }
  return {{"count", count}, {"inside", sum(count == steps)}};
}
