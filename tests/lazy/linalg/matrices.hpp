// Shared by the tests of linear algebra: matrices, and how far results are from what they promise.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support/config.hpp"
#include "tests/common/check.hpp"

namespace linear {

using namespace lazy;

/// The dtypes that linear algebra computes in.
inline const std::vector<DType> kNumbers{float32, float64, complex64, complex128};

/// Returns normally distributed values in memory; both parts of complex ones are.
inline Tensor normal(const Shape& shape, DType t, uint64_t seed) {
  if (isdtype(t, "complex floating")) {
    const DType part = t == complex64 ? float32 : float64;
    return complex(normal(shape, part, seed), normal(shape, part, seed + 1000)).eval();
  }
  BOOST_TEST_MESSAGE("normal values, seed " << seed);
  std::mt19937_64 r(seed);
  std::normal_distribution<double> d;
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (double& x : v) x = d(r);
  const Tensor x = astype(from_span<double>(v, shape), t).copy();
  x.eval();
  return x;
}

inline Shape with(const Shape& batch, std::initializer_list<int64_t> last) {
  Shape s = batch;
  for (const int64_t e : last) s.push_back(e);
  return s;
}

inline double largest(const Tensor& x) {
  double most = 0;
  for (const double v : abs(x).to_vector<double>()) most = std::isnan(v) ? v : std::max(most, std::abs(v));
  return most;
}

/// Returns the largest difference of got and wanted in units of rounding of so many terms of that size.
inline double units(const Tensor& got, const Tensor& wanted, int64_t terms, double size) {
  const double eps = finfo(got.dtype()).eps;
  return largest(got - wanted) /
         (eps * static_cast<double>(std::max<int64_t>(terms, 1)) * std::max(size, 1e-30));
}

/// Checks that x holds orthonormal columns.
inline void orthonormal(const Tensor& x, Site s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    const int64_t k = x.shape().back();
    const Tensor product = matmul(adjoint(x), x);
    BOOST_TEST(units(product, broadcast_to(eye(k, k, 0, x.dtype()), product.shape()),
                     std::max<int64_t>(x.size(-2), 1), 1) < 20);
  }
}

/// Checks that a product of matrices gives what was decomposed.
inline void gives(const Tensor& product, const Tensor& x, double bound = 20, Site s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line() << ", shape " << to_string(x.shape())) {
    BOOST_TEST(to_string(product.shape()) == to_string(x.shape()));
    BOOST_TEST((product.dtype() == x.dtype()));
    BOOST_TEST(units(product, x, std::max(x.size(-1), x.size(-2)), largest(x)) < bound);
  }
}

inline const std::vector<Shape> kBatches{Shape{}, Shape{1}, Shape{3}, Shape{2, 2}, Shape{0}};

}  // namespace linear
