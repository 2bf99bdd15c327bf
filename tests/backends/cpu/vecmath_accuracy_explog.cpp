// Compares the exp, log and pow families with MPFR on random inputs, within the bounds of docs/math.md; their
// special values with the C library; and checks results that must be exact. (All 2^32 float32 inputs:
// tools/accuracy.cpp.)
#include <mpfr.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/vector/vecmath/vecmath.hpp"
#include "backends/vector/vir_interpret.hpp"
#include "tests/common/asked.hpp"

using namespace lazy;
using vir::Builder;
using vir::Val;

namespace {

using Exact = int (*)(mpfr_t, const mpfr_t, const mpfr_t);

int sigmoid_exact(mpfr_t r, const mpfr_t x, const mpfr_t) {
  mpfr_neg(r, x, MPFR_RNDN);
  mpfr_exp(r, r, MPFR_RNDN);
  mpfr_add_ui(r, r, 1, MPFR_RNDN);
  return mpfr_ui_div(r, 1, r, MPFR_RNDN);
}

struct Function {
  const char* name;
  Val (*one)(Builder&, Val);
  Val (*two)(Builder&, Val, Val);
  Exact exact;
  double bound32, bound64;   // ulp, as in docs/math.md
  double low, high, high64;  // half of the samples come from this range
};
#define LAZY_MPFR(f) [](mpfr_t r, const mpfr_t x, const mpfr_t) { return mpfr_##f(r, x, MPFR_RNDN); }
#define LAZY_MPFR2(f) [](mpfr_t r, const mpfr_t x, const mpfr_t y) { return mpfr_##f(r, x, y, MPFR_RNDN); }
const Function kFunctions[] = {
    {"exp", vecmath::exp, nullptr, LAZY_MPFR(exp), 1.1, 1.1, -104, 89, 710},
    {"expm1", vecmath::expm1, nullptr, LAZY_MPFR(expm1), 1.3, 1.3, -20, 89, 710},
    {"log", vecmath::log, nullptr, LAZY_MPFR(log), 1.0, 1.0, 0, 4, 4},
    {"log1p", vecmath::log1p, nullptr, LAZY_MPFR(log1p), 1.3, 1.0, -1, 4, 4},
    {"log2", vecmath::log2, nullptr, LAZY_MPFR(log2), 1.4, 1.2, 0, 4, 4},
    {"log10", vecmath::log10, nullptr, LAZY_MPFR(log10), 1.3, 1.2, 0, 4, 4},
    {"sigmoid", vecmath::sigmoid, nullptr, sigmoid_exact, 1.5, 1.5, -104, 20, 40},
    {"rsqrt", vecmath::rsqrt, nullptr, LAZY_MPFR(rec_sqrt), 1.5, 1.5, 0, 4, 4},
    {"pow", nullptr, vecmath::pow, LAZY_MPFR2(pow), 1.2, 1.2, 0, 0, 0},
    {"hypot", nullptr, vecmath::hypot, LAZY_MPFR2(hypot), 1.25, 1.25, 0, 0, 0},
};

template <class T>
constexpr vir::Type kType = sizeof(T) == 4 ? vir::Type::f32 : vir::Type::f64;
template <class T>
T from_bits(uint64_t v) {
  T r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}

template <class T>
std::vector<T> evaluate(const Function& f, const std::vector<T>& x, const std::vector<T>& y) {
  Builder b;
  const Val in = b.input(kType<T>, 0);
  const Val result = f.one ? f.one(b, in) : f.two(b, in, b.input(kType<T>, 1));
  std::vector<T> out(x.size());
  const void* inputs[] = {x.data(), y.data()};
  void* const to[] = {out.data()};
  vir::Interpreter(b.code).run(inputs, x.size(), std::span(&result, 1), to);
  return out;
}
template <class T>
T evaluate(const char* name, T x, T y = 0) {
  for (const Function& f : kFunctions)
    if (std::string(name) == f.name) return evaluate(f, std::vector{x}, std::vector{y})[0];
  std::abort();
}

struct Reference {
  mpfr_t x, y, r, d;
  Reference() { mpfr_inits2(160, x, y, r, d, static_cast<mpfr_ptr>(nullptr)); }
  ~Reference() { mpfr_clears(x, y, r, d, static_cast<mpfr_ptr>(nullptr)); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// Returns the distance in units of the exact result's last place; negative when `got` is of the wrong kind
  /// (NaN, infinity, sign).
  template <class T>
  double error(const Function& f, T a, T c, T got) {
    mpfr_set_d(x, static_cast<double>(a), MPFR_RNDN);
    mpfr_set_d(y, static_cast<double>(c), MPFR_RNDN);
    f.exact(r, x, y);
    if (mpfr_nan_p(r) || std::isnan(got)) return mpfr_nan_p(r) && std::isnan(got) ? 0 : -1;
    if (mpfr_inf_p(r)) return std::isinf(got) && std::signbit(got) == (mpfr_signbit(r) != 0) ? 0 : -1;
    if (mpfr_zero_p(r)) return got == 0 && std::signbit(got) == (mpfr_signbit(r) != 0) ? 0 : -1;
    if (std::signbit(got) != (mpfr_signbit(r) != 0)) return -1;
    const long lowest = std::numeric_limits<T>::min_exponent, digits = std::numeric_limits<T>::digits;
    const long exponent = std::max<long>(mpfr_get_exp(r), lowest);
    if (std::isinf(got)) {  // right if the exact result rounds to it, or lies within the last place below
      mpfr_set_d(d, static_cast<double>(std::numeric_limits<T>::max()), MPFR_RNDN);
      return mpfr_cmpabs(r, d) >= 0 ? 0 : -1;
    }
    mpfr_set_d(d, static_cast<double>(got), MPFR_RNDN);
    if (exponent > std::numeric_limits<T>::max_exponent)
      return std::fabs(got) == std::numeric_limits<T>::max() ? 1 : -1;
    mpfr_sub(d, d, r, MPFR_RNDN);
    mpfr_mul_2si(d, d, digits - exponent, MPFR_RNDN);
    return std::fabs(mpfr_get_d(d, MPFR_RNDN));
  }
};

template <class T>
void draw(const Function& f, std::mt19937_64& g, T& x, T& y) {
  const auto unit = [&g] { return static_cast<T>(g() >> 11) * static_cast<T>(0x1p-53); };
  x = from_bits<T>(g());
  y = from_bits<T>(g());
  if (f.one) {
    const double low = sizeof(T) == 8 && f.low < -100 ? -746 : f.low,
                 high = sizeof(T) == 4 ? f.high : f.high64;
    if (g() % 2) x = static_cast<T>(low + (high - low) * static_cast<double>(unit()));
    return;
  }
  const uint64_t kind = g() % 8;
  if (kind == 0) return;
  if (std::string("hypot") == f.name) {
    y = std::ldexp(x, static_cast<int>(g() % 40) - 20) * (1 + unit());
    return;
  }
  if (kind > 1) x = std::fabs(x);
  if (kind > 3) x = std::ldexp(T(0.5) + unit(), static_cast<int>(g() % 4));
  constexpr T range = std::numeric_limits<T>::max_exponent + std::numeric_limits<T>::digits;
  y = range / std::fabs(std::log2(std::fabs(x))) * (2 * unit() - 1);
  if (kind == 1 || kind == 2) y = std::round(y);
}

template <class T>
void check_accuracy(uint64_t seed) {
  Reference reference;
  mpfr_set_emin(-30000);
  mpfr_set_emax(30000);
  for (const Function& f : kFunctions) {
    std::mt19937_64 g(seed);
    const size_t n = 20000;
    std::vector<T> x(n), y(n);
    for (size_t i = 0; i < n; i++) draw(f, g, x[i], y[i]);
    const std::vector<T> got = evaluate(f, x, y);
    const double bound = sizeof(T) == 4 ? f.bound32 : f.bound64;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
      const double e = reference.error(f, x[i], y[i], got[i]);
      if (e < 0 || e > bound)
        BOOST_ERROR(f.name << "(" << std::hexfloat << x[i] << ", " << y[i] << ") = " << got[i]
                           << std::defaultfloat << ": " << e << " ulp, bound " << bound << " (seed " << seed
                           << ")");
      worst = std::max(worst, e);
    }
    BOOST_TEST_MESSAGE(f.name << (sizeof(T) == 4 ? " f32 " : " f64 ") << worst << " ulp in " << n
                              << " samples");
    BOOST_TEST(worst > 0.4);  // fails for a comparison that measures nothing
  }
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  const int digits = L::digits;
  std::vector<T> v{0,
                   L::denorm_min(),
                   3 * L::denorm_min(),
                   L::min() - L::denorm_min(),
                   L::min(),
                   L::epsilon(),
                   T(1) / 3,
                   T(0.5),
                   std::nextafter(T(0.75), T(0)),
                   T(0.75),
                   std::nextafter(T(1), T(0)),
                   1,
                   std::nextafter(T(1), T(2)),
                   T(1.5),
                   2,
                   T(2.5),
                   3,
                   4,
                   5,
                   10,
                   100,
                   std::ldexp(T(1), digits - 1) + T(0.5),
                   std::ldexp(T(1), digits) - 1,
                   std::ldexp(T(1), digits),
                   std::ldexp(T(1), digits) + 2,
                   std::ldexp(T(1), L::max_exponent - 1),
                   std::ldexp(T(1.5), L::max_exponent - 1),
                   L::max(),
                   L::infinity()};
  for (size_t i = 0, n = v.size(); i < n; i++) v.push_back(-v[i]);
  v.push_back(L::quiet_NaN());
  return v;
}

/// True for the same kind (NaN, infinity, zero; sign) or, for ordinary results, at most 2 units of
/// difference.
template <class T>
bool agrees(T got, T want) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::signbit(got) != std::signbit(want)) return false;
  if (want == 0 || std::isinf(want)) return got == want;
  const T below = std::nextafter(std::nextafter(std::fabs(want), T(0)), T(0)),
          inf = std::numeric_limits<T>::infinity();
  return std::fabs(got) >= below &&
         std::fabs(got) <= std::nextafter(std::nextafter(std::fabs(want), inf), inf);
}

