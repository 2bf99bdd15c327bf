// Tests integer ops: wrapping arithmetic, flooring division, powers, shifts.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <tuple>

#include "tests/backends/reference/apply.hpp"

using namespace lazy;
using namespace lazy::test;

using Signed = std::tuple<int8_t, int16_t, int32_t, int64_t>;
using Unsigned = std::tuple<uint8_t, uint16_t, uint32_t, uint64_t>;
template <class T>
constexpr T kMin = std::numeric_limits<T>::min();
template <class T>
constexpr T kMax = std::numeric_limits<T>::max();

BOOST_AUTO_TEST_SUITE(reference_integers)

BOOST_AUTO_TEST_CASE_TEMPLATE(signed_arithmetic_wraps, T, Signed) {
  const T lo = kMin<T>, hi = kMax<T>;
  LAZY_CHECK_LIST(apply<T>(Op::add, {3, hi, lo, lo}, {4, 1, T(-1), lo}), {7, lo, hi, 0});
  LAZY_CHECK_LIST(apply<T>(Op::subtract, {3, lo, 0}, {4, 1, lo}), {-1, hi, lo});
  LAZY_CHECK_LIST(apply<T>(Op::multiply, {3, hi, lo, lo}, {-4, 2, T(-1), lo}), {-12, -2, lo, 0});
  LAZY_CHECK_LIST(apply<T>(Op::negative, {3, -3, 0, lo, hi}), {-3, 3, 0, lo, T(-hi)});
  LAZY_CHECK_LIST(apply<T>(Op::abs, {3, -3, 0, lo, hi}), {3, 3, 0, lo, hi});
  LAZY_CHECK_LIST(apply<T>(Op::sign, {3, -3, 0, lo, hi}), {1, -1, 0, -1, 1});
  LAZY_CHECK_LIST(apply<T>(Op::maximum, {3, lo, -1}, {4, hi, -2}), {4, hi, -1});
  LAZY_CHECK_LIST(apply<T>(Op::minimum, {3, lo, -1}, {4, hi, -2}), {3, lo, -2});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(unsigned_arithmetic_wraps, T, Unsigned) {
  const T hi = kMax<T>;
  LAZY_CHECK_LIST(apply<T>(Op::add, {3, hi, hi}, {4, 1, hi}), {7, 0, T(hi - 1)});
  LAZY_CHECK_LIST(apply<T>(Op::subtract, {3, 0}, {4, 1}), {hi, hi});
  LAZY_CHECK_LIST(apply<T>(Op::multiply, {3, hi, hi}, {4, 2, hi}), {12, T(hi - 1), 1});
  LAZY_CHECK_LIST(apply<T>(Op::negative, {3, 0, hi}), {T(hi - 2), 0, 1});
  LAZY_CHECK_LIST(apply<T>(Op::abs, {3, 0, hi}), {3, 0, hi});
  LAZY_CHECK_LIST(apply<T>(Op::sign, {3, 0, hi}), {1, 0, 1});
  LAZY_CHECK_LIST(apply<T>(Op::maximum, {3, hi}, {4, 1}), {4, hi});
  LAZY_CHECK_LIST(apply<T>(Op::minimum, {3, hi}, {4, 1}), {3, 1});
  LAZY_CHECK_LIST(ask<T>(Op::less, {3, hi}, {4, 1}), {1, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(signed_division_floors, T, Signed) {
  const T lo = kMin<T>, hi = kMax<T>;
  const std::vector<T> a{7, 7, -7, -7, 6, -6, 7, 0, lo, lo, hi, 1, -1};
  const std::vector<T> b{2, -2, 2, -2, 3, 3, 0, 5, -1, 1, -1, hi, hi};
  LAZY_CHECK_LIST(apply(Op::floor_divide, a, b), {3, -4, -4, 3, 2, -2, 0, 0, lo, lo, T(-hi), 0, -1});
  LAZY_CHECK_LIST(apply(Op::remainder, a, b), {1, -1, 1, -1, 0, 0, 0, 0, 0, 0, 0, 1, T(hi - 1)});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(unsigned_division, T, Unsigned) {
  const T hi = kMax<T>;
  LAZY_CHECK_LIST(apply<T>(Op::floor_divide, {7, 7, hi, hi, 0}, {2, 0, hi, 2, 3}), {3, 0, 1, T(hi / 2), 0});
  LAZY_CHECK_LIST(apply<T>(Op::remainder, {7, 7, hi, hi, 0}, {2, 0, hi, 2, 3}), {1, 0, 0, 1, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(signed_powers, T, Signed) {
  const std::vector<T> x{2, -2, 3, 0, 5, 1, -1, -1, 0, 2, -3, 2, kMin<T>};
  const std::vector<T> y{6, 3, 4, 0, 0, -5, -5, -4, -1, -1, -1, 126, 2};
  LAZY_CHECK_LIST(apply(Op::power, x, y), {64, -8, 81, 1, 1, 1, -1, 1, 0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(unsigned_powers, T, Unsigned) {
  LAZY_CHECK_LIST(apply<T>(Op::power, {2, 3, 0, 5, kMax<T>, kMax<T>}, {6, 4, 0, 0, 2, 3}),
                  {64, 81, 1, 1, 1, kMax<T>});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(signed_shifts, T, Signed) {
  const T width = sizeof(T) * 8, last = T(width - 1);
  LAZY_CHECK_LIST(apply<T>(Op::left_shift, {1, 1, 1, 1, -1, 3, kMin<T>}, {0, last, width, -1, 1, 2, 1}),
                  {1, kMin<T>, 0, 0, -2, 12, 0});
  LAZY_CHECK_LIST(
      apply<T>(Op::right_shift, {9, -9, -9, -9, 9, 9, -1, kMin<T>}, {1, 1, width, -1, width, -1, 100, last}),
      {4, -5, -1, -1, 0, 0, -1, -1});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(unsigned_shifts, T, Unsigned) {
  const T width = sizeof(T) * 8, last = T(width - 1), hi = kMax<T>;
  LAZY_CHECK_LIST(apply<T>(Op::left_shift, {1, 1, 1, hi, hi}, {0, last, width, 1, hi}),
                  {1, T(T(1) << last), 0, T(hi - 1), 0});
  LAZY_CHECK_LIST(apply<T>(Op::right_shift, {9, hi, hi, hi}, {1, last, width, hi}), {4, 1, 0, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bits_of_signed, T, Signed) {
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_and, {12, -1}, {10, kMin<T>}), {8, kMin<T>});
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_or, {12, kMax<T>}, {10, kMin<T>}), {14, -1});
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_xor, {12, -1}, {10, kMin<T>}), {6, kMax<T>});
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_invert, {0, 5, -1}), {-1, -6, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bits_of_unsigned, T, Unsigned) {
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_and, {12, kMax<T>}, {10, 3}), {8, 3});
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_or, {12, 0}, {10, kMax<T>}), {14, kMax<T>});
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_xor, {12, kMax<T>}, {10, kMax<T>}), {6, 0});
  LAZY_CHECK_LIST(apply<T>(Op::bitwise_invert, {0, 5}), {kMax<T>, T(kMax<T> - 5)});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(integers_are_whole_and_finite, T, Signed) {
  const std::vector<T> x{0, 5, -5, kMin<T>, kMax<T>};
  for (Op op : {Op::ceil, Op::floor, Op::trunc, Op::round}) LAZY_CHECK_LIST(apply(op, x), (x));
  LAZY_CHECK_LIST(ask(Op::isnan, x), {0, 0, 0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::isinf, x), {0, 0, 0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::isfinite, x), {1, 1, 1, 1, 1});
  LAZY_CHECK_LIST(ask(Op::signbit, x), {0, 0, 1, 1, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(unsigned_are_whole_and_finite, T, Unsigned) {
  const std::vector<T> x{0, 5, kMax<T>};
  for (Op op : {Op::ceil, Op::floor, Op::trunc, Op::round}) LAZY_CHECK_LIST(apply(op, x), (x));
  LAZY_CHECK_LIST(ask(Op::isnan, x), {0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::isinf, x), {0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::isfinite, x), {1, 1, 1});
  LAZY_CHECK_LIST(ask(Op::signbit, x), {0, 0, 0});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(comparisons, T, Signed) {
  const std::vector<T> a{1, 2, 2, kMin<T>, -1}, b{2, 1, 2, kMax<T>, 0};
  LAZY_CHECK_LIST(ask(Op::equal, a, b), {0, 0, 1, 0, 0});
  LAZY_CHECK_LIST(ask(Op::not_equal, a, b), {1, 1, 0, 1, 1});
  LAZY_CHECK_LIST(ask(Op::less, a, b), {1, 0, 0, 1, 1});
  LAZY_CHECK_LIST(ask(Op::less_equal, a, b), {1, 0, 1, 1, 1});
  LAZY_CHECK_LIST(ask(Op::greater, a, b), {0, 1, 0, 0, 0});
  LAZY_CHECK_LIST(ask(Op::greater_equal, a, b), {0, 1, 1, 0, 0});
}

BOOST_AUTO_TEST_CASE(truth_values) {
  const std::vector<uint8_t> a{0, 0, 1, 1}, b{0, 1, 0, 1};
  const auto both = [&](Op op) {
    return apply_as<uint8_t>(op, {DType::bool_, DType::bool_}, DType::bool_, a, b);
  };
  LAZY_CHECK_LIST(both(Op::bitwise_and), {0, 0, 0, 1});
  LAZY_CHECK_LIST(both(Op::bitwise_or), {0, 1, 1, 1});
  LAZY_CHECK_LIST(both(Op::bitwise_xor), {0, 1, 1, 0});
  LAZY_CHECK_LIST(both(Op::equal), {1, 0, 0, 1});
  LAZY_CHECK_LIST(both(Op::less), {0, 1, 0, 0});
  LAZY_CHECK_LIST(both(Op::greater_equal), {1, 0, 1, 1});
  LAZY_CHECK_LIST((apply_as<uint8_t>(Op::bitwise_invert, {DType::bool_}, DType::bool_, a)), {1, 1, 0, 0});
}

BOOST_AUTO_TEST_CASE(where_chooses) {
  const std::vector<uint8_t> c{0, 1, 1, 0};
  const std::vector<int64_t> yes{1, 2, 3, 4}, no{-1, -2, -3, -4};
  LAZY_CHECK_LIST(
      (apply_as<int64_t>(Op::where, {DType::bool_, DType::int64, DType::int64}, DType::int64, c, yes, no)),
      {-1, 2, 3, -4});
  const std::vector<uint8_t> t{1, 1, 0, 0}, f{0, 0, 1, 1};
  LAZY_CHECK_LIST(
      (apply_as<uint8_t>(Op::where, {DType::bool_, DType::bool_, DType::bool_}, DType::bool_, c, t, f)),
      {0, 1, 0, 1});
}

BOOST_AUTO_TEST_SUITE_END()
