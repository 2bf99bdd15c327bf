// Tests elementary functions: special values by hand, and the rounding of the rest against MPFR.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <tuple>

#include <mpfr.h>

#include "tests/backends/reference/apply.hpp"
#include "tests/common/asked.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

using Floats = std::tuple<float, double>;
template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

using Exact = std::function<void(mpfr_t out, mpfr_t x, mpfr_t y)>;

Exact one(int (*f)(mpfr_t, mpfr_srcptr, mpfr_rnd_t)) {
  return [f](mpfr_t out, mpfr_t x, mpfr_t) { f(out, x, MPFR_RNDN); };
}
Exact two(int (*f)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)) {
  return [f](mpfr_t out, mpfr_t x, mpfr_t y) { f(out, x, y, MPFR_RNDN); };
}
void sigmoid(mpfr_t out, mpfr_t x, mpfr_t) {
  mpfr_neg(out, x, MPFR_RNDN);
  mpfr_exp(out, out, MPFR_RNDN);
  mpfr_add_ui(out, out, 1, MPFR_RNDN);
  mpfr_ui_div(out, 1, out, MPFR_RNDN);
}
void gelu(mpfr_t out, mpfr_t x, mpfr_t) {
  mpfr_t root;
  mpfr_init2(root, 300);
  mpfr_sqrt_ui(root, 2, MPFR_RNDN);
  mpfr_neg(root, root, MPFR_RNDN);
  mpfr_div(root, x, root, MPFR_RNDN);
  mpfr_erfc(out, root, MPFR_RNDN);
  mpfr_mul(out, out, x, MPFR_RNDN);
  mpfr_div_ui(out, out, 2, MPFR_RNDN);
  mpfr_clear(root);
}

struct Function {
  Op op;
  Exact exact;
  double low, high;  // range of the samples, besides all bit patterns
};

std::vector<Function> functions() {
  return {{Op::rsqrt, one(mpfr_rec_sqrt), 0, 100},
          {Op::exp, one(mpfr_exp), -110, 90},
          {Op::expm1, one(mpfr_expm1), -2, 2},
          {Op::log, one(mpfr_log), 0, 3},
          {Op::log1p, one(mpfr_log1p), -1, 2},
          {Op::log2, one(mpfr_log2), 0, 3},
          {Op::log10, one(mpfr_log10), 0, 3},
          {Op::sin, one(mpfr_sin), -50, 50},
          {Op::cos, one(mpfr_cos), -50, 50},
          {Op::tan, one(mpfr_tan), -50, 50},
          {Op::sinh, one(mpfr_sinh), -5, 5},
          {Op::cosh, one(mpfr_cosh), -5, 5},
          {Op::tanh, one(mpfr_tanh), -5, 5},
          {Op::asin, one(mpfr_asin), -1, 1},
          {Op::acos, one(mpfr_acos), -1, 1},
          {Op::atan, one(mpfr_atan), -3, 3},
          {Op::asinh, one(mpfr_asinh), -3, 3},
          {Op::acosh, one(mpfr_acosh), 1, 3},
          {Op::atanh, one(mpfr_atanh), -1, 1},
          {Op::erf, one(mpfr_erf), -4, 4},
          {Op::erfc, one(mpfr_erfc), -3, 9},
          {Op::sigmoid, sigmoid, -20, 20},
          {Op::gelu, gelu, -9, 4},
          {Op::power, two(mpfr_pow), 0, 10},
          {Op::atan2, two(mpfr_atan2), -10, 10},
          {Op::hypot, two(mpfr_hypot), -10, 10}};
}

