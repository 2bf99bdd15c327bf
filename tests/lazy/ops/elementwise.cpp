#include "lazy/ops/elementwise.hpp"

#include "tests/common/check.hpp"

using namespace lazy;
using check::close;
using check::equal;
using check::inf;
using check::NaN;

BOOST_AUTO_TEST_SUITE(elementwise)

BOOST_AUTO_TEST_CASE(operators) {
  const Tensor a = tensor({7, -7}), b = tensor({2, 2});
  equal(a + b, int64, {2}, {9, -5});
  equal(a - b, int64, {2}, {5, -9});
  equal(a * b, int64, {2}, {14, -14});
  equal(a / b, float32, {2}, {3.5, -3.5});
  equal(a % b, int64, {2}, {1, 1});
  equal(floor_divide(a, b), int64, {2}, {3, -4});
  equal(a & 3, int64, {2}, {3, 1});
  equal(a | 8, int64, {2}, {15, -7});
  equal(a ^ 1, int64, {2}, {6, -8});
  equal(a << 2, int64, {2}, {28, -28});
  equal(a >> 1, int64, {2}, {3, -4});
  equal(-a, int64, {2}, {-7, 7});
  equal(+a, int64, {2}, {7, -7});
  equal(~a, int64, {2}, {-8, 6});
  equal(!a, bool_, {2}, {0, 0});
  equal(1 - a, int64, {2}, {-6, 8});
  equal(a < b, bool_, {2}, {0, 1});
  equal(2 >= b, bool_, {2}, {1, 1});
  equal(a == 7, bool_, {2}, {1, 0});
  equal(a != 7, bool_, {2}, {0, 1});
  equal(a > -7, bool_, {2}, {1, 0});
  equal(a <= b, bool_, {2}, {0, 1});
  equal(arange(3).reshape({3, 1}) * arange(2), int64, {3, 2}, {0, 0, 0, 1, 0, 2});
  equal(zeros({0, 1}) + zeros({1, 3}), float32, {0, 3}, {});
}

BOOST_AUTO_TEST_CASE(composed) {
  const check::DefaultDType doubles(float64);
  equal(relu(tensor({-1.5f, 0.0f, 2.0f})), float32, {3}, {0, 0, 2});
  equal(relu(tensor({-3, 3})), int64, {2}, {0, 3});
  equal(square(tensor({-3, 4})), int64, {2}, {9, 16});
  equal(reciprocal(tensor({4.0f, -0.0f})), float32, {2}, {0.25, -inf});
  equal(clip(arange(5), 1, 3), int64, {5}, {1, 1, 2, 3, 3});
  equal(clip(arange(5), none, 3), int64, {5}, {0, 1, 2, 3, 3});
  equal(clip(arange(5), 2, none), int64, {5}, {2, 2, 2, 3, 4});
  equal(clip(arange(2), 0.5, 9), float64, {2}, {0.5, 1});
  equal(clamp(tensor({NaN, 5.0}), 0, 1), float64, {2}, {NaN, 1});
  equal(arange(3).clip(1, 1), int64, {3}, {1, 1, 1});
  equal(clip(tensor({5, 5}), tensor({0, 6}), tensor({3, 9})), int64, {2}, {3, 6});
  close(logaddexp(tensor({0.0, 1000.0, -1000.0}), tensor({0.0, 1000.0, 0.0})),
        {std::log(2.0), 1000 + std::log(2.0), 0.0}, 1e-15);
  equal(logaddexp(tensor({inf, -inf, -inf, inf, NaN}), tensor({inf, -inf, 3.0, -inf, -inf})), float64, {5},
        {inf, -inf, 3, inf, NaN});
  equal(logical_and(tensor({0.5, NaN, 0.0}), true), bool_, {3}, {1, 1, 0});
  equal(logical_or(tensor({0, 2}), tensor({false, false})), bool_, {2}, {0, 1});
  equal(logical_xor(tensor({0, 2}), tensor({1.0, 3.0})), bool_, {2}, {1, 0});
  equal(signbit(tensor({-1, 0, 1})), bool_, {3}, {1, 0, 0});
  equal(signbit(tensor({1u})), bool_, {1}, {0});
  equal(abs(tensor({-3, 3})), int64, {2}, {3, 3});
  equal(abs(tensor({true})), bool_, {1}, {1});
  equal(isnan(tensor({1})), bool_, {1}, {0});
  equal(isfinite(tensor({1})), bool_, {1}, {1});
  close(sigmoid(tensor({0.0, 2.0})), {0.5, 1 / (1 + std::exp(-2.0))}, 1e-15);
  close(gelu(tensor({1.0})), {0.5 * (1 + std::erf(1 / std::sqrt(2.0)))}, 1e-15);
  close(erf(tensor({0.5})), {std::erf(0.5)}, 1e-15);
  close(erfc(tensor({0.5})), {std::erfc(0.5)}, 1e-15);
  close(rsqrt(tensor({4.0, 0.25})), {0.5, 2}, 1e-15);
  equal(where(tensor({true, false}), tensor({1, 2}), 9), int64, {2}, {1, 9});
  equal(where(tensor({0, 1}), tensor({{1.0f}, {2.0f}}), 0), float32, {2, 2}, {0, 1, 0, 2});
  equal(pow(tensor({2.0, -2.0}), 2), float64, {2}, {4, 4});
  equal(pow(tensor({2, -1, 1, 0}), tensor({-1, -3, -5, -1})), int64, {4}, {0, -1, 1, 0});
}

