// Tests floats of 8 bits: every code, and numbers beside the nearest code that a search finds.
#include "lazy/ops/float8.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "lazy/lazy.hpp"
#include "tests/common/asked.hpp"

using namespace lazy;

namespace {

/// Returns the number of a code, by the formats' definition.
double number_of(int code, Float8 format) {
  const int mantissa = format == Float8::e4m3 ? 3 : 2, bias = format == Float8::e4m3 ? 7 : 15;
  const int exponent = (code & 0x7f) >> mantissa, fraction = code & ((1 << mantissa) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (format == Float8::e4m3 ? (code & 0x7f) == 0x7f : exponent == 31 && fraction) return NAN;
  if (format == Float8::e5m2 && exponent == 31) return sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
}
/// Returns the code of the nearest number, of two the even one.
int code_of(double x, Float8 format) {
  int best = 0;
  for (int c = 0; c < 0x80; ++c) {
    const double v = number_of(c, format);
    if (!std::isfinite(v)) continue;
    const double off = std::abs(std::abs(x) - v), least = std::abs(std::abs(x) - number_of(best, format));
    if (off < least || (off == least && c % 2 == 0)) best = c;
  }
  return std::signbit(x) ? best | 0x80 : best;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(floats_of_8_bits)

BOOST_AUTO_TEST_CASE(every_code) {
  for (const Float8 format : {Float8::e4m3, Float8::e5m2}) {
    std::vector<uint8_t> codes(256);
    for (int i = 0; i < 256; ++i) codes[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
    const Tensor all = from_float8(Tensor(codes), format);
    const auto numbers = all.to_vector<float>();
    const auto back = to_float8(all, format).to_vector<uint8_t>();
    const auto wide = from_float8(Tensor(codes), format, float64).to_vector<double>();
    for (int i = 0; i < 256; ++i) BOOST_TEST_CONTEXT("code " << i) {
        const auto at = static_cast<size_t>(i);
        const double expected = number_of(i, format);
        if (std::isnan(expected)) {
          BOOST_TEST(std::isnan(numbers[at]));
          continue;
        }
        BOOST_TEST(numbers[at] == expected);
        BOOST_TEST(wide[at] == expected);
        BOOST_TEST(std::signbit(numbers[at]) == (i >= 128));
        if (std::isfinite(expected)) BOOST_TEST(int{back[at]} == i);
      }
  }
}

BOOST_AUTO_TEST_CASE(rounds_to_the_nearest) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const Float8 format : {Float8::e4m3, Float8::e5m2}) {
    std::vector<float> x{0.0f, -0.0f, 1e-30f, -1e-30f, 0x1p-149f, 1e9f, -1e9f, INFINITY, -INFINITY};
    for (int c = 0; c + 1 < 0x7b; ++c) {  // what lies between two numbers, and beside that
      const auto middle = static_cast<float>((number_of(c, format) + number_of(c + 1, format)) / 2);
      for (const float v : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)})
        x.push_back(v), x.push_back(-v);
    }
    for (int i = 0; i < 2000; ++i)
      x.push_back(std::ldexp(std::uniform_real_distribution<float>(-2, 2)(random),
                             std::uniform_int_distribution<int>(-20, 17)(random)));
    const auto codes = to_float8(Tensor(x), format).to_vector<uint8_t>();
    for (size_t i = 0; i < x.size(); ++i) {
      const double cut = std::copysign(std::min<double>(std::abs(x[i]), largest_of(format)), x[i]);
      BOOST_TEST(int{codes[i]} == code_of(cut, format), "of " << x[i] << ": " << int{codes[i]});
    }
  }
  const auto none = to_float8(Tensor(std::vector<float>{NAN})).to_vector<uint8_t>();
  BOOST_TEST(int{none[0] & 0x7f} == 0x7f);
  BOOST_CHECK_THROW(to_float8(arange(3)), DtypeError);
  BOOST_CHECK_THROW(from_float8(arange(3)), DtypeError);
  BOOST_CHECK_THROW(from_float8(zeros({2}, uint8), Float8::e4m3, int32), DtypeError);
}

BOOST_AUTO_TEST_SUITE_END()