/// Returns the distance of `got` from the exact value, in units of the last place of the rounded exact value.
template <class T>
double ulps(T got, const mpfr_t exact) {
  const double rounded = mpfr_get_d(exact, MPFR_RNDN);
  const T near = static_cast<T>(rounded);
  if (std::isnan(got) || std::isnan(near)) return std::isnan(got) == std::isnan(near) ? 0 : 1e9;
  if (std::isinf(got) || std::isinf(near) || got == near) return got == near ? 0 : 1e9;
  const T step = std::max(std::numeric_limits<T>::denorm_min(),
                          std::nextafter(std::fabs(near), kInf<T>) - std::fabs(near));
  mpfr_t d;
  mpfr_init2(d, 300);
  mpfr_set_d(d, got, MPFR_RNDN);
  mpfr_sub(d, d, exact, MPFR_RNDN);
  mpfr_div_d(d, d, step, MPFR_RNDN);
  const double r = std::fabs(mpfr_get_d(d, MPFR_RNDN));
  mpfr_clear(d);
  return r;
}

template <class T>
std::vector<T> samples(std::mt19937_64& rng, double low, double high, int n) {
  std::vector<T> v;
  std::uniform_real_distribution<double> in(low, high);
  while (static_cast<int>(v.size()) < n) {
    v.push_back(static_cast<T>(in(rng)));
    const uint64_t bits = rng();
    T any;
    std::memcpy(&any, &bits, sizeof any);
    if (std::isfinite(any)) v.push_back(any);
  }
  return v;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reference_elementary)

