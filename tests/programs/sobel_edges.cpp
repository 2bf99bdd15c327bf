// Finds edges: how steeply and which way the brightness of an image changes.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(sobel_edges, .elementary = true) {
  const Tensor kernel = tensor({{1.0, 0.0, -1.0}, {2.0, 0.0, -2.0}, {1.0, 0.0, -1.0}});
  const Tensor windows = sliding_window_view(pad(in("image"), {{1, 1}}, "edge"), {3, 3});
  const Tensor dx = einsum("ijkl,kl->ij", windows, kernel);
  const Tensor dy = einsum("ijkl,kl->ij", windows, kernel.T());
  Tensor size = hypot(dx, dy);
  size /= max(size);
  const Tensor edges = size > in("limit");
  return {{"size", size}, {"angle", atan2(dy, dx)}, {"edges", edges}, {"rows", flatnonzero(any(edges, 1))}};
}
