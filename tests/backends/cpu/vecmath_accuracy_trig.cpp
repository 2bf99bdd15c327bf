// Compares the trigonometric, hyperbolic, inverse and error functions with MPFR on random inputs, within the
// bounds of docs/math.md; checks their special values, signs and symmetries. (All 2^32 float32 inputs:
// tools/accuracy.cpp.)
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/vector/vecmath/vecmath.hpp"
#include "backends/vector/vir_interpret.hpp"

using namespace lazy;
using vir::Builder;
using vir::Val;

namespace {

using One = Val (*)(Builder&, Val);
using Exact = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);

constexpr int kBits = 90;  // of exact results: a unit in the last place of a double is told to 1e-11

int exact_gelu(mpfr_t r, const mpfr_t x, mpfr_rnd_t mode) {
  mpfr_t t;
  mpfr_init2(t, kBits + 20);
  mpfr_sqrt_ui(t, 2, mode);
  mpfr_div(t, x, t, mode);
  mpfr_neg(t, t, mode);
  mpfr_erfc(t, t, mode);
  mpfr_mul(r, x, t, mode);
  mpfr_clear(t);
  return mpfr_div_2ui(r, r, 1, mode);
}

struct Function {
  const char* name;
  One build;
  Exact exact;
  double bound32, bound64;  // ulp, as in docs/math.md
  double low, high;         // half of the samples come from here
};
#define LAZY_FUNCTION(f, bound32, bound64, low, high) \
  { #f, vecmath::f, mpfr_##f, bound32, bound64, low, high }
const Function kFunctions[] = {
    LAZY_FUNCTION(sin, 1.25, 1.25, -100, 100),
    LAZY_FUNCTION(cos, 1.25, 1.25, -100, 100),
    LAZY_FUNCTION(tan, 1.45, 1.25, -100, 100),
    LAZY_FUNCTION(sinh, 1.45, 1.35, -12, 12),
    LAZY_FUNCTION(cosh, 1.35, 1.35, -12, 12),
    LAZY_FUNCTION(tanh, 1.15, 1.15, -4, 4),
    LAZY_FUNCTION(asin, 1.2, 1.15, -1, 1),
    LAZY_FUNCTION(acos, 1.2, 1.15, -1, 1),
    LAZY_FUNCTION(atan, 1.4, 1.4, -4, 4),
    LAZY_FUNCTION(asinh, 1, 1, -4, 4),
    LAZY_FUNCTION(acosh, 1, 1, 1, 4),
    LAZY_FUNCTION(atanh, 1.25, 1.2, -1, 1),
    LAZY_FUNCTION(erf, 1.5, 1.2, -4, 4),
    LAZY_FUNCTION(erfc, 1.5, 1.6, -4, 28),
    {"gelu", vecmath::gelu, exact_gelu, 1.5, 1.6, -39, 8},
};
constexpr double kAtan2Bound32 = 1.5, kAtan2Bound64 = 1.5;

template <class T>
constexpr vir::Type kType = sizeof(T) == 4 ? vir::Type::f32 : vir::Type::f64;
template <class T>
using Limits = std::numeric_limits<T>;

template <class T>
std::vector<T> evaluate(One f, const std::vector<T>& x) {
  Builder b;
  const Val result = f(b, b.input(kType<T>, 0));
  std::vector<T> out(x.size());
  const void* inputs[] = {x.data()};
  void* const to[] = {out.data()};
  vir::Interpreter(b.code).run(inputs, x.size(), std::span(&result, 1), to);
  return out;
}
template <class T>
std::vector<T> evaluate_atan2(const std::vector<T>& y, const std::vector<T>& x) {
  Builder b;
  const Val first = b.input(kType<T>, 0), second = b.input(kType<T>, 1);
  const Val result = vecmath::atan2(b, first, second);
  std::vector<T> out(x.size());
  const void* inputs[] = {y.data(), x.data()};
  void* const to[] = {out.data()};
  vir::Interpreter(b.code).run(inputs, x.size(), std::span(&result, 1), to);
  return out;
}
template <class T>
T evaluate(One f, T x) {
  return evaluate(f, std::vector<T>{x})[0];
}

template <class T>
bool same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Returns the distance from MPFR's result in units of that result's last place; infinite when NaN, infinity,
/// zero or sign are wrong. The one exception: an exact result beyond the largest finite number may also give
/// that, and next to the smallest one a zero.
template <class T>
double error(mpfr_t exact, T got) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (mpfr_nan_p(exact) || std::isnan(got)) return mpfr_nan_p(exact) && std::isnan(got) ? 0 : wrong;
  if (std::signbit(got) != (mpfr_signbit(exact) != 0)) return wrong;
  if (mpfr_inf_p(exact)) return std::isinf(got) ? 0 : wrong;
  if (mpfr_zero_p(exact)) return got == 0 ? 0 : wrong;
  const long exponent = std::max<long>(mpfr_get_exp(exact), Limits<T>::min_exponent);
  mpfr_t difference;
  mpfr_init2(difference, 64);
  if (std::isinf(got)) mpfr_set_ui_2exp(difference, 1, Limits<T>::max_exponent, MPFR_RNDN);
  else mpfr_set_d(difference, std::fabs(static_cast<double>(got)), MPFR_RNDN);
  mpfr_t magnitude;
  mpfr_init2(magnitude, mpfr_get_prec(exact));
  mpfr_abs(magnitude, exact, MPFR_RNDN);
  if (mpfr_get_exp(magnitude) > Limits<T>::max_exponent && std::isinf(got))
    mpfr_set(difference, magnitude, MPFR_RNDN);
  mpfr_sub(difference, difference, magnitude, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, Limits<T>::digits - exponent, MPFR_RNDN);
  const double e = std::fabs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(difference);
  mpfr_clear(magnitude);
  return e;
}

