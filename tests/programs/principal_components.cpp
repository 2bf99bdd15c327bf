// Finds the directions in which points vary most: eigenvectors of the covariance matrix.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(principal_components, .tolerance = 1e-4, .elementary = true) {
  const Tensor points = in("points"), centred = points - mean(points, 0);
  const auto [eigenvalues, eigenvectors] = eigh(cov(centred.T()));
  const Tensor variance = flip(eigenvalues)(slice(in.whole("kept")));
  Tensor direction = fliplr(eigenvectors).T()(slice(in.whole("kept")));
  const Tensor largest = take_along_axis(direction, argmax(abs(direction), 1, keepdims), 1);
  direction *= sign(largest);
  return {{"variance", variance},
          {"direction", direction},
          {"share", variance / sum(eigenvalues)},
          {"projected", matmul(centred, direction.T())}};
}
