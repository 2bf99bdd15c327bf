// Tests exactly rounded floating-point ops: arithmetic, rounding, comparisons, NumPy's floor_divide and
// remainder.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <tuple>

#include "tests/backends/reference/apply.hpp"

using namespace lazy;
using namespace lazy::test;

using Floats = std::tuple<float, double>;
template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kTiny = std::numeric_limits<T>::denorm_min();
template <class T>
constexpr T kHuge = std::numeric_limits<T>::max();

BOOST_AUTO_TEST_SUITE(reference_floats)

BOOST_AUTO_TEST_CASE_TEMPLATE(arithmetic, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>, eps = std::numeric_limits<T>::epsilon();
  LAZY_CHECK_LIST(apply<T>(Op::add, {1, T(1), -T(0), T(0), kHuge<T>, inf, nan},
                           {2, eps / 2, -T(0), -T(0), kHuge<T>, -inf, 1}),
                  {3, 1, -T(0), 0, inf, nan, nan});
  LAZY_CHECK_LIST(apply<T>(Op::subtract, {1, 0, -T(0), inf}, {2, 0, T(0), inf}), {-1, 0, -T(0), nan});
  LAZY_CHECK_LIST(apply<T>(Op::multiply, {3, -T(0), kTiny<T>, kHuge<T>, 0}, {-2, 5, T(0.5), 2, inf}),
                  {-6, -T(0), 0, inf, nan});
  LAZY_CHECK_LIST(apply<T>(Op::divide, {1, -1, 0, 1, inf, -1}, {0, 0, 0, 3, inf, inf}),
                  {inf, -inf, nan, T(1) / T(3), nan, -T(0)});
  LAZY_CHECK_LIST(apply<T>(Op::negative, {1, 0, -T(0), inf, nan}), {-1, -T(0), 0, -inf, nan});
  LAZY_CHECK_LIST(apply<T>(Op::abs, {-1, -T(0), -inf, nan, -kTiny<T>}), {1, 0, inf, nan, kTiny<T>});
  LAZY_CHECK_LIST(apply<T>(Op::sign, {-3, T(0.5), -T(0), 0, inf, nan, -kTiny<T>}), {-1, 1, 0, 0, 1, nan, -1});
  LAZY_CHECK_LIST(apply<T>(Op::sqrt, {4, 2, -T(0), -1, inf, nan}),
                  {2, std::sqrt(T(2)), -T(0), nan, inf, nan});
  LAZY_CHECK_LIST(apply<T>(Op::copysign, {3, -3, 0, inf}, {-T(0), 1, -1, -2}), {-3, 3, -T(0), -inf});
  const auto signed_nan = apply<T>(Op::copysign, {nan}, {-1});
  BOOST_CHECK(std::isnan(signed_nan[0]) && std::signbit(signed_nan[0]));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fma_rounds_once, T, Floats) {
  const T e = std::numeric_limits<T>::epsilon(), inf = kInf<T>, nan = kNaN<T>, huge = kHuge<T>;
  const auto fma = [](std::vector<T> a, std::vector<T> b, std::vector<T> c) {
    const DType t = dtype_of<T>();
    return apply_as<T>(Op::fma, {t, t, t}, t, a, b, c);
  };
  // (1 + e)(1 - e) - 1 is -e^2: nothing of it remains once the product has been rounded.
  LAZY_CHECK_LIST(
      fma({1 + e, 2, huge, inf, -T(0), nan, 3}, {1 - e, 3, 2, 0, 5, 1, -4}, {-1, 4, -huge, 1, -T(0), 1, 12}),
      {-e * e, 10, huge, nan, -T(0), nan, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(maximum_and_minimum, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>;
  const std::vector<T> a{1, -T(0), T(0), nan, 1, nan, -inf, -T(0)},
      b{2, T(0), -T(0), 1, nan, nan, inf, -T(0)};
  LAZY_CHECK_LIST(apply(Op::maximum, a, b), {2, 0, 0, nan, nan, nan, inf, -T(0)});
  LAZY_CHECK_LIST(apply(Op::minimum, a, b), {1, -T(0), -T(0), nan, nan, nan, -inf, -T(0)});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rounding, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>, big = T(1) / std::numeric_limits<T>::epsilon() + 1;
  const std::vector<T> x{T(0.5), T(1.5), T(2.5), T(-0.5), T(-1.5), T(-0.2),  T(2.7),
                         -T(0),  inf,    -inf,   nan,     big,     kTiny<T>, -kTiny<T>};
  LAZY_CHECK_LIST(apply(Op::round, x), {0, 2, 2, -T(0), -2, -T(0), 3, -T(0), inf, -inf, nan, big, 0, -T(0)});
  LAZY_CHECK_LIST(apply(Op::floor, x), {0, 1, 2, -1, -2, -1, 2, -T(0), inf, -inf, nan, big, 0, -1});
  LAZY_CHECK_LIST(apply(Op::ceil, x), {1, 2, 3, -T(0), -1, -T(0), 3, -T(0), inf, -inf, nan, big, 1, -T(0)});
  LAZY_CHECK_LIST(apply(Op::trunc, x), {0, 1, 2, -T(0), -1, -T(0), 2, -T(0), inf, -inf, nan, big, 0, -T(0)});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(questions, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>;
  const std::vector<T> x{0, -T(0), 1, -inf, inf, nan, -nan, kTiny<T>, -kHuge<T>};
  LAZY_CHECK_LIST(ask(Op::isnan, x), {0, 0, 0, 0, 0, 1, 1, 0, 0});
  LAZY_CHECK_LIST(ask(Op::isinf, x), {0, 0, 0, 1, 1, 0, 0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::isfinite, x), {1, 1, 1, 0, 0, 0, 0, 1, 1});
  LAZY_CHECK_LIST(ask(Op::signbit, x), {0, 1, 0, 1, 0, 0, 1, 0, 1});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(comparisons, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>;
  const std::vector<T> a{1, 2, -T(0), nan, nan, -inf, kTiny<T>}, b{2, 1, T(0), nan, 1, inf, 0};
  LAZY_CHECK_LIST(ask(Op::equal, a, b), {0, 0, 1, 0, 0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::not_equal, a, b), {1, 1, 0, 1, 1, 1, 1});
  LAZY_CHECK_LIST(ask(Op::less, a, b), {1, 0, 0, 0, 0, 1, 0});
  LAZY_CHECK_LIST(ask(Op::less_equal, a, b), {1, 0, 1, 0, 0, 1, 0});
  LAZY_CHECK_LIST(ask(Op::greater, a, b), {0, 1, 0, 0, 0, 0, 1});
  LAZY_CHECK_LIST(ask(Op::greater_equal, a, b), {0, 1, 1, 0, 0, 0, 1});
}

// Each pair was worked out from NumPy's definition: the remainder takes the divisor's sign, -0 included.
BOOST_AUTO_TEST_CASE_TEMPLATE(floored_division, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>, tiny = kTiny<T>;
  const std::vector<T> a{7,  7, -7, -7, 6,   -6,  6, -T(0),  0,       1,
                         -1, 0, 1,  -1, inf, nan, 1, T(5.5), T(-5.5), -tiny};
  const std::vector<T> b{2, -2, 2, -2, 3, 3, -3, 3, -3, 0, 0, 0, inf, inf, 2, 2, nan, T(1.5), T(1.5), 1};
  LAZY_CHECK_LIST(apply(Op::floor_divide, a, b),
                  {3, -4, -4, 3, 2, -2, -2, -T(0), -T(0), inf, -inf, nan, 0, -1, nan, nan, nan, 3, -4, -1});
  LAZY_CHECK_LIST(apply(Op::remainder, a, b),
                  {1, -1, 1, -1, 0, 0, -T(0), 0, -T(0), nan, nan, nan, 1, inf, nan, nan, nan, 1, T(0.5), 1});
}

BOOST_AUTO_TEST_CASE(floored_division_of_unrepresentable_tenths) {
  // 1 / 0.1 rounds to 10, but 0.1 is a little more than a tenth: nine times, and a remainder just below it.
  LAZY_CHECK_LIST(apply<double>(Op::floor_divide, {1.0}, {0.1}), {9.0});
  LAZY_CHECK_LIST(apply<double>(Op::remainder, {1.0}, {0.1}), {0.09999999999999995});
  LAZY_CHECK_LIST(apply<double>(Op::remainder, {1e300}, {3.0}), {std::fmod(1e300, 3.0)});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(denormals_are_kept, T, Floats) {
  LAZY_CHECK_LIST(apply<T>(Op::add, {kTiny<T>}, {kTiny<T>}), {2 * kTiny<T>});
  LAZY_CHECK_LIST(apply<T>(Op::multiply, {kTiny<T>}, {3}), {3 * kTiny<T>});
  BOOST_CHECK(2 * kTiny<T> > kTiny<T>);
}

BOOST_AUTO_TEST_SUITE_END()
