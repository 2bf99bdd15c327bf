// Tests norms, and functions of matrices; tests/golden has the values of NumPy and mpmath.
#include "lazy/linalg/linalg.hpp"
#include "tests/lazy/linalg/matrices.hpp"

using namespace linear;
using check::close;
using check::equal;
using check::inf;

namespace {
const NormOrder kOrders[] = {"fro", "nuc", 1, -1, 2, -2, inf, -inf};
}

BOOST_AUTO_TEST_SUITE(linear_norms)

BOOST_AUTO_TEST_CASE(of_a_diagonal) {
  const Tensor x = tensor({3., 0., 0., -4.}, float64).reshape({2, 2});
  const double expected[] = {5, 7, 4, 3, 4, 3, 4, 3};
  for (size_t i = 0; i < 8; ++i) {
    BOOST_TEST(std::abs(matrix_norm(x, kOrders[i]).item<double>() - expected[i]) < 1e-14);
    BOOST_TEST(to_string(matrix_norm(stack({x, x, x}), kOrders[i]).shape()) == "[3]");
    BOOST_TEST(to_string(matrix_norm(stack({x, x, x}), kOrders[i], {-2, -1}, keepdims).shape()) ==
               "[3, 1, 1]");
  }
  const double conditions[] = {25. / 12, 7 * 7. / 12, 4. / 3, 3. / 4, 4. / 3, 3. / 4, 4. / 3, 3. / 4};
  for (size_t i = 0; i < 8; ++i) close(cond(x, kOrders[i]), {conditions[i]}, 1e-14);
}

BOOST_AUTO_TEST_CASE(of_complex_matrices) {
  const Tensor x = normal({3, 4, 4}, complex128, 1), p = pinv(x);
  const Tensor s = svdvals(x);
  close(matrix_norm(x, "fro"), sqrt(sum(square(s), -1)).to_vector<double>(), 1e-13);
  close(matrix_norm(x, "nuc"), sum(s, -1).to_vector<double>(), 1e-13);
  close(matrix_norm(x, 2), max(s, -1).to_vector<double>(), 1e-13);
  close(matrix_norm(x, 1), max(sum(abs(x), -2), -1).to_vector<double>(), 1e-13);
  for (const NormOrder& o : kOrders) {
    BOOST_TEST((matrix_norm(x, o).dtype() == float64));
    BOOST_TEST((matrix_norm(astype(x, complex64), o).dtype() == float32));
    BOOST_TEST((cond(x, o).dtype() == float64));
    const double inverse = o.name().empty() && std::abs(o.order()) == 2
                               ? 1 / matrix_norm(x(0), -o.order()).item<double>()
                               : matrix_norm(inv(x(0)), o).item<double>();
    BOOST_TEST(std::abs(cond(x(0), o).item<double>() / (matrix_norm(x(0), o).item<double>() * inverse) - 1) <
               1e-11);
  }
  BOOST_TEST(cond(ones({2, 2}, complex64) * std::complex<float>(1, 1), 1).item<double>() == inf);
}

BOOST_AUTO_TEST_CASE(along_axes) {
  const Tensor x = normal({3, 4, 5}, float64, 1);
  for (const NormOrder& o : kOrders) {
    close(matrix_norm(x, o, {0, 2}), matrix_norm(moveaxis(x, 1, 0), o).to_vector<double>(), 1e-13);
    close(matrix_norm(x, o, {2, 0}), matrix_norm(x.permute({1, 2, 0}), o).to_vector<double>(), 1e-13);
    BOOST_TEST(to_string(matrix_norm(x, o, {2, 0}, keepdims).shape()) == "[1, 4, 1]");
  }
  equal(matrix_norm(ones({2, 2}, int32)), float32, {}, {2});
  equal(matrix_norm(ones({2, 2}, float16), 1), float16, {}, {2});
  equal(matrix_norm(zeros({0, 2})), float32, {}, {0});
  BOOST_TEST(std::isnan(matrix_norm(ones({2, 2}) * check::NaN, 1).item<double>()));
}

BOOST_AUTO_TEST_CASE(conditions_of_singular_matrices) {
  const Tensor x = stack({zeros({2, 2}), ones({2, 2}), eye(2)});
  for (const NormOrder& o : {NormOrder(1), NormOrder(inf), NormOrder("fro"), NormOrder("nuc")}) {
    const std::vector<double> c = cond(x, o).to_vector<double>();
    BOOST_TEST(c[0] == inf);
    BOOST_TEST(c[1] == inf);
    BOOST_TEST(c[2] >= 1);
  }
  BOOST_TEST(cond(zeros({2, 2})).item<double>() == inf);
  BOOST_TEST(std::isnan(cond(ones({2, 2}) * check::NaN, 1).item<double>()));
  close(cond(tensor({1., 0., 0., 0., 0.5, 0.}, float64).reshape({2, 3})), {2}, 1e-14);
}

