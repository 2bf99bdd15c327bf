// Tests vector IR itself: value numbering, and the interpreter on instructions whose edges are easy to get
// wrong.
#include "backends/vector/vir.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/vector/helpers.hpp"
#include "backends/vector/vir_interpret.hpp"

using namespace lazy;
using namespace lazy::vir;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kInf64 = std::numeric_limits<double>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
uint64_t bits(T v) {
  uint64_t r = 0;
  std::memcpy(&r, &v, sizeof v);
  return r;
}
template <class T>
T value(uint64_t v) {
  T r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, double>) return Type::f64;
  if constexpr (std::is_same_v<T, int32_t>) return Type::i32;
  return Type::i64;
}

/// Applies what `build` appends to lanes of the arguments' types.
template <class R, class F, class... A>
R apply(F build, A... args) {
  Builder b;
  uint64_t slot = 0;
  std::vector<Val> in{b.input(type_of<A>(), slot++)...};
  std::vector<uint64_t> lanes{bits(args)...};
  const Val out = build(b, in);
  return value<R>(interpret(b.code, lanes, out));
}
float scale(float a, float n) {
  return apply<float>([](Builder& b, auto& v) { return b.scalef(v[0], v[1]); }, a, n);
}
double scale(double a, double n) {
  return apply<double>([](Builder& b, auto& v) { return b.scalef(v[0], v[1]); }, a, n);
}
template <class T>
T exponent(T a) {
  return apply<T>([](Builder& b, auto& v) { return b.getexp(v[0]); }, a);
}
template <class T>
T mantissa(T a) {
  return apply<T>([](Builder& b, auto& v) { return b.getmant(v[0]); }, a);
}
template <class T>
T mantissa_or_nan(T a) {
  return apply<T>([](Builder& b, auto& v) { return b.getmant_or_nan(v[0]); }, a);
}
template <class To, class From>
To convert(Op op, From a) {
  return apply<To>([op](Builder& b, auto& v) { return b.convert(op, type_of<To>(), v[0]); }, a);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vector_ir)

BOOST_AUTO_TEST_CASE(equal_instructions_are_built_once) {
  Builder b;
  const Val x = b.input(Type::f32, 0), y = b.input(Type::f32, 1);
  const Val i = b.input(Type::i32, 2), j = b.input(Type::i32, 3);
  BOOST_TEST(b.add(x, y).id == b.add(x, y).id);
  BOOST_TEST(b.f32(1).id == b.f32(1).id);
  BOOST_TEST(b.f32(0.0f).id != b.f32(-0.0f).id);
  BOOST_TEST(b.f32(0.0f).id != b.i32(0).id);
  BOOST_TEST(b.iadd(i, j).id == b.iadd(j, i).id);
  BOOST_TEST(b.eq(i, j).id == b.eq(j, i).id);
  BOOST_TEST(b.lt(i, j).id != b.lt(j, i).id);
  BOOST_TEST(b.isub(i, j).id != b.isub(j, i).id);
  BOOST_TEST(b.min(x, y).id != b.min(y, x).id);  // they differ on NaN and on zeros
  BOOST_TEST(b.add(x, y).id != b.add(y, x).id);  // the payload of two NaNs
  BOOST_TEST(b.andn(i, j).id != b.andn(j, i).id);
  BOOST_TEST(b.shl(i, 3).id != b.shl(i, 4).id);
}

BOOST_AUTO_TEST_CASE(numbering_survives_growth) {
  Builder b;
  std::vector<uint32_t> first;
  for (int k = 0; k < 10000; k++) first.push_back(b.i32(k).id);
  for (int k = 0; k < 10000; k++) BOOST_REQUIRE(b.i32(k).id == first[static_cast<size_t>(k)]);
  BOOST_TEST(b.code.size() == 10000u);
}

BOOST_AUTO_TEST_CASE(minimum_and_maximum_return_the_second_of_ties_and_nans) {
  const auto lesser = [](float a, float c) {
    return apply<float>([](Builder& b, auto& v) { return b.min(v[0], v[1]); }, a, c);
  };
  const auto greater = [](float a, float c) {
    return apply<float>([](Builder& b, auto& v) { return b.max(v[0], v[1]); }, a, c);
  };
  BOOST_TEST(lesser(1, 2) == 1);
  BOOST_TEST(greater(1, 2) == 2);
  BOOST_TEST(lesser(kNaN, 2) == 2);
  BOOST_TEST(std::isnan(lesser(2, kNaN)));
  BOOST_TEST(std::isnan(greater(2, kNaN)));
  BOOST_TEST(std::signbit(lesser(0.0f, -0.0f)));
  BOOST_TEST(!std::signbit(lesser(-0.0f, 0.0f)));
  BOOST_TEST(!std::signbit(greater(-0.0f, 0.0f)));
}

