// Compares gradients with central differences.
#pragma once
#include <cmath>
#include <random>
#include <vector>

#include "tests/common/check.hpp"

namespace check {

using namespace lazy;

/// Returns random values of float64 in a range.
inline Tensor random_values(std::mt19937& g, const Shape& shape, double low, double high) {
  std::uniform_real_distribution<double> d(low, high);
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (double& x : v) x = d(g);
  return reshape(asarray(v), shape);
}

/// Compares the gradients of sum(f(x) * c), for random c, with (f(x + h) - f(x - h)) / 2h for each element.
inline void gradients(const char* what, const TensorFunction& f, const std::vector<Tensor>& x,
                      double tolerance = 1e-6) {
  std::mt19937 random(7);
  const Pullback back = vjp(f, x);
  const Tensor c = random_values(random, back.value.shape(), -1, 1).eval();
  const std::vector<Tensor> g = back(c);
  for (size_t i = 0; i < x.size(); ++i) {
    BOOST_REQUIRE(g[i].shape() == x[i].shape());
    const std::vector<double> at = x[i].to_vector<double>(), ours = g[i].to_vector<double>();
    for (size_t k = 0; k < at.size(); ++k) {
      const double h = 1e-5 * std::max(1.0, std::abs(at[k]));
      const auto moved = [&](double by) {
        std::vector<double> there = at;
        there[k] += by;
        std::vector<Tensor> all = x;
        all[i] = reshape(asarray(there), x[i].shape());
        return sum(f(all) * c).item<double>();
      };
      const double expected = (moved(h) - moved(-h)) / (2 * h);
      BOOST_TEST(
          std::abs(ours[k] - expected) <= tolerance * std::max(1.0, std::abs(expected)),
          what << ": gradient " << i << '[' << k << "] is " << ours[k] << ", differences give " << expected);
    }
  }
}

/// Does so for f, and for its gradient as a function: the second derivative.
inline void two_orders(const char* what, const TensorFunction& f, const std::vector<Tensor>& x,
                       double tolerance = 1e-6) {
  gradients(what, f, x, tolerance);
  for (size_t i = 0; i < x.size(); ++i)
    gradients(
        (std::string("the gradient of ") + what).c_str(),
        [&](const std::vector<Tensor>& y) {
          const Pullback back = vjp(f, y);
          // Not a constant: the derivative of the first gradient by it is looked at as well.
          return back(
              cos(arange(numel(back.value.shape())).astype(float64) + 0.5).reshape(back.value.shape()))[i];
        },
        x, tolerance * 100);
}

}  // namespace check
