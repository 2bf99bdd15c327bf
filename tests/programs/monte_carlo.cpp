// Estimates pi, the price of an option and how far a random walk goes, each with its standard error.
#include <cmath>

#include "tests/programs/program.hpp"

using namespace lazy;

namespace {

Tensor standard_error(const Tensor& x) { return x.std() / std::sqrt(static_cast<double>(x.size())); }

}  // namespace

PROGRAM(monte_carlo, .elementary = true) {
  const int64_t n = in.whole("n");
  const double strike = in.real("strike"), rate = in.real("rate"), volatility = in.real("volatility");
  Generator generator(1);
  const Tensor inside = sum(square(rand(generator, {n, 2})), 1) <= 1;
  const Tensor price = 100 * exp(rate - volatility * volatility / 2 + volatility * randn(generator, n));
  const Tensor pay = std::exp(-rate) * maximum(price - strike, 0);
  const Tensor path = cumsum(2 * randint(generator, 0, 2, {n / 50, 50}) - 1, 1);
  const Tensor height = max(abs(path), 1);
  return {{"pi", 4 * mean(inside)}, {"pi_error", 4 * standard_error(inside)},
          {"call", mean(pay)},      {"call_error", standard_error(pay)},
          {"height", mean(height)}, {"height_error", standard_error(height)}};
}