BOOST_AUTO_TEST_CASE(powers) {
  const Tensor x = tensor({1, 1, 1, 0}).reshape({2, 2});
  equal(matrix_power(x, 0), int64, {2, 2}, {1, 0, 0, 1});
  equal(matrix_power(x, 1), int64, {2, 2}, {1, 1, 1, 0});
  equal(matrix_power(x, 10), int64, {2, 2}, {89, 55, 55, 34});
  equal(matrix_power(stack({x, x}), 7), int64, {2, 2, 2}, {21, 13, 13, 8, 21, 13, 13, 8});
  equal(matrix_power(x, -1), float32, {2, 2}, {0, 1, 1, -1});
  const Tensor back = matmul(matrix_power(astype(x, float64), -3), matrix_power(astype(x, float64), 3));
  close(back, {1, 0, 0, 1}, 1e-14);
  equal(matrix_power(zeros({0, 0}), 3), float32, {0, 0}, {});
  equal(matrix_power(ones({2, 2}, float16) * 0.5, 5), float16, {2, 2}, {0.5, 0.5, 0.5, 0.5});
  equal(matrix_power(eye(2), INT64_MIN), float32, {2, 2}, {1, 0, 0, 1});
  const Tensor bad = matrix_power(zeros({2, 2}), -2);
  BOOST_CHECK_THROW(bad.eval(), Error);
}

BOOST_AUTO_TEST_CASE(complex_functions) {
  const std::complex<double> i(0, 1);
  for (const DType t : {complex64, complex128}) {
    const Tensor x = normal({2, 6, 6}, t, 4) + eye(6, 6, 0, t) * 8.0;
    BOOST_TEST(units(matmul(matrix_power(x, -3), matrix_power(x, 3)),
                     broadcast_to(eye(6, 6, 0, t), x.shape()), 6, 1) < 100);
    const Tensor skew = x - adjoint(x);  // whose exponential is unitary
    orthonormal(matrix_exp(skew));
    gives(matmul(matrix_exp(x * i), matrix_exp(x * i)), matrix_exp(x * (2.0 * i)), 300);
    gives(multi_dot({x(0), x(1), x(0)}), matmul(x(0), matmul(x(1), x(0))));
  }
  const Tensor turn = complex(zeros({1, 1}, float64), full({1, 1}, pi, float64));
  BOOST_TEST(largest(matrix_exp(turn) + 1) < 1e-15);
  BOOST_TEST(std::isnan(largest(matrix_exp(turn * inf))));
  // That of real numbers and of the same numbers as complex ones.
  const Tensor r = normal({3, 5, 5}, float64, 2);
  BOOST_TEST(largest(matrix_exp(astype(r, complex128)) - matrix_exp(r)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(exponentials) {
  close(matrix_exp(zeros({3, 3}, float64)), {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-16);
  const Tensor d = tensor({-700., 0., 1., 5.}, float64), x = diag(d);
  close(diagonal(matrix_exp(x)), exp(d).to_vector<double>(), 1e-12);
  const double angle = 100;
  const Tensor turn = tensor({0., -angle, angle, 0.}, float64).reshape({2, 2});
  close(matrix_exp(turn), {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)}, 1e-13);
  close(expm(stack({turn, turn * 0})),
        {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle), 1, 0, 0, 1}, 1e-13);
  const Tensor nilpotent = tensor({0.f, 1e6f, 0.f, 0.f}).reshape({2, 2});
  close(matrix_exp(nilpotent), {1, 1e6, 0, 1}, 1e-6);
  equal(matrix_exp(zeros({2, 0, 0})), float32, {2, 0, 0}, {});
  equal(matrix_exp(zeros({0, 2, 2})), float32, {0, 2, 2}, {});
  BOOST_TEST(std::isnan(largest(matrix_exp(turn * inf))));
  BOOST_TEST(largest(matrix_exp(ones({1, 1}, float64) * 1e300)) == inf);
  BOOST_TEST(largest(matrix_exp(ones({1, 1}, float64) * -1e300)) == 0);
  const Tensor large = normal({131, 131}, float64, 3) / 20, e = matrix_exp(large), i = matrix_exp(-large);
  BOOST_TEST(units(matmul(e, i), eye(131, 131, 0, float64), 131, largest(e) * largest(i)) < 20);
}

BOOST_AUTO_TEST_CASE(products_of_several) {
  const Tensor a = normal({10, 100}, float64, 1), b = normal({100, 5}, float64, 2),
               c = normal({5, 50}, float64, 3);
  close(multi_dot({a, b, c}), matmul(matmul(a, b), c).to_vector<double>(), 1e-11);
  close(multi_dot({a, b}), matmul(a, b).to_vector<double>(), 1e-12);
  const Tensor v = normal({10}, float64, 4), w = normal({50}, float64, 5);
  BOOST_TEST(to_string(multi_dot({v, a, b, c}).shape()) == "[50]");
  BOOST_TEST(to_string(multi_dot({a, b, c, w}).shape()) == "[10]");
  BOOST_TEST(to_string(multi_dot({v, a, b, c, w}).shape()) == "[]");
  close(multi_dot({v, a, b, c, w}), matmul(v, matmul(matmul(matmul(a, b), c), w)).to_vector<double>(), 1e-10);
  equal(multi_dot({ones({2, 3}, int32), ones({3, 1}, int64)}), int64, {2, 1}, {3, 3});
  equal(multi_dot({ones({2, 0}), ones({0, 3})}), float32, {2, 3}, {0, 0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_SUITE_END()