template <class T>
std::vector<T> samples(double low, double high, size_t n, std::mt19937_64& g) {
  std::vector<T> x(n);
  for (size_t i = 0; i < n; i++) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const double unit = static_cast<double>(g() >> 11) * 0x1p-53;
    switch (i % 4) {
      case 0: x[i] = std::bit_cast<T>(static_cast<Bits>(g())); break;  // any bits
      case 1:
        x[i] = static_cast<T>((unit - 0.5) * std::ldexp(4.0, -static_cast<int>(g() % 30)));
        break;  // near 0
      default: x[i] = static_cast<T>(low + (high - low) * unit);
    }
  }
  return x;
}

template <class T>
void check_accuracy() {
  for (const Function& f : kFunctions) {
    std::mt19937_64 g(1);
    const std::vector<T> x = samples<T>(f.low, f.high, 20'000, g);
    const std::vector<T> y = evaluate(f.build, x);
    mpfr_t in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, kBits);
    double worst = 0;
    T at = 0;
    for (size_t i = 0; i < x.size(); i++) {
      mpfr_set_d(in, static_cast<double>(x[i]), MPFR_RNDN);
      if (std::isinf(x[i]) && std::string("gelu") == f.name) continue;  // inf * 0; in the specials below
      f.exact(out, in, MPFR_RNDN);
      const double e = error(out, y[i]);
      if (e > worst) worst = e, at = x[i];
    }
    mpfr_clear(in);
    mpfr_clear(out);
    const double bound = sizeof(T) == 4 ? f.bound32 : f.bound64;
    BOOST_CHECK_MESSAGE(worst <= bound, f.name << (sizeof(T) == 4 ? " f32" : " f64") << ": " << worst
                                               << " ulp at " << std::hexfloat << at);
    BOOST_CHECK_MESSAGE(worst > 0.4, f.name << ": a measurement that finds no error finds nothing");
  }
}

template <class T>
void check_atan2_accuracy() {
  std::mt19937_64 g(2);
  std::vector<T> y = samples<T>(-3, 3, 20'000, g), x = samples<T>(-3, 3, 20'000, g);
  for (size_t i = 0; i < x.size(); i += 5)
    x[i] = static_cast<T>(y[i] * std::ldexp(1.0, static_cast<int>(g() % 120) - 60));
  const std::vector<T> z = evaluate_atan2(y, x);
  mpfr_t a, b, out;
  mpfr_init2(a, 53);
  mpfr_init2(b, 53);
  mpfr_init2(out, kBits);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); i++) {
    mpfr_set_d(a, static_cast<double>(y[i]), MPFR_RNDN);
    mpfr_set_d(b, static_cast<double>(x[i]), MPFR_RNDN);
    mpfr_atan2(out, a, b, MPFR_RNDN);
    const double e = error(out, z[i]);
    if (e > worst) worst = e, at = i;
  }
  mpfr_clear(a);
  mpfr_clear(b);
  mpfr_clear(out);
  BOOST_CHECK_MESSAGE(worst <= (sizeof(T) == 4 ? kAtan2Bound32 : kAtan2Bound64),
                      "atan2: " << worst << " ulp at " << std::hexfloat << y[at] << ", " << x[at]);
}