template <class T>
void check_specials() {
  const std::vector<T> values = special_values<T>();
  using Wide = long double;
  struct Case {
    const char* name;
    Wide (*want)(Wide);
  };
  const Case cases[] = {{"exp", [](Wide x) { return std::exp(x); }},
                        {"expm1", [](Wide x) { return std::expm1(x); }},
                        {"log", [](Wide x) { return std::log(x); }},
                        {"log1p", [](Wide x) { return std::log1p(x); }},
                        {"log2", [](Wide x) { return std::log2(x); }},
                        {"log10", [](Wide x) { return std::log10(x); }},
                        {"sigmoid", [](Wide x) { return 1 / (1 + std::exp(-x)); }},
                        {"rsqrt", [](Wide x) { return 1 / std::sqrt(x); }}};
  for (const Case& c : cases)
    for (const T x : values) {
      const T got = evaluate<T>(c.name, x), want = static_cast<T>(c.want(static_cast<Wide>(x)));
      BOOST_TEST(agrees(got, want), c.name << "(" << x << ") = " << got << ", not " << want);
    }
  for (const T x : values)
    for (const T y : values) {
      const T p = evaluate<T>("pow", x, y), want = std::pow(x, y);
      BOOST_TEST(agrees(p, want), "pow(" << x << ", " << y << ") = " << p << ", not " << want);
      const T h = evaluate<T>("hypot", x, y), length = std::hypot(x, y);
      BOOST_TEST(agrees(h, length), "hypot(" << x << ", " << y << ") = " << h << ", not " << length);
    }
}