BOOST_AUTO_TEST_CASE(scalef_rounds_once) {
  BOOST_TEST(scale(1.5f, 3.7f) == 12.0f);
  BOOST_TEST(scale(1.5f, -0.5f) == 0.75f);
  BOOST_TEST(scale(1.0f, -149.0f) == std::numeric_limits<float>::denorm_min());
  BOOST_TEST(scale(1.0f, -150.0f) == 0.0f);  // half of the least, to even
  BOOST_TEST(scale(1.0000001f, -150.0f) == std::numeric_limits<float>::denorm_min());
  BOOST_TEST(std::signbit(scale(-1.0f, -500.0f)));
  BOOST_TEST(scale(1.0f, 128.0f) == kInf);
  BOOST_TEST(scale(-1.0f, 1e6f) == -kInf);
  BOOST_TEST(scale(std::numeric_limits<float>::denorm_min(), 276.0f) == 0x1p127f);
  BOOST_TEST(std::isnan(scale(kNaN, 1.0f)));
  BOOST_TEST(std::isnan(scale(kNaN, kNaN)));
  BOOST_TEST(scale(kInf, -3.0f) == kInf);
  BOOST_TEST(std::signbit(scale(-0.0f, 4.0f)));
  BOOST_TEST(scale(1.0, -1074.0) == std::numeric_limits<double>::denorm_min());
  BOOST_TEST(scale(1.0, -1075.0) == 0.0);
  BOOST_TEST(scale(5e-324, 2097.0) == 0x1p1023);
  std::mt19937_64 g(7);
  for (int k = 0; k < 20000; k++) {
    const double x = value<double>(g());
    const int n = static_cast<int>(g() % 4400) - 2200;
    if (std::isnan(x)) continue;
    BOOST_REQUIRE(bits(scale(x, static_cast<double>(n))) == bits(std::scalbn(x, n)));
    const auto xf = value<float>(g());
    if (!std::isnan(xf))
      BOOST_REQUIRE(bits(scale(xf, static_cast<float>(n / 8))) == bits(std::scalbn(xf, n / 8)));
  }
}

BOOST_AUTO_TEST_CASE(exponent_and_significand) {
  BOOST_TEST(exponent(1.5f) == 0);
  BOOST_TEST(exponent(-8.0f) == 3);
  BOOST_TEST(exponent(std::numeric_limits<float>::denorm_min()) == -149);
  BOOST_TEST(exponent(5e-324) == -1074);
  BOOST_TEST(exponent(-0.0f) == -kInf);
  BOOST_TEST(exponent(-kInf) == kInf);
  BOOST_TEST(std::isnan(exponent(kNaN)));
  BOOST_TEST(mantissa(1.0f) == 1);
  BOOST_TEST(mantissa(1.5f) == 0.75f);
  BOOST_TEST(mantissa(-3.0f) == 0.75f);
  BOOST_TEST(mantissa(1.4375f) == 1.4375f);
  BOOST_TEST(mantissa(5e-324) == 1);
  BOOST_TEST(mantissa(0.0f) == 1);
  BOOST_TEST(mantissa(kInf) == 1);
  BOOST_TEST(mantissa_or_nan(6.0) == 0.75);
  BOOST_TEST(mantissa_or_nan(-0.0) == 1);
  BOOST_TEST(std::isnan(mantissa_or_nan(-1.0)));
  BOOST_TEST(std::isnan(mantissa_or_nan(-kInf64)));
}