/// Holds one row: argument and exact result, for both types.
struct Special {
  One f;
  const char* name;
  double x, want;
};
constexpr double kInf = Limits<double>::infinity(), kNan = Limits<double>::quiet_NaN();
#define LAZY_SPECIAL(f, x, want) \
  { vecmath::f, #f, x, want }
const Special kSpecials[] = {
    LAZY_SPECIAL(sin, kInf, kNan),    LAZY_SPECIAL(sin, -kInf, kNan),    LAZY_SPECIAL(cos, kInf, kNan),
    LAZY_SPECIAL(cos, -kInf, kNan),   LAZY_SPECIAL(cos, 0.0, 1),         LAZY_SPECIAL(cos, -0.0, 1),
    LAZY_SPECIAL(tan, kInf, kNan),    LAZY_SPECIAL(tan, -kInf, kNan),    LAZY_SPECIAL(sinh, kInf, kInf),
    LAZY_SPECIAL(sinh, -kInf, -kInf), LAZY_SPECIAL(cosh, kInf, kInf),    LAZY_SPECIAL(cosh, -kInf, kInf),
    LAZY_SPECIAL(cosh, 0.0, 1),       LAZY_SPECIAL(cosh, -0.0, 1),       LAZY_SPECIAL(tanh, kInf, 1),
    LAZY_SPECIAL(tanh, -kInf, -1),    LAZY_SPECIAL(asin, kInf, kNan),    LAZY_SPECIAL(asin, -kInf, kNan),
    LAZY_SPECIAL(asin, 1.5, kNan),    LAZY_SPECIAL(acos, 1.0, 0.0),      LAZY_SPECIAL(acos, 1.5, kNan),
    LAZY_SPECIAL(acos, -1.5, kNan),   LAZY_SPECIAL(acos, kInf, kNan),    LAZY_SPECIAL(acos, -kInf, kNan),
    LAZY_SPECIAL(asinh, kInf, kInf),  LAZY_SPECIAL(asinh, -kInf, -kInf), LAZY_SPECIAL(acosh, 1.0, 0.0),
    LAZY_SPECIAL(acosh, kInf, kInf),  LAZY_SPECIAL(acosh, -kInf, kNan),  LAZY_SPECIAL(acosh, 0.5, kNan),
    LAZY_SPECIAL(acosh, 0.0, kNan),   LAZY_SPECIAL(acosh, -3.0, kNan),   LAZY_SPECIAL(atanh, 1.0, kInf),
    LAZY_SPECIAL(atanh, -1.0, -kInf), LAZY_SPECIAL(atanh, 1.5, kNan),    LAZY_SPECIAL(atanh, -1.5, kNan),
    LAZY_SPECIAL(atanh, kInf, kNan),  LAZY_SPECIAL(atanh, -kInf, kNan),  LAZY_SPECIAL(erf, kInf, 1),
    LAZY_SPECIAL(erf, -kInf, -1),     LAZY_SPECIAL(erfc, kInf, 0.0),     LAZY_SPECIAL(erfc, -kInf, 2),
    LAZY_SPECIAL(erfc, 0.0, 1),       LAZY_SPECIAL(erfc, -0.0, 1),       LAZY_SPECIAL(erfc, 40.0, 0.0),
    LAZY_SPECIAL(gelu, kInf, kInf),   LAZY_SPECIAL(gelu, -kInf, -0.0),   LAZY_SPECIAL(gelu, -50.0, -0.0),
    LAZY_SPECIAL(gelu, 50.0, 50.0),
};

template <class T>
void check_specials() {
  for (const Special& s : kSpecials) {
    const T got = evaluate(s.f, static_cast<T>(s.x));
    BOOST_CHECK_MESSAGE(same(got, static_cast<T>(s.want)), s.name << '(' << s.x << ") = " << got);
  }
  for (const Function& f : kFunctions)
    for (T nan : {Limits<T>::quiet_NaN(), -Limits<T>::quiet_NaN(), Limits<T>::signaling_NaN()})
      BOOST_CHECK_MESSAGE(std::isnan(evaluate(f.build, nan)), f.name << "(NaN)");
}

const One kOdd[] = {vecmath::sin,  vecmath::tan,   vecmath::sinh,  vecmath::tanh, vecmath::asin,
                    vecmath::atan, vecmath::asinh, vecmath::atanh, vecmath::erf};
const One kEven[] = {vecmath::cos, vecmath::cosh};

template <class T>
void check_symmetry() {
  std::mt19937_64 g(3);
  std::vector<T> x = samples<T>(-6, 6, 4000, g);
  x.insert(x.end(),
           {T(0), Limits<T>::denorm_min(), Limits<T>::min(), Limits<T>::max(), Limits<T>::infinity()});
  std::vector<T> minus(x);
  for (T& v : minus) v = -v;
  const auto check = [&](One f, T sign) {
    const std::vector<T> a = evaluate(f, x), b = evaluate(f, minus);
    for (size_t i = 0; i < x.size(); i++)
      BOOST_REQUIRE_MESSAGE(same(a[i], sign * b[i]), std::hexfloat << x[i]);
  };
  for (One f : kOdd) check(f, T(-1));
  for (One f : kEven) check(f, T(1));
}

/// Checks f(x) = slope x to the last bit where the next term is far below one: zeros of both signs and
/// denormals too.
template <class T>
void check_near_zero() {
  const T tiny[] = {T(0),
                    Limits<T>::denorm_min(),
                    7 * Limits<T>::denorm_min(),
                    Limits<T>::min() / 2 + Limits<T>::denorm_min(),
                    Limits<T>::min(),
                    3 * Limits<T>::min(),
                    static_cast<T>(std::ldexp(1.25, -60))};
  for (One f : kOdd) {
    if (f == static_cast<One>(vecmath::erf)) continue;
    for (T x : tiny)
      for (T v : {x, -x})
        BOOST_CHECK_MESSAGE(same(evaluate(f, v), v), std::hexfloat << v << " gives " << evaluate(f, v));
  }
  for (T zero : {T(0), -T(0)})
    for (One f : {static_cast<One>(vecmath::erf), static_cast<One>(vecmath::gelu)})
      BOOST_CHECK(same(evaluate(f, zero), zero));
}

template <class T>
void check_atan2_specials() {
  const T inf = Limits<T>::infinity(), nan = Limits<T>::quiet_NaN(), tiny = Limits<T>::denorm_min(),
          max = Limits<T>::max();
  std::vector<T> values = {T(0), tiny, Limits<T>::min(), T(0.75), T(1), T(3), max / 2, max, inf, nan};
  for (size_t i = 0, n = values.size(); i < n; i++) values.push_back(-values[i]);
  std::vector<T> y, x;
  for (T a : values)
    for (T b : values) y.push_back(a), x.push_back(b);
  const std::vector<T> got = evaluate_atan2(y, x);
  for (size_t i = 0; i < x.size(); i++) {
    const T want = std::atan2(y[i], x[i]);
    const bool exact = y[i] == 0 || x[i] == 0 || std::isinf(y[i]) || std::isinf(x[i]) || std::isnan(want) ||
                       std::fabs(y[i]) == std::fabs(x[i]);
    const bool right = same(got[i], want) ||
                       (!exact && std::signbit(got[i]) == std::signbit(want) &&
                        std::fabs(got[i] - want) <= std::max(std::fabs(want) * Limits<T>::epsilon(), tiny));
    BOOST_CHECK_MESSAGE(
        right, "atan2(" << std::hexfloat << y[i] << ", " << x[i] << ") = " << got[i] << ", not " << want);
  }
}

/// Checks which lanes take the C library's reduction.
template <class T>
void check_huge() {
  const T limit = sizeof(T) == 4 ? T(1e5) : T(1e9);
  struct Pair {
    One f;
    T (*library)(T);
  };
  const Pair pairs[] = {{vecmath::sin, [](T v) { return static_cast<T>(std::sin(static_cast<double>(v))); }},
                        {vecmath::cos, [](T v) { return static_cast<T>(std::cos(static_cast<double>(v))); }},
                        {vecmath::tan, [](T v) { return static_cast<T>(std::tan(static_cast<double>(v))); }}};
  for (const Pair& p : pairs) {
    for (T x : {std::nextafter(limit, Limits<T>::max()), limit * 2, T(1e30), Limits<T>::max()})
      for (T v : {x, -x}) BOOST_CHECK(same(evaluate(p.f, v), p.library(v)));
    Builder b;
    p.f(b, b.input(kType<T>, 0));
    const auto patch =
        std::find_if(b.code.begin(), b.code.end(), [](const vir::Inst& i) { return i.op == vir::Op::patch; });
    BOOST_REQUIRE(patch != b.code.end());
    const Val mask{patch->a, vir::Type::mask};
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const auto taken = [&](T v) {
      const uint64_t in[] = {std::bit_cast<Bits>(v)};
      return vir::interpret(b.code, in, mask) != 0;
    };
    for (T sign : {T(1), T(-1)}) {
      for (T v : {T(0), T(1), limit, Limits<T>::infinity(), Limits<T>::quiet_NaN()})
        BOOST_CHECK(!taken(std::copysign(v, sign)));
      for (T v : {std::nextafter(limit, Limits<T>::max()), Limits<T>::max()})
        BOOST_CHECK(taken(std::copysign(v, sign)));
    }
  }
}

/// Checks arguments next to multiples of pi/2, where the reduction cancels most.
template <class T>
void check_near_multiples() {
  std::vector<T> x;
  const double half_pi = 1.5707963267948966;
  const double last = sizeof(T) == 4 ? 63'000 : 6e8;
  for (double n = 1; n < last; n = std::ceil(n * 1.0003)) {
    const T v = static_cast<T>(n * half_pi);
    x.insert(x.end(), {std::nextafter(v, T(0)), v, std::nextafter(v, Limits<T>::max())});
  }
  for (const Function& f : kFunctions) {
    if (std::string("sin") != f.name && std::string("cos") != f.name && std::string("tan") != f.name)
      continue;
    const std::vector<T> y = evaluate(f.build, x);
    mpfr_t in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, 200);
    for (size_t i = 0; i < x.size(); i++) {
      mpfr_set_d(in, static_cast<double>(x[i]), MPFR_RNDN);
      f.exact(out, in, MPFR_RNDN);
      const double e = error(out, y[i]);
      BOOST_CHECK_MESSAGE(e <= (sizeof(T) == 4 ? f.bound32 : f.bound64),
                          f.name << ' ' << std::hexfloat << x[i] << ": " << e);
    }
    mpfr_clear(in);
    mpfr_clear(out);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vecmath_trig)

/// Both polynomials, and their lanes in a vector, on either side of where they meet.
BOOST_AUTO_TEST_CASE(gelu_where_its_polynomials_meet) {
  std::vector<float> x;
  for (int sign : {-1, 1})
    for (int i = -3000; i <= 3000; i++)
      x.push_back(static_cast<float>(sign) * (0.65f + static_cast<float>(i) * 0x1p-24f));
  for (int sign : {-1, 1})
    for (int i = 0; i < 6000; i++)
      x.push_back(static_cast<float>(sign) * (0.3f + static_cast<float>(i) * 1.2e-4f));
  const std::vector<float> y = evaluate(static_cast<One>(vecmath::gelu), x);
  mpfr_t in, out;
  mpfr_init2(in, 53);
  mpfr_init2(out, kBits);
  double worst = 0;
  for (size_t i = 0; i < x.size(); i++) {
    mpfr_set_d(in, static_cast<double>(x[i]), MPFR_RNDN);
    exact_gelu(out, in, MPFR_RNDN);
    worst = std::max(worst, error(out, y[i]));
  }
  mpfr_clear(in);
  mpfr_clear(out);
  BOOST_TEST(worst <= 1.5);
  BOOST_TEST(worst > 0.4);
}

BOOST_AUTO_TEST_CASE(accuracy_f32) { check_accuracy<float>(); }
BOOST_AUTO_TEST_CASE(accuracy_f64) { check_accuracy<double>(); }
BOOST_AUTO_TEST_CASE(accuracy_atan2) {
  check_atan2_accuracy<float>();
  check_atan2_accuracy<double>();
}
BOOST_AUTO_TEST_CASE(specials) {
  check_specials<float>();
  check_specials<double>();
}
BOOST_AUTO_TEST_CASE(symmetry) {
  check_symmetry<float>();
  check_symmetry<double>();
}
BOOST_AUTO_TEST_CASE(near_zero) {
  check_near_zero<float>();
  check_near_zero<double>();
}
BOOST_AUTO_TEST_CASE(atan2_specials) {
  check_atan2_specials<float>();
  check_atan2_specials<double>();
}
BOOST_AUTO_TEST_CASE(huge_arguments) {
  check_huge<float>();
  check_huge<double>();
}
BOOST_AUTO_TEST_CASE(near_multiples_of_half_pi) {
  check_near_multiples<float>();
  check_near_multiples<double>();
}

BOOST_AUTO_TEST_SUITE_END()
