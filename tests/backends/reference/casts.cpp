// Tests conversions: saturation, wrapping, truth, and a single rounding to the 16-bit floats.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <tuple>

#include "tests/backends/reference/apply.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Integers = std::tuple<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
}  // namespace

BOOST_AUTO_TEST_SUITE(reference_casts)

BOOST_AUTO_TEST_CASE_TEMPLATE(floats_to_integers_saturate, T, Integers) {
  const T lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
  const T m1 = lo == 0 ? T(0) : T(-1);
  const double past = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const std::vector<double> x{0.9,   -0.9,   1.999, -1.999, kNaN,        kInf, -kInf,
                              1e300, -1e300, past,  -past,  -past * 1.5, 100.5};
  const std::vector<T> want{0, 0, 1, m1, 0, hi, lo, hi, lo, hi, lo, lo, 100};
  LAZY_CHECK_LIST((cast<T>(DType::float64, dtype_of<T>(), x)), (want));
  std::vector<float> f(x.begin(), x.end());
  LAZY_CHECK_LIST((cast<T>(DType::float32, dtype_of<T>(), f)), (want));
  // The largest float below the bound is in range.
  const float below = std::nextafter(std::ldexp(1.0f, std::numeric_limits<T>::digits), 0.0f);
  LAZY_CHECK_LIST((cast<T>(DType::float32, dtype_of<T>(), std::vector<float>{below})),
                  {static_cast<T>(below)});
}

BOOST_AUTO_TEST_CASE(integers_wrap) {
  const std::vector<int64_t> x{-1, 300, -300, 0x123456789abcdef0, std::numeric_limits<int64_t>::min(), 128};
  LAZY_CHECK_LIST((cast<int8_t>(DType::int64, DType::int8, x)), {-1, 44, -44, int8_t(0xf0), 0, -128});
  LAZY_CHECK_LIST((cast<uint8_t>(DType::int64, DType::uint8, x)), {255, 44, 212, 0xf0, 0, 128});
  LAZY_CHECK_LIST((cast<int32_t>(DType::int64, DType::int32, x)),
                  {-1, 300, -300, int32_t(0x9abcdef0), 0, 128});
  LAZY_CHECK_LIST((cast<uint64_t>(DType::int64, DType::uint64, x)),
                  {~0ull, 300, 0ull - 300, 0x123456789abcdef0, 1ull << 63, 128});
  LAZY_CHECK_LIST((cast<int64_t>(DType::int8, DType::int64, std::vector<int8_t>{-1, 127})), {-1, 127});
  LAZY_CHECK_LIST((cast<int64_t>(DType::uint8, DType::int64, std::vector<uint8_t>{255})), {255});
  LAZY_CHECK_LIST((cast<int16_t>(DType::uint16, DType::int16, std::vector<uint16_t>{0xffff})), {-1});
}

BOOST_AUTO_TEST_CASE(to_and_from_truth) {
  const std::vector<double> d{0, -0.0, 1, -2, 0.25, kNaN, kInf, 5e-324};
  LAZY_CHECK_LIST((cast<uint8_t>(DType::float64, DType::bool_, d)), {0, 0, 1, 1, 1, 1, 1, 1});
  LAZY_CHECK_LIST((cast<uint8_t>(DType::int32, DType::bool_, std::vector<int32_t>{0, 256, -1})), {0, 1, 1});
  LAZY_CHECK_LIST((cast<uint8_t>(DType::float16, DType::bool_, std::vector<uint16_t>{0, 0x8000, 1, 0x7e00})),
                  {0, 0, 1, 1});
  const std::vector<uint8_t> b{0, 1};
  LAZY_CHECK_LIST((cast<float>(DType::bool_, DType::float32, b)), {0, 1});
  LAZY_CHECK_LIST((cast<int64_t>(DType::bool_, DType::int64, b)), {0, 1});
  LAZY_CHECK_LIST((cast<uint16_t>(DType::bool_, DType::float16, b)), {0, 0x3c00});
}

BOOST_AUTO_TEST_CASE(between_floats) {
  const float fmax = std::numeric_limits<float>::max();
  LAZY_CHECK_LIST((cast<float>(DType::float64, DType::float32,
                               std::vector<double>{1e300, 1e-320, 0.1, kNaN, -0.0, double(fmax)})),
                  {float(kInf), 0, 0.1f, float(kNaN), -0.0f, fmax});
  LAZY_CHECK_LIST((cast<double>(DType::float32, DType::float64, std::vector<float>{0.1f, 1e-45f})),
                  {double(0.1f), double(1e-45f)});
  LAZY_CHECK_LIST((cast<float>(DType::int64, DType::float32,
                               std::vector<int64_t>{16777217, 16777219, -16777217, (1ll << 62) + 1})),
                  {16777216.0f, 16777220.0f, -16777216.0f, float(1ll << 62)});
  // A tie in float, broken upwards by a bit far below: rounded once.
  LAZY_CHECK_LIST((cast<float>(DType::uint64, DType::float32,
                               std::vector<uint64_t>{~0ull, (1ull << 63) + (1ull << 39) + 1})),
                  {18446744073709551616.0f, std::nextafter(9223372036854775808.0f, INFINITY)});
}