BOOST_AUTO_TEST_CASE(constants_fold_to_the_same_value) {
  // Each expression is compared with the same one of values that nothing is known about.
  const auto opaque = [](const Tensor& x) { return from_span(x.to_vector<float>(), x.shape()); };
  const Tensor one = ones({3}), third = full({3}, 1.0 / 3);
  equal(zeros({3}) * 2 + 1, float32, {3}, {1, 1, 1});
  equal(third * 3 - one, float32, {3}, (opaque(third) * 3 - opaque(one)).to_vector<double>());
  equal(sqrt(third) / 7, float32, {3}, (sqrt(opaque(third)) / 7).to_vector<double>());
  equal(full({2}, 100, int8) + 100, int8, {2}, {-56, -56});
  equal(full({2}, INT64_MIN) - 1 == full({2}, INT64_MAX), bool_, {2}, {1, 1});
  equal(-full({1}, INT8_MIN, int8), int8, {1}, {-128});
  equal(full({2, 1}, 3) * full({1, 2}, 4), int64, {2, 2}, {12, 12, 12, 12});
  equal(full({1}, NaN) == full({1}, NaN), bool_, {1}, {0});
  equal(maximum(full({1}, NaN), full({1}, 1.0)), float32, {1}, {NaN});
  equal(full({1}, 1, float16) / 3, float16, {1}, {static_cast<double>(float16_t(1.0f / 3))});
  equal((zeros({2, 3}) + 1).T()(0), float32, {2}, {1, 1});
}

BOOST_AUTO_TEST_CASE(wrong_types) {
  const Tensor f = ones({2}), b = ones({2}, bool_), i = ones({2}, int64);
  THROWS(DtypeError, f & 1, "bitwise_and: takes integers and bool, not float32");
  THROWS(DtypeError, i | 0.5, "bitwise_or: takes integers and bool, not float32");
  THROWS(DtypeError, f << 1, "bitwise_left_shift: takes integers and bool, not float32");
  THROWS(DtypeError, ~f, "bitwise_invert: takes integers and bool, not float32");
  THROWS(DtypeError, b - b, "subtract: takes numbers, not two of bool: convert with astype");
  THROWS(DtypeError, b % b, "remainder: takes numbers, not two of bool: convert with astype");
  THROWS(DtypeError, floor_divide(b, true),
         "floor_divide: takes numbers, not two of bool: convert with astype");
  THROWS(DtypeError, pow(b, b), "pow: takes numbers, not two of bool: convert with astype");
  THROWS(DtypeError, b << b, "bitwise_left_shift: takes integers, not two of bool: convert with astype");
  THROWS(DtypeError, -b, "negative: takes numbers, not bool: convert with astype");
  THROWS(DtypeError, sign(b), "sign: takes numbers, not bool: convert with astype");
  equal(f + b, float32, {2}, {2, 2});  // still usable
}

BOOST_AUTO_TEST_CASE(wrong_shapes) {
  const Tensor a = zeros({3, 4}), b = zeros({5, 5});
  THROWS(ShapeError, a + b, "add: shapes [3, 4] and [5, 5] do not broadcast");
  THROWS(ShapeError, a == b, "equal: shapes [3, 4] and [5, 5] do not broadcast");
  THROWS(ShapeError, atan2(a, zeros({3})), "atan2: shapes [3, 4] and [3] do not broadcast");
  THROWS(ShapeError, where(a > 0, a, b), "where: shapes [3, 4] and [5, 5] do not broadcast");
  THROWS(ShapeError, clip(a, 0, b), "clip: shapes [3, 4] and [5, 5] do not broadcast");
  THROWS(ShapeError, zeros({0}) + zeros({2}), "add: shapes [0] and [2] do not broadcast");
  BOOST_TEST(((a + zeros({4})).shape() == Shape{3, 4}));
}

BOOST_AUTO_TEST_SUITE_END()
