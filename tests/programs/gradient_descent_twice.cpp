// Finds the lowest place of Rosenbrock's valley by Newton's method: the Hessian is the gradient of gradients.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(gradient_descent_twice, .tolerance = 1e-3, .any_size = false) {  // a gradient for each coordinate
  const auto valley = [](const Tensor& x) {
    return sum(100 * square(x(slice(1, none)) - square(x(slice(-1)))) + square(1 - x(slice(-1))));
  };
  Tensor x = in("x");
  std::vector<Tensor> heights;
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    std::vector<Tensor> rows;
    for (int64_t i = 0; i < x.size(); ++i)
      rows.push_back(grad([&](const Tensor& at) { return Tensor(grad(valley)(at)(i)); })(x));
    x -= solve(stack(rows), grad(valley)(x));
    heights.push_back(valley(x));
    eval(x, heights.back());
  }
  return {{"x", x}, {"heights", stack(heights)}};
}
