// Tests matrices of derivatives on functions whose derivatives are known.
#include "tests/common/check.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(jacobians)

BOOST_AUTO_TEST_CASE(rows_and_columns) {
  const Tensor x = tensor({1.0, 2.0, 3.0}, float64), w = arange(6, float64).reshape({2, 3});
  const auto f = [&](const Tensor& v) { return matmul(w, v * v); };  // w[i, j] 2 x[j]
  check::close(jacrev(f, x), {0, 4, 12, 6, 16, 30}, 1e-12);
  check::close(jacfwd(f, x), {0, 4, 12, 6, 16, 30}, 1e-12);
  check::close(jacobian(f, x), {0, 4, 12, 6, 16, 30}, 1e-12);
  BOOST_TEST((jacrev(f, x).shape() == Shape{2, 3}));
  const auto outer_product = [](const Tensor& v) { return outer(v, v); };
  BOOST_TEST((jacfwd(outer_product, x).shape() == Shape{3, 3, 3}));
  check::same(jacfwd(outer_product, x), jacrev(outer_product, x));
  check::close(jacrev([](const Tensor& v) { return v.sum(); }, x), {1, 1, 1}, 1e-12);
  BOOST_TEST((jacrev([](const Tensor& v) { return v; }, ones({0}, float64)).shape() == Shape{0, 0}));
}

BOOST_AUTO_TEST_CASE(second_derivatives) {
  const Tensor x = tensor({1.0, 2.0}, float64);
  const auto f = [](const Tensor& v) { return v[0] * v[0] * v[1] + exp(v[1]); };
  const double e2 = std::exp(2.0);
  check::close(hessian(f, x), {4, 2, 2, e2}, 1e-12);
  BOOST_CHECK_THROW(hessian([](const Tensor& v) { return v; }, x), ShapeError);
  BOOST_CHECK_THROW(jacrev(f, ones({2}, int64)), DtypeError);
}

BOOST_AUTO_TEST_SUITE_END()