BOOST_AUTO_TEST_CASE(conversions_to_integers) {
  constexpr int32_t least = std::numeric_limits<int32_t>::min();
  constexpr int64_t least64 = std::numeric_limits<int64_t>::min();
  BOOST_TEST(convert<int32_t>(Op::f32_to_i32, -2.9f) == -2);
  BOOST_TEST(convert<int32_t>(Op::f32_to_i32, 2147483648.0f) == least);
  BOOST_TEST(convert<int32_t>(Op::f32_to_i32, -2147483648.0f) == least);
  BOOST_TEST(convert<int32_t>(Op::f32_to_i32, kNaN) == least);
  BOOST_TEST(convert<int32_t>(Op::f64_to_i32, 2147483647.9) == 2147483647);
  BOOST_TEST(convert<int32_t>(Op::f64_to_i32, -2147483648.9) == least);
  BOOST_TEST(convert<int32_t>(Op::f64_to_i32, -2147483649.0) == least);
  BOOST_TEST(convert<int64_t>(Op::f64_to_i64, 0x1p63) == least64);
  BOOST_TEST(convert<int64_t>(Op::f64_to_i64, -0x1p53 - 2) == -9007199254740994);
  BOOST_TEST(convert<int64_t>(Op::f32_to_i64, -kInf) == least64);
  BOOST_TEST(convert<float>(Op::i64_to_f32, int64_t{0x4000004000000001}) ==
             0x1.000002p62f);  // one rounding, not two
  BOOST_TEST(convert<float>(Op::i32_to_f32, 16777217) == 16777216.0f);
  BOOST_TEST(convert<int64_t>(Op::sext, -5) == -5);
  BOOST_TEST(convert<int64_t>(Op::zext, -5) == 4294967291);
  BOOST_TEST(convert<int32_t>(Op::narrow, int64_t{0x1234567887654321}) == static_cast<int32_t>(0x87654321));
}

BOOST_AUTO_TEST_CASE(shifts_by_the_width_and_more) {
  const auto shift = [](Op op, int32_t a, int32_t n) {
    return apply<int32_t>(
        [op](Builder& b, auto& v) {
          return b.push({op, Type::i32, 0, v[0].id, v[1].id});
        },
        a, n);
  };
  BOOST_TEST(shift(Op::shlv, 1, 31) == std::numeric_limits<int32_t>::min());
  BOOST_TEST(shift(Op::shlv, 1, 32) == 0);
  BOOST_TEST(shift(Op::shrv, -1, 31) == 1);
  BOOST_TEST(shift(Op::shrv, -1, -1) == 0);
  BOOST_TEST(shift(Op::sarv, -8, 2) == -2);
  BOOST_TEST(shift(Op::sarv, -8, 99) == -1);
  BOOST_TEST(shift(Op::sarv, 8, -1) == 0);
}

BOOST_AUTO_TEST_CASE(patch_touches_only_its_lanes) {
  Builder b;
  const Val x = b.input(Type::i64, 0), y = b.input(Type::i64, 1);
  const Val out = b.patch(static_cast<HelperId>(Helper::div_i64), b.lt(x, b.i64(0)), x, y, y);
  const size_t n = 1500;  // not a whole number of blocks
  std::vector<int64_t> xs(n), ys(n), got(n);
  for (size_t i = 0; i < n; i++) {
    xs[i] = static_cast<int64_t>(i) - 700;
    ys[i] = static_cast<int64_t>(i % 7) - 3;
  }
  const void* in[] = {xs.data(), ys.data()};
  void* const to[] = {got.data()};
  Interpreter(b.code).run(in, n, std::span(&out, 1), to);
  for (size_t i = 0; i < n; i++) {
    const double quotient = static_cast<double>(xs[i]) / static_cast<double>(ys[i]);
    const int64_t want = xs[i] >= 0 ? ys[i] : ys[i] == 0 ? 0 : static_cast<int64_t>(std::floor(quotient));
    BOOST_REQUIRE(got[i] == want);
  }
}

BOOST_AUTO_TEST_CASE(integer_division_helpers) {
  const auto call = [](Helper h, auto a, decltype(a) c) {
    decltype(a) r = 99;
    kHelpers[static_cast<int>(h)](&a, &c, &r, 1);
    return r;
  };
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t div[][3] = {{7, 2, 3},   {-7, 2, -4}, {7, -2, -4},        {-7, -2, 3},
                            {-8, 2, -4}, {5, 0, 0},   {least, -1, least}, {least, 1, least}};
  for (auto [a, c, want] : div) BOOST_TEST(call(Helper::div_i64, a, c) == want);
  const int64_t rem[][3] = {{7, 2, 1},  {-7, 2, 1}, {7, -2, -1},   {-7, -2, -1},
                            {-8, 2, 0}, {5, 0, 0},  {least, -1, 0}};
  for (auto [a, c, want] : rem) BOOST_TEST(call(Helper::rem_i64, a, c) == want);
  BOOST_TEST(call(Helper::div_u64, ~uint64_t{0}, uint64_t{2}) == ~uint64_t{0} / 2);
  BOOST_TEST(call(Helper::div_u64, uint64_t{9}, uint64_t{0}) == 0u);
  BOOST_TEST(call(Helper::rem_u64, uint64_t{9}, uint64_t{0}) == 0u);
  BOOST_TEST(call(Helper::rem_u64, ~uint64_t{0}, uint64_t{10}) == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