BOOST_AUTO_TEST_CASE_TEMPLATE(within_a_rounding_of_the_exact_value, T, Floats) {
  const uint64_t seed = lazy::test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 rng(seed);
  mpfr_t x, y, exact;
  mpfr_inits2(300, x, y, exact, nullptr);
  std::vector<Op> seen;
  for (const Function& f : functions()) {
    const auto a = samples<T>(rng, f.low, f.high, 400), b = samples<T>(rng, f.low, f.high, 400);
    const size_t n = std::min(a.size(), b.size());
    const std::vector<T> xs(a.begin(), a.begin() + n), ys(b.begin(), b.begin() + n);
    const auto got = jit::row_of(f.op).arity == 2 ? apply(f.op, xs, ys) : apply(f.op, xs);
    for (size_t i = 0; i < n; ++i) {
      mpfr_set_d(x, xs[i], MPFR_RNDN);
      mpfr_set_d(y, ys[i], MPFR_RNDN);
      f.exact(exact, x, y);
      const double error = ulps(got[i], exact);
      BOOST_CHECK_MESSAGE(error <= 0.51, name_of(f.op)
                                             << "(" << xs[i] << ", " << ys[i] << ") = " << got[i] << " is "
                                             << error << " ulp off; LAZY_TEST_SEED=" << seed);
    }
    seen.push_back(f.op);
  }
  mpfr_clears(x, y, exact, nullptr);
  for (int i = 0; i < jit::kOpCount; ++i)
    if (is_approximate(static_cast<Op>(i), DType::float32))
      BOOST_CHECK_MESSAGE(std::count(seen.begin(), seen.end(), static_cast<Op>(i)),
                          name_of(static_cast<Op>(i)) << " is not sampled");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(special_values, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>, z = -T(0), pi = std::numbers::pi_v<T>;
  const std::vector<T> x{0, z, inf, -inf, nan};
  LAZY_CHECK_LIST(apply(Op::rsqrt, x), {inf, -inf, 0, nan, nan});
  LAZY_CHECK_LIST(apply(Op::exp, x), {1, 1, inf, 0, nan});
  LAZY_CHECK_LIST(apply(Op::expm1, x), {0, z, inf, -1, nan});
  LAZY_CHECK_LIST(apply(Op::log, x), {-inf, -inf, inf, nan, nan});
  LAZY_CHECK_LIST(apply(Op::log1p, x), {0, z, inf, nan, nan});
  LAZY_CHECK_LIST(apply<T>(Op::log1p, {-1, -2}), {-inf, nan});
  LAZY_CHECK_LIST(apply(Op::log2, x), {-inf, -inf, inf, nan, nan});
  LAZY_CHECK_LIST(apply(Op::log10, x), {-inf, -inf, inf, nan, nan});
  LAZY_CHECK_LIST(apply<T>(Op::log2, {8, T(0.25), 1}), {3, -2, 0});
  LAZY_CHECK_LIST(apply<T>(Op::log10, {1000, 1}), {3, 0});
  LAZY_CHECK_LIST(apply(Op::sin, x), {0, z, nan, nan, nan});
  LAZY_CHECK_LIST(apply(Op::cos, x), {1, 1, nan, nan, nan});
  LAZY_CHECK_LIST(apply(Op::tan, x), {0, z, nan, nan, nan});
  LAZY_CHECK_LIST(apply(Op::sinh, x), {0, z, inf, -inf, nan});
  LAZY_CHECK_LIST(apply(Op::cosh, x), {1, 1, inf, inf, nan});
  LAZY_CHECK_LIST(apply(Op::tanh, x), {0, z, 1, -1, nan});
  LAZY_CHECK_LIST(apply(Op::asin, x), {0, z, nan, nan, nan});
  LAZY_CHECK_LIST(apply(Op::acos, x), {pi / 2, pi / 2, nan, nan, nan});
  LAZY_CHECK_LIST(apply<T>(Op::acos, {1, -1}), {0, pi});
  LAZY_CHECK_LIST(apply(Op::atan, x), {0, z, pi / 2, -pi / 2, nan});
  LAZY_CHECK_LIST(apply(Op::asinh, x), {0, z, inf, -inf, nan});
  LAZY_CHECK_LIST(apply<T>(Op::acosh, {1, inf, T(0.5), -inf, nan}), {0, inf, nan, nan, nan});
  LAZY_CHECK_LIST(apply<T>(Op::atanh, {0, z, 1, -1, 2, nan}), {0, z, inf, -inf, nan, nan});
  LAZY_CHECK_LIST(apply(Op::erf, x), {0, z, 1, -1, nan});
  LAZY_CHECK_LIST(apply(Op::erfc, x), {1, 1, 0, 2, nan});
  LAZY_CHECK_LIST(apply(Op::sigmoid, x), {T(0.5), T(0.5), 1, 0, nan});
  LAZY_CHECK_LIST(apply(Op::gelu, x), {0, z, inf, z, nan});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(special_values_of_two, T, Floats) {
  const T inf = kInf<T>, nan = kNaN<T>, z = -T(0), pi = std::numbers::pi_v<T>;
  LAZY_CHECK_LIST(apply<T>(Op::power, {2, -2, -2, 0, z, z, nan, 1, -1, T(0.5), 0, -8, inf, -inf, z},
                           {10, 3, T(0.5), 0, -1, 3, 0, nan, inf, inf, -2, T(1) / 3, -1, 3, -2}),
                  {1024, -8, nan, 1, -inf, z, 1, 1, 1, 0, inf, nan, 0, -inf, inf});
  LAZY_CHECK_LIST(apply<T>(Op::power, {-inf, -inf, 0}, {T(-0x1p63), T(0x1p63), T(-0x1p63)}), {0, inf, inf});
  LAZY_CHECK_LIST(
      apply<T>(Op::atan2, {0, z, 0, z, 1, inf, inf, -1, nan}, {1, 1, -1, -1, 0, inf, -inf, -inf, 1}),
      {0, z, pi, -pi, pi / 2, pi / 4, T(3 * std::numbers::pi_v<long double> / 4), -pi, nan});
  LAZY_CHECK_LIST(apply<T>(Op::hypot, {3, inf, nan, nan, z}, {-4, nan, -inf, 1, z}), {5, inf, inf, nan, 0});
  const T huge = std::numeric_limits<T>::max() / 2;
  LAZY_CHECK_LIST(apply<T>(Op::hypot, {huge}, {0}), {huge});
}

BOOST_AUTO_TEST_SUITE_END()
