// Fits a logistic regression by Newton's method: the Hessian is weighted by p (1 - p).
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(logistic_newton, .tolerance = 1e-4, .elementary = true) {
  const Tensor x = in("x");
  const Tensor y = astype(in("chance") < sigmoid(matmul(x, in("truth"))), float32);
  Tensor w = zeros(x.size(1));
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const Tensor p = sigmoid(matmul(x, w));
    const Tensor hessian = matmul(x.T() * (p * (1 - p)), x) + 0.1 * eye(x.size(1));
    w += solve(hessian, matmul(x.T(), y - p) - 0.1 * w);
    w.eval();
  }
  const Tensor p = sigmoid(matmul(x, w));
  return {
      {"w", w}, {"right", mean((p > 0.5) == (y > 0.5))}, {"loss", -mean(y * log(p) + (1 - y) * log(1 - p))}};
}
