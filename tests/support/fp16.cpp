#include "support/fp16.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

using lazy::bfloat16_t;
using lazy::float16_t;

namespace {

constexpr uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }

/// Rounds by searching the values of the type: the nearest, and of two the one with an even last bit.
template <class H>
uint16_t nearest(double v) {
  const bool negative = std::signbit(v);
  const double a = std::fabs(v);
  const int top = std::numeric_limits<H>::infinity().bits;
  int low = 0, high = top;  // the bit patterns of non-negative values are in order
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (double(float(H::from_bits(static_cast<uint16_t>(middle)))) <= a) low = middle;
    else high = middle;
  }
  // Infinity takes part as the value that would follow the largest.
  const double lower = float(H::from_bits(static_cast<uint16_t>(low)));
  const double upper = high == top ? std::ldexp(1.0, std::numeric_limits<H>::max_exponent)
                                   : double(float(H::from_bits(static_cast<uint16_t>(high))));
  const double down = a - lower, up = upper - a;
  const int q = std::isinf(a) ? top : down < up || (down == up && low % 2 == 0) ? low : high;
  return static_cast<uint16_t>(q | negative << 15);
}

template <class H>
void check(double v) {
  const uint16_t want = nearest<H>(v);
  if (H(v).bits != want) BOOST_ERROR("double " << v << " gave " << H(v).bits << ", not " << want);
  const float f = static_cast<float>(v);
  if (H(f).bits != nearest<H>(f))
    BOOST_ERROR("float " << f << " gave " << H(f).bits << ", not " << nearest<H>(f));
}

template <class H>
void check_around_every_pattern() {
  for (int p = 0; p < std::numeric_limits<H>::infinity().bits; ++p) {
    const double v = float(H::from_bits(static_cast<uint16_t>(p)));
    const double next = p + 1 == std::numeric_limits<H>::infinity().bits
                            ? std::ldexp(1.0, std::numeric_limits<H>::max_exponent)
                            : double(float(H::from_bits(static_cast<uint16_t>(p + 1))));
    const double middle = v + (next - v) / 2;  // a tie: exact in double
    for (double x :
         {v, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
          double(std::nextafter(float(middle), 0.0f)), double(std::nextafter(float(middle), 1e38f))}) {
      check<H>(x);
      check<H>(-x);
    }
  }
}

