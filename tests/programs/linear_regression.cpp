// Fits a plane to points by gradient descent, with the gradient written out.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(linear_regression) {
  const Tensor x = in("x"), y = matmul(x, in("slope")) + 0.75 + in("noise");
  const int64_t n = x.size(0);
  const double rate = in.real("rate");
  Tensor w = zeros(x.size(1)), b = tensor(0.0);
  std::vector<Tensor> losses;
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const Tensor error = matmul(x, w) + b - y;
    losses.push_back(mean(square(error)));
    w -= rate * matmul(x.T(), error) / n;
    b -= rate * mean(error);
    eval(w, b, losses.back());
  }
  const Tensor r2 = 1 - sum(square(y - matmul(x, w) - b)) / sum(square(y - mean(y)));
  return {{"w", w}, {"b", b}, {"losses", stack(losses)}, {"r2", r2}};
}