BOOST_AUTO_TEST_CASE(to_float16) {
  const std::vector<float> x{1,
                             -2,
                             65504,
                             65519,
                             65520,
                             1e9f,
                             5.9604645e-8f,
                             2.9802322e-8f,
                             2.9802326e-8f,
                             1.00048828125f,
                             1.00146484375f,
                             -0.0f};
  const std::vector<uint16_t> want{0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x7c00,
                                   1,      0,      1,      0x3c00, 0x3c02, 0x8000};
  LAZY_CHECK_LIST((cast<uint16_t>(DType::float32, DType::float16, x)), (want));
  // The value is just above the tie of 1 and 1 + 2^-10. A detour through float would see the tie itself and
  // round down.
  const double above = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  LAZY_CHECK_LIST((cast<uint16_t>(DType::float64, DType::float16,
                                  std::vector<double>{above, -above, 1e300, 1e-300, kInf})),
                  {0x3c01, 0xbc01, 0x7c00, 0, 0x7c00});
  const auto nan = cast<uint16_t>(DType::float64, DType::float16, std::vector<double>{kNaN})[0];
  BOOST_CHECK((nan & 0x7c00) == 0x7c00 && (nan & 0x3ff));
  LAZY_CHECK_LIST(
      (cast<uint16_t>(DType::int32, DType::float16, std::vector<int32_t>{2049, 2051, 100000, -1})),
      {0x6800, 0x6802, 0x7c00, 0xbc00});
}

BOOST_AUTO_TEST_CASE(to_bfloat16) {
  const std::vector<float> x{1, -2, 1.00390625f, 1.01171875f, 3.4e38f, float(kInf), -0.0f, 1e-45f};
  LAZY_CHECK_LIST((cast<uint16_t>(DType::float32, DType::bfloat16, x)),
                  {0x3f80, 0xc000, 0x3f80, 0x3f82, 0x7f80, 0x7f80, 0x8000, 0});
  const double above = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  LAZY_CHECK_LIST(
      (cast<uint16_t>(DType::float64, DType::bfloat16, std::vector<double>{above, 1e300, -1e300, 1e-300})),
      {0x3f81, 0x7f80, 0xff80, 0});
  const auto nan = cast<uint16_t>(DType::float32, DType::bfloat16, std::vector<float>{float(kNaN)})[0];
  BOOST_CHECK((nan & 0x7f80) == 0x7f80 && (nan & 0x7f));
  // 2^31 + 2^23 + 1 lies just above a tie of bfloat16; as a float it would be the tie.
  LAZY_CHECK_LIST(
      (cast<uint16_t>(DType::int64, DType::bfloat16, std::vector<int64_t>{(1ll << 31) + (1ll << 23) + 1})),
      {0x4f01});
}

BOOST_AUTO_TEST_CASE(from_every_16_bit_float) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const auto h = cast<float>(DType::float16, DType::float32, all),
             b = cast<float>(DType::bfloat16, DType::float32, all);
  for (int i = 0; i < 65536; ++i) {
    const int sign = i >> 15 ? -1 : 1, e = i >> 10 & 31, m = i & 1023;
    const float want = e == 31 ? (m ? float(kNaN) : sign * float(kInf))
                       : e     ? sign * std::ldexp(1024.0f + m, e - 25)
                               : sign * std::ldexp(float(m), -24);
    BOOST_REQUIRE_MESSAGE(same(h[i], want), "float16 " << i << ": " << h[i] << ", expected " << want);
    BOOST_REQUIRE_MESSAGE(same(b[i], std::bit_cast<float>(uint32_t(i) << 16)), "bfloat16 " << i);
  }
  // Back again, values other than NaN keep their bits.
  const auto back_h = cast<uint16_t>(DType::float32, DType::float16, h),
             back_b = cast<uint16_t>(DType::float32, DType::bfloat16, b);
  for (int i = 0; i < 65536; ++i) {
    BOOST_REQUIRE(std::isnan(h[i]) || back_h[i] == i);
    BOOST_REQUIRE(std::isnan(b[i]) || back_b[i] == i);
  }
  LAZY_CHECK_LIST((cast<uint16_t>(DType::float16, DType::bfloat16, std::vector<uint16_t>{0x3c00, 0x7bff})),
                  {0x3f80, 0x4780});
}

BOOST_AUTO_TEST_SUITE_END()
