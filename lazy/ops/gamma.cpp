// Implements the logarithm of the gamma function, its derivatives, and the zeta function.
#include <cmath>
#include <numbers>

#include "lazy/core/special_values.hpp"
#include "lazy/ops/float_function.hpp"
#include "lazy/ops/special.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns log gamma(x) for x >= 0.5.
Handle lanczos(const Recorder& r, const Handle& x) {
  constexpr double c[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                          -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                          9.9843695780195716e-6, 1.5056327351493116e-7};
  Handle sum = r.number(0.99999999999980993, float64);
  for (int i = 0; i < 8; ++i)
    sum = r.op(Op::add, sum,
               r.op(Op::divide, r.number(c[i], float64), r.op(Op::add, x, static_cast<double>(i))));
  const Handle t = r.op(Op::add, x, 6.5);
  const Handle power =
      r.op(Op::multiply, r.op(Op::subtract, x, 0.5), r.op(Op::subtract, r.op(Op::log, t), 1));
  return r.op(Op::add, power, r.op(Op::add, r.op(Op::log, sum), 0.5 * std::log(2 * std::numbers::pi) - 7));
}

/// Returns the sum of (q + k)^-s over k >= 0 in float64, for q > 0: ten terms, and Euler's and Maclaurin's
/// formula for the others.
Handle hurwitz(const Recorder& r, const Handle& s, const Handle& q) {
  constexpr int kTerms = 10;
  // (2j)! / B_2j
  constexpr double kBernoulli[] = {12.0,
                                   -720.0,
                                   30240.0,
                                   -1209600.0,
                                   47900160.0,
                                   -1.8924375803183791606e9,
                                   7.47242496e10,
                                   -2.950130727918164224e12,
                                   1.1646782814350067249e14,
                                   -4.5979787224074726105e15,
                                   1.8152105401943546773e17,
                                   -7.1661652561756670113e18};
  const Handle minus = r.op(Op::negative, s);
  const Handle a = r.op(Op::add, q, kTerms);
  const Handle last = r.op(Op::power, a, minus);
  // a^(1 - s) / (s - 1) + a^-s / 2 + sum of s (s + 1) ... (s + 2j - 2) a^-(s + 2j - 1) B_2j / (2j)!
  Handle rest = r.op(Op::add, r.op(Op::divide, r.op(Op::multiply, last, a), r.op(Op::subtract, s, 1)),
                     r.op(Op::multiply, last, 0.5));
  Handle factor = r.op(Op::divide, s, a), power = last;
  for (int j = 0; j < 12; ++j) {
    const Handle term = r.op(Op::multiply, power, factor);
    rest = r.op(Op::add, rest, r.op(Op::divide, term, kBernoulli[j]));
    factor = r.op(Op::multiply, r.op(Op::divide, r.op(Op::add, s, 2. * j + 1), a),
                  r.op(Op::divide, r.op(Op::add, s, 2. * j + 2), a));
    power = term;
  }
  for (int k = kTerms - 1; k >= 0; --k)
    rest = r.op(Op::add, rest, r.op(Op::power, k == 0 ? q : r.op(Op::add, q, k), minus));
  return rest;
}

/// Extends it: infinite at s = 1 and at q = 0, -1, ...; NaN for s < 1 and for other q < 0.
Handle zeta_of(const Recorder& r, const Handle& s, const Handle& q) {
  const Handle y = hurwitz(r, s, r.where(r.op(Op::greater, q, 0), q, 1));
  const Handle negative = r.op(Op::less_equal, q, 0);
  const Handle pole = r.op(Op::equal, q, r.op(Op::floor, q));
  const Handle below = r.where(pole, r.number(kInfinity, float64), kNaN);
  const Handle defined = r.where(negative, below, r.where(r.op(Op::isinf, q), 0, y));
  const Handle from_one = r.where(r.op(Op::equal, s, 1), kInfinity, defined);
  const Handle result = r.where(r.op(Op::less, s, 1), kNaN, from_one);
  const Handle bad = r.either(r.op(Op::isnan, s), r.op(Op::isnan, q));
  return r.where(bad, kNaN, result);
}

/// Returns the sum of 1 / (x + k)^2 over k >= 0: zeta(2, x), reflected below 0.5.
Handle trigamma(const Recorder& r, const Handle& x) {
  const Handle low = r.op(Op::less, x, 0.5), two = r.number(2, float64);
  const Handle y = hurwitz(r, two, r.where(low, r.op(Op::subtract, 1, x), x));
  const Handle distance = r.op(Op::subtract, x, r.op(Op::round, x));
  const Handle sine = r.op(Op::sin, r.op(Op::multiply, distance, std::numbers::pi));
  const Handle ratio = r.op(Op::divide, std::numbers::pi, r.where(low, sine, 1));
  const Handle value = r.where(low, r.op(Op::subtract, r.op(Op::multiply, ratio, ratio), y), y);
  return r.where(r.op(Op::equal, x, kInfinity), 0, value);
}