template <class H>
void check_random(unsigned seed) {
  BOOST_TEST_CONTEXT("seed " << seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 300000; ++i) {
      double v;
      const uint64_t u = random();
      std::memcpy(&v, &u, sizeof v);
      if (std::isnan(v)) continue;
      check<H>(v);
      const float f = std::bit_cast<float>(static_cast<uint32_t>(random()));
      if (!std::isnan(f)) check<H>(f);
      // Exponents near the type's smallest and largest, where rounding happens.
      check<H>(std::ldexp(double(random() >> 11), int(random() % 60) - 52 - 30));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fp16)

BOOST_AUTO_TEST_CASE(round_trip_of_every_pattern) {
  for (int p = 0; p < 65536; ++p) {
    const auto u = static_cast<uint16_t>(p);
    const auto h = float16_t::from_bits(u);
    const auto b = bfloat16_t::from_bits(u);
    if (std::isnan(float(h))) {
      BOOST_REQUIRE((u & 0x7c00) == 0x7c00 && (u & 0x3ff));
      BOOST_REQUIRE_EQUAL(float16_t(float(h)).bits, u | 0x200);  // quiet, sign and payload kept
    } else {
      BOOST_REQUIRE_EQUAL(float16_t(float(h)).bits, u);
      BOOST_REQUIRE_EQUAL(float16_t(double(float(h))).bits, u);
    }
    if (std::isnan(float(b))) {
      BOOST_REQUIRE_EQUAL(bfloat16_t(float(b)).bits, u | 0x40);
    } else {
      BOOST_REQUIRE_EQUAL(bfloat16_t(float(b)).bits, u);
      BOOST_REQUIRE_EQUAL(bfloat16_t(double(float(b))).bits, u);
    }
  }
}

#ifdef __FLT16_MANT_DIG__
BOOST_AUTO_TEST_CASE(agrees_with_the_compiler) {
  const auto native_bits = [](_Float16 v) {
    uint16_t u;
    std::memcpy(&u, &v, 2);
    return u;
  };
  for (int p = 0; p < 65536; ++p) {
    const auto u = static_cast<uint16_t>(p);
    _Float16 native;
    std::memcpy(&native, &u, 2);
    BOOST_REQUIRE_EQUAL(bits(float16_t::from_bits(u)), bits(static_cast<float>(native)));
  }
  const unsigned seed = 20240607;
  BOOST_TEST_CONTEXT("seed " << seed) {
    std::mt19937_64 random(seed);
    // Checks every float16 exponent and its neighbours, with random mantissas; ties; then any bits.
    for (int i = 0; i < 2000000; ++i) {
      const auto r = static_cast<uint32_t>(random());
      uint32_t u = r;
      if (i % 4) u = (r & 0x807fffff) | (100 + r / 8 % 45) << 23;
      if (i % 4 == 2) u = (u & ~0x1fffu) | 0x1000;
      const float f = std::bit_cast<float>(u);
      if (std::isnan(f)) continue;
      if (float16_t(f).bits != native_bits(static_cast<_Float16>(f))) BOOST_FAIL("float bits " << u);
      double d = f;
      d += d * std::ldexp(double(random() % 5) - 2, -40);
      if (float16_t(d).bits != native_bits(static_cast<_Float16>(d))) BOOST_FAIL("double " << d);
    }
  }
}
#endif

BOOST_AUTO_TEST_CASE(float16_near_every_value_and_tie) { check_around_every_pattern<float16_t>(); }
BOOST_AUTO_TEST_CASE(bfloat16_near_every_value_and_tie) { check_around_every_pattern<bfloat16_t>(); }
BOOST_AUTO_TEST_CASE(float16_random) { check_random<float16_t>(7); }
BOOST_AUTO_TEST_CASE(bfloat16_random) { check_random<bfloat16_t>(11); }

BOOST_AUTO_TEST_CASE(edges) {
  BOOST_TEST(float16_t(65504.0f).bits == 0x7bff);
  BOOST_TEST(float16_t(65519.99f).bits == 0x7bff);
  BOOST_TEST(float16_t(65520.0f).bits == 0x7c00);
  BOOST_TEST(float16_t(-1e30).bits == 0xfc00);
  BOOST_TEST(float16_t(0x1p-24f).bits == 1);
  BOOST_TEST(float16_t(0x1p-25f).bits == 0);  // a tie: even
  BOOST_TEST(float16_t(0x1.000002p-25f).bits == 1);
  BOOST_TEST(float16_t(-0.0f).bits == 0x8000);
  BOOST_TEST(float16_t(-5e-324).bits == 0x8000);
  // A conversion by way of float would round this double to a tie and then down.
  BOOST_TEST(float16_t(1.0 + 0x1p-11 + 0x1p-50).bits == 0x3c01);
  BOOST_TEST(bfloat16_t(1.0 + 0x1p-8 + 0x1p-50).bits == 0x3f81);
  BOOST_TEST(bfloat16_t(std::numeric_limits<float>::max()).bits == 0x7f80);
  BOOST_TEST(bfloat16_t(0x1p-133).bits == 1);
  BOOST_TEST(bfloat16_t(0x1p-134).bits == 0);
  // The payload's top bits survive, and a NaN whose payload is all in the low bits stays a NaN.
  BOOST_TEST(float16_t(std::bit_cast<float>(0x7f800001u)).bits == 0x7e00);
  BOOST_TEST(float16_t(std::bit_cast<float>(0xffa02000u)).bits == 0xff01);
  BOOST_TEST(bfloat16_t(std::bit_cast<float>(0x7f800001u)).bits == 0x7fc0);
  BOOST_TEST(float16_t(std::bit_cast<double>(uint64_t{0x7ff0000000000001})).bits == 0x7e00);
  BOOST_TEST(bfloat16_t(std::bit_cast<double>(uint64_t{0xfff0000000000001})).bits == 0xffc0);
}

BOOST_AUTO_TEST_CASE(integers_round_once) {
  BOOST_TEST(float16_t(2049).bits == float16_t(2048.0f).bits);
  BOOST_TEST(float16_t(2051).bits == float16_t(2052.0f).bits);
  BOOST_TEST(float16_t(-7).bits == float16_t(-7.0f).bits);
  BOOST_TEST(float16_t(true).bits == 0x3c00);
  BOOST_TEST(float16_t(70000).bits == 0x7c00);
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  BOOST_TEST(bfloat16_t(tie).bits == bfloat16_t(0x1p62).bits);
  BOOST_TEST(bfloat16_t(tie + 1).bits == bfloat16_t(0x1.02p62).bits);  // double would lose the 1
  BOOST_TEST(bfloat16_t(-(tie + 1)).bits == bfloat16_t(-0x1.02p62).bits);
  BOOST_TEST(bfloat16_t(std::numeric_limits<int64_t>::min()).bits == bfloat16_t(-0x1p63).bits);
  BOOST_TEST(bfloat16_t(std::numeric_limits<uint64_t>::max()).bits == bfloat16_t(0x1p64).bits);
}

BOOST_AUTO_TEST_CASE(compares_and_computes_as_float) {
  const float16_t a = 1.5f, b = 2;
  BOOST_TEST(bool(a < b));
  BOOST_TEST(bool(a == 1.5f));
  BOOST_TEST(bool(float16_t(0.0f) == float16_t(-0.0f)));
  const auto nan = std::numeric_limits<float16_t>::quiet_NaN();
  BOOST_TEST(!(nan == nan));
  BOOST_TEST(a * b == 3.0f);
  float16_t c = a;
  c += 0.5f;
  BOOST_TEST(float(c) == 2.0f);
  BOOST_TEST((-c).bits == 0xc000);
  static_assert(float16_t(1.0f).bits == 0x3c00 && bfloat16_t(1.0).bits == 0x3f80);
}

BOOST_AUTO_TEST_CASE(limits) {
  using L = std::numeric_limits<float16_t>;
  using B = std::numeric_limits<bfloat16_t>;
  BOOST_TEST(float(L::max()) == 65504.0f);
  BOOST_TEST(float(L::lowest()) == -65504.0f);
  BOOST_TEST(float(L::min()) == 0x1p-14f);
  BOOST_TEST(float(L::denorm_min()) == 0x1p-24f);
  BOOST_TEST(float(L::epsilon()) == 0x1p-10f);
  BOOST_TEST(std::isinf(float(L::infinity())));
  BOOST_TEST(std::isnan(float(L::quiet_NaN())));
  BOOST_TEST(float(B::max()) == 0x1.fep127f);
  BOOST_TEST(float(B::epsilon()) == 0x1p-7f);
  BOOST_TEST(float(B::min()) == 0x1p-126f);
  BOOST_TEST(L::digits == 11);
  BOOST_TEST(L::digits10 == 3);
  BOOST_TEST(L::max_digits10 == 5);
  BOOST_TEST(L::max_exponent == 16);
  BOOST_TEST(L::min_exponent == -13);
  BOOST_TEST(L::max_exponent10 == 4);
  BOOST_TEST(L::min_exponent10 == -4);
  BOOST_TEST(B::digits10 == 2);
  BOOST_TEST(B::max_digits10 == 4);
  BOOST_TEST(B::max_exponent == 128);
  BOOST_TEST(B::min_exponent10 == -37);
  BOOST_TEST(B::max_exponent10 == 38);
}

BOOST_AUTO_TEST_SUITE_END()
