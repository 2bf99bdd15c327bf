// Implements the inverse of the error function, and what follows from erf for the normal distribution.
#include <cmath>
#include <numbers>

#include "lazy/core/special_values.hpp"
#include "lazy/ops/float_function.hpp"
#include "lazy/ops/special.hpp"

namespace lazy {
namespace {
using namespace detail;

Handle giles(const Recorder& r, const Handle& x) {
  const Handle w =
      r.op(Op::negative, r.op(Op::log, r.op(Op::multiply, r.op(Op::subtract, 1, x), r.op(Op::add, x, 1))));
  const Handle middle = polynomial(r,
                                   {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                                    0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941},
                                   r.op(Op::subtract, w, 2.5));
  const Handle tail = polynomial(r,
                                 {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                                  0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682},
                                 r.op(Op::subtract, r.op(Op::sqrt, w), 3));
  return r.op(Op::multiply, r.where(r.op(Op::less, w, 5), middle, tail), x);
}

/// Returns the inverse of erf of x in [0, 1) in float64. 1 - x is exact where erfc is compared with it.
Handle halley(const Recorder& r, const Handle& x) {
  // Winitzki: y^2 = sqrt((2 / (pi a) + l / 2)^2 - l / a) - (2 / (pi a) + l / 2), l = log(1 - x^2).
  constexpr double a = 0.147;
  const Handle rest = r.op(Op::subtract, 1, x);
  const Handle l = r.op(Op::log, r.op(Op::multiply, rest, r.op(Op::add, x, 1)));
  const Handle half = r.op(Op::add, r.op(Op::multiply, l, 0.5), 2 / (std::numbers::pi * a));
  const Handle square = r.op(Op::subtract, r.op(Op::multiply, half, half), r.op(Op::multiply, l, 1 / a));
  Handle y = r.op(Op::sqrt, r.op(Op::maximum, r.op(Op::subtract, r.op(Op::sqrt, square), half), 0));
  const Handle low = r.op(Op::less, x, 0.5);
  // Below 0.1 that formula cancels; the first terms of the series are as good.
  y = r.where(r.op(Op::less, x, 0.1), r.op(Op::multiply, x, 0.5 * std::sqrt(std::numbers::pi)), y);
  for (int i = 0; i < 2; ++i) {
    const Handle off =
        r.where(low, r.op(Op::subtract, r.op(Op::erf, y), x), r.op(Op::subtract, rest, r.op(Op::erfc, y)));
    const Handle slope = r.op(Op::multiply, r.op(Op::exp, r.op(Op::negative, r.op(Op::multiply, y, y))),
                              2 / std::sqrt(std::numbers::pi));
    const Handle u = r.op(Op::divide, off, slope);
    y = r.op(Op::subtract, y, r.op(Op::divide, u, r.fma(y, u, r.number(1, float64))));
  }
  return y;
}

/// Returns e^(x^2) in float64, whose exponent is exact before it is rounded.
Handle exp_of_square(const Recorder& r, const Handle& x) {
  const Handle square = r.op(Op::multiply, x, x);
  const Handle rest = r.fma(x, x, r.op(Op::negative, square));
  const Handle whole = r.op(Op::exp, square);
  const Handle more = r.where(r.op(Op::isfinite, whole), r.op(Op::multiply, whole, rest), 0);
  return r.op(Op::add, whole, more);
}

/// Returns e^(x^2) erfc(x) in float64.
Handle scaled_erfc(const Recorder& r, const Handle& x) {
  // From 8 on 1 / (x sqrt(pi)) times the sum of products of -(2k - 1) / (2 x^2).
  // Where it is not taken, it is that of 8, so that its derivative is finite.
  const Handle high = r.op(Op::greater, x, 8);
  const Handle inverse = r.op(Op::divide, 1, r.where(high, x, 8)),
               square = r.op(Op::multiply, inverse, inverse);
  const Handle one = r.number(1, float64);
  Handle series = one;
  for (int k = 24; k >= 1; --k) series = r.fma(r.op(Op::multiply, square, 0.5 - k), series, one);
  const Handle far = r.op(Op::multiply, r.op(Op::multiply, inverse, 1 / std::sqrt(std::numbers::pi)), series);
  const Handle bounded = r.where(high, 8, x);
  const Handle near = r.op(Op::multiply, exp_of_square(r, bounded), r.op(Op::erfc, bounded));
  return r.where(high, far, near);
}

/// Returns the distribution function: below -1 erfcx(-x / sqrt 2) e^(-x^2 / 2) / 2, whose exponent is exact
/// before it is rounded.
Handle distribution(const Recorder& r, const Handle& x) {
  const Handle low = r.op(Op::less, x, -1);
  const Handle below = r.op(Op::maximum, r.where(low, x, -1), -40);
  const Handle square = r.op(Op::multiply, below, below);
  const Handle rest = r.fma(below, below, r.op(Op::negative, square));
  const Handle density = r.op(Op::exp, r.op(Op::multiply, square, -0.5));
  const Handle corrected = r.op(Op::multiply, density, r.op(Op::subtract, 1, r.op(Op::multiply, rest, 0.5)));
  const Handle scaled = scaled_erfc(r, r.op(Op::multiply, below, -std::numbers::sqrt2 / 2));
  const Handle tail = r.op(Op::multiply, r.op(Op::multiply, scaled, corrected), 0.5);
  const Handle middle =
      r.op(Op::multiply, r.op(Op::erfc, r.op(Op::multiply, x, -std::numbers::sqrt2 / 2)), 0.5);
  return r.where(low, tail, middle);
}

/// Returns log of the distribution function: of -x^2 / 2 + log(erfcx(-x / sqrt 2) / 2) below -1.
Handle log_distribution(const Recorder& r, const Handle& x) {
  const Handle low = r.op(Op::less, x, -1);
  const Handle below = r.where(low, x, -1);
  const Handle scaled = scaled_erfc(r, r.op(Op::multiply, below, -std::numbers::sqrt2 / 2));
  const Handle tail = r.op(Op::subtract, r.op(Op::log, r.op(Op::multiply, scaled, 0.5)),
                           r.op(Op::multiply, r.op(Op::multiply, below, below), 0.5));
  const Handle above = r.where(low, 0, x);
  const Handle upper = r.op(Op::erfc, r.op(Op::multiply, above, std::numbers::sqrt2 / 2));
  return r.where(low, tail, r.op(Op::log1p, r.op(Op::multiply, upper, -0.5)));
}

/// Returns the quotient of two polynomials.
template <size_t n, size_t m>
Handle rational(const Recorder& r, const double (&above)[n], const double (&below)[m], const Handle& x) {
  return r.op(Op::divide, polynomial(r, above, x), polynomial(r, below, x));
}

/// Returns the quantile of p in (0, 1): Wichura, Algorithm AS 241 (Applied Statistics 37, 1988).
Handle quantile_of(const Recorder& r, const Handle& p) {
  const Handle q = r.op(Op::subtract, p, 0.5), half = r.number(0.180625, float64);
  const Handle middle =
      r.op(Op::multiply, q,
           rational(r,
                    {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                     4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                     1.3314166789178437745e+2, 3.3871328727963666080e+0},
                    {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
                     2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
                     4.2313330701600911252e+1, 1.0},
                    r.op(Op::subtract, half, r.op(Op::multiply, q, q))));
  const Handle smaller = r.op(Op::minimum, p, r.op(Op::subtract, 1, p));
  const Handle root = r.op(Op::sqrt, r.op(Op::negative, r.op(Op::log, smaller)));
  const Handle near =
      rational(r,
               {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                4.63033784615654529590e+0, 1.42343711074968357734e+0},
               {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
                2.05319162663775882187e+0, 1.0},
               r.op(Op::subtract, root, 1.6));
  const Handle far =
      rational(r,
               {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
                5.46378491116411436990e+0, 6.65790464350110377720e+0},
               {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                5.99832206555887937690e-1, 1.0},
               r.op(Op::subtract, root, 5));
  const Handle tail = r.op(Op::copysign, r.where(r.op(Op::less_equal, root, 5), near, far), q);
  return r.where(r.op(Op::less_equal, r.op(Op::abs, q), 0.425), middle, tail);
}

}  // namespace

Tensor erfcx(Arg x) { return of_float("erfcx", x, scaled_erfc, float64); }

Tensor ndtr(Arg x) { return of_float("ndtr", x, distribution, float64); }

Tensor log_ndtr(Arg x) { return of_float("log_ndtr", x, log_distribution, float64); }

Tensor ndtri(Arg x) {
  return of_float(
      "ndtri", x,
      [](const Recorder& r, const Handle& h) {
        const Handle inside = r.both(r.op(Op::greater, h, 0), r.op(Op::less, h, 1));
        const Handle y = quantile_of(r, r.where(inside, h, 0.5));
        const Handle ends = r.where(r.op(Op::equal, h, 0), -kInfinity,
                                    r.where(r.op(Op::equal, h, 1), r.number(kInfinity, float64), kNaN));
        Composite whole(r.name, {&h}, r.site);
        return whole.result(r.where(inside, y, ends), [](const Differentiated& d) -> std::vector<Handle> {
          // 1 / density of the result
          const Recorder r{"ndtri", d.site};
          const Handle square = r.op(Op::multiply, d.result, d.result);
          const Handle slope = r.op(Op::multiply, r.op(Op::exp, r.op(Op::multiply, square, 0.5)),
                                    std::numbers::sqrt2 / std::numbers::inv_sqrtpi);
          return {r.op(Op::multiply, slope, d.gradient)};
        });
      },
      float64);
}

Tensor entr(Arg x) {
  return of_float("entr", x, [](const Recorder& r, const Handle& h) {
    const Handle y = r.op(Op::negative, r.op(Op::multiply, h, r.op(Op::log, h)));
    const Handle ends = r.where(r.op(Op::equal, h, 0), 0, y);
    Composite whole(r.name, {&h}, r.site);
    return whole.result(r.where(r.op(Op::less, h, 0), -kInfinity, ends),
                        [](const Differentiated& d) -> std::vector<Handle> {  // -log(x) - 1
                          const Recorder r{"entr", d.site};
                          const Handle slope = r.op(Op::subtract, -1, r.op(Op::log, d.operands[0]));
                          return {r.op(Op::multiply, slope, d.gradient)};
                        });
  });
}

Tensor erfinv(Arg x) {
  return of_float("erfinv", x, [](const Recorder& r, const Handle& h) {
    Composite whole(r.name, {&h}, r.site);
    const Handle a = r.op(Op::abs, h);
    const Handle y = h->dtype == float64 ? r.op(Op::copysign, halley(r, a), h) : giles(r, h);
    const Handle ends =
        r.where(r.op(Op::equal, a, 1), r.op(Op::copysign, r.number(kInfinity, h->dtype), h), y);
    const Handle inside = r.where(r.op(Op::equal, h, 0), h, ends);
    const Handle value = r.where(r.op(Op::greater, a, 1), kNaN, inside);
    return whole.result(value, [](const Differentiated& d) -> std::vector<Handle> {
      const Recorder r{"erfinv", d.site};
      const Handle slope = r.op(Op::exp, r.op(Op::multiply, d.result, d.result));
      return {r.op(Op::multiply, r.op(Op::multiply, slope, 0.5 / std::numbers::inv_sqrtpi), d.gradient)};
    });
  });
}

}  // namespace lazy