template <class T>
void check_exact() {
  using L = std::numeric_limits<T>;
  BOOST_TEST(evaluate<T>("exp", 0) == 1);
  BOOST_TEST(evaluate<T>("exp", T(-0.0)) == 1);
  BOOST_TEST(evaluate<T>("sigmoid", 0) == T(0.5));
  BOOST_TEST(evaluate<T>("expm1", L::denorm_min()) == L::denorm_min());
  BOOST_TEST(evaluate<T>("log1p", L::denorm_min()) == L::denorm_min());
  BOOST_TEST(evaluate<T>("log1p", -5 * L::denorm_min()) == -5 * L::denorm_min());
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; e++) {
    const T power = std::ldexp(T(1), e);
    BOOST_TEST(evaluate<T>("log2", power) == T(e));
    BOOST_TEST(evaluate<T>("pow", 2, T(e)) == power);
    BOOST_TEST(evaluate<T>("hypot", power, 0) == power);
    BOOST_TEST(evaluate<T>("pow", power, 1) == power);
  }
  T ten = 1;
  for (int e = 0; e <= (sizeof(T) == 4 ? 10 : 22); e++, ten *= 10)
    BOOST_TEST(evaluate<T>("log10", ten) == T(e));
  BOOST_TEST(evaluate<T>("hypot", 3, 4) == 5);
  for (int k = -30; k <= 30; k++) {
    BOOST_TEST(evaluate<T>("pow", T(k), 2) == T(k * k));
    BOOST_TEST(evaluate<T>("pow", T(k), 3) == T(k * k * k));
  }
}

uint64_t seed() { return lazy::test::number_from("LAZY_TEST_SEED", 20240607); }

}  // namespace

BOOST_AUTO_TEST_SUITE(vecmath_explog)

BOOST_AUTO_TEST_CASE(accuracy_f32) { check_accuracy<float>(seed()); }
BOOST_AUTO_TEST_CASE(accuracy_f64) { check_accuracy<double>(seed()); }
BOOST_AUTO_TEST_CASE(specials_f32) { check_specials<float>(); }
BOOST_AUTO_TEST_CASE(specials_f64) { check_specials<double>(); }
BOOST_AUTO_TEST_CASE(exact_f32) { check_exact<float>(); }
BOOST_AUTO_TEST_CASE(exact_f64) { check_exact<double>(); }

BOOST_AUTO_TEST_SUITE_END()