/// Returns log |gamma(x)|.
Handle log_gamma(const Recorder& r, const Handle& h) {
  const Handle low = r.op(Op::less, h, 0.5);
  const Handle value = lanczos(r, r.where(low, r.op(Op::subtract, 1, h), h));
  // log(pi / |sin(pi x)|) - log gamma(1 - x); the distance to the nearest integer, which is exact, decides
  // the sine.
  const Handle near = r.op(Op::abs, r.op(Op::subtract, h, r.op(Op::round, h)));
  // log |x| where x is so small that 1 - x is 1.
  const Handle tiny = r.op(Op::less, r.op(Op::abs, h), 1e-20);
  const Handle sine = r.op(Op::sin, r.op(Op::multiply, near, std::numbers::pi));
  const Handle reflected =
      r.op(Op::subtract, r.op(Op::log, r.op(Op::divide, r.number(std::numbers::pi, float64), sine)), value);
  const Handle small = r.op(Op::negative, r.op(Op::log, r.op(Op::abs, h)));
  const Handle y = r.where(tiny, small, r.where(low, reflected, value));
  return r.where(r.op(Op::isinf, h), kInfinity, y);
}

/// Returns its derivative.
Handle psi_of(const Recorder& r, const Handle& h) {
  const Handle low = r.op(Op::less, h, 0.5);
  Handle z = r.where(low, r.op(Op::subtract, 1, h), h), below = r.number(0, float64);
  const Handle shifted = r.op(Op::less, z, 10);
  for (int i = 0; i < 10; ++i)
    below = r.op(Op::add, below, r.op(Op::divide, 1, r.op(Op::add, z, static_cast<double>(i))));
  z = r.where(shifted, r.op(Op::add, z, 10), z);
  // log z - 1 / (2 z) - sum of B_2k / (2k z^2k).
  const Handle inverse = r.op(Op::divide, 1, z), square = r.op(Op::multiply, inverse, inverse);
  const Handle series = r.op(
      Op::multiply, square,
      polynomial(r, {1. / 12, -691. / 32760, 1. / 132, -1. / 240, 1. / 252, -1. / 120, 1. / 12}, square));
  Handle y = r.op(Op::subtract, r.op(Op::log, z), r.op(Op::multiply, inverse, 0.5));
  y = r.op(Op::subtract, y, series);
  y = r.where(shifted, r.op(Op::subtract, y, below), y);
  // psi(1 - x) - pi / tan(pi x); the distance to the nearest integer decides the tangent.
  const Handle distance = r.op(Op::subtract, h, r.op(Op::round, h));
  const Handle tangent = r.op(Op::tan, r.op(Op::multiply, distance, std::numbers::pi));
  const Handle reflected =
      r.op(Op::subtract, y, r.op(Op::divide, r.number(std::numbers::pi, float64), tangent));
  const Handle pole = r.both(r.op(Op::equal, distance, 0), r.op(Op::less, h, 0));
  y = r.where(pole, kNaN, r.where(low, reflected, y));
  y = r.where(r.op(Op::equal, h, 0), r.op(Op::copysign, r.number(kInfinity, float64), r.op(Op::negative, h)),
              y);
  return r.where(r.op(Op::equal, h, kInfinity), h, y);
}

Tensor slope_of_digamma(Arg x) { return polygamma(1, std::move(x)); }

}  // namespace

Tensor zeta(Arg s, Arg q) { return of_floats("zeta", s, q, zeta_of, float64); }

Tensor polygamma(IntegerArg n, Arg x) {
  if (n < 0) fail<Error>("polygamma", "n is negative: " + std::to_string(n.value), x.site());
  if (n > 170) fail<Error>("polygamma", "n! overflows: n is " + std::to_string(n.value), x.site());
  if (n == 1) return of_float("polygamma", x, trigamma, float64);
  return of_float(
      "polygamma", x,
      [&](const Recorder& r, const Handle& h) {
        if (n == 0) return digamma(r.arg(h)).handle();
        const auto order = static_cast<double>(n.value);
        const double factor = in_default_mode([&] { return std::tgamma(order + 1) * (n % 2 ? 1 : -1); });
        return r.op(Op::multiply, zeta_of(r, r.number(order + 1, float64), h), factor);
      },
      float64);
}

Tensor mvlgamma(Arg x, IntegerArg p) {
  if (p < 1) fail<Error>("mvlgamma", "p is not positive: " + std::to_string(p.value), x.site());
  return of_float(
      "mvlgamma", x,
      [&](const Recorder& r, const Handle& h) {
        Handle sum;
        for (int64_t j = 0; j < p; ++j) {
          const Handle term = lgamma(r.arg(r.op(Op::subtract, h, static_cast<double>(j) / 2))).handle();
          sum = sum ? r.op(Op::add, sum, term) : term;
        }
        const auto n = static_cast<double>(p.value);
        const double more = in_default_mode([&] { return n * (n - 1) / 4 * std::log(std::numbers::pi); });
        return r.op(Op::add, sum, more);
      },
      float64);
}

Tensor lgamma(Arg x) {
  return of_float(
      "lgamma", x, [](const Recorder& r, const Handle& h) { return with_slope(r, h, log_gamma, digamma); },
      float64);
}

Tensor digamma(Arg x) {
  return of_float(
      "digamma", x,
      [](const Recorder& r, const Handle& h) { return with_slope(r, h, psi_of, slope_of_digamma); }, float64);
}

}  // namespace lazy
