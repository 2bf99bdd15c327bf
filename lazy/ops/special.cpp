#include "lazy/ops/special.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Applies f to the argument in the dtype it is computed in, at least `least`; the result has the argument's
/// dtype.
template <class F>
Tensor of_float(const char* name, Arg& x, F&& f, DType least = float32) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const DType t = float_type(h->dtype), work = least == float64 ? float64 : wide_float(t);
  return r.tensor(r.as(t, f(r, r.as(work, h))));
}

/// Applies f to both arguments likewise.
template <class F>
Tensor of_floats(const char* name, Arg& a, Arg& b, F&& f) {
  const Recorder r{name, a.site()};
  const DType t = float_type(common_type(name, {&a, &b})), work = wide_float(t);
  const Operand x(name, a, t), y(name, b, t);
  return r.tensor(r.as(t, f(r, r.as(work, x), r.as(work, y))));
}

Handle x_log_y(const Recorder& r, Op log, const Handle& x, const Handle& y) {
  const Handle nothing = r.both(r.op(Op::equal, x, 0), r.opposite(r.op(Op::isnan, y)));
  return r.where(nothing, 0, r.op(Op::multiply, x, r.op(log, y)));
}

/// Returns the polynomial of x whose coefficients are given, the highest first.
template <size_t n>
Handle polynomial(const Recorder& r, const double (&coefficients)[n], const Handle& x) {
  Handle p = r.number(coefficients[0], x->dtype);
  for (size_t i = 1; i < n; ++i) p = r.fma(p, x, r.number(coefficients[i], x->dtype));
  return p;
}

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

Handle floor_of(const Recorder& r, const Handle& x) { return r.op(Op::floor, x); }

}  // namespace

Tensor exp2(Arg x) {
  return of_float("exp2", x, [](const Recorder& r, const Handle& h) { return r.op(Op::power, 2, h); });
}

Tensor cbrt(Arg x) {
  return of_float("cbrt", x, [](const Recorder& r, const Handle& h) {
    const Handle a = r.op(Op::abs, h);
    const Handle y = r.op(Op::power, a, 1.0 / 3);
    // A step of Newton's method: y - (y - a / y^2) / 3.
    const Handle off = r.op(Op::subtract, y, r.op(Op::divide, a, r.op(Op::multiply, y, y)));
    const Handle root = r.op(Op::subtract, y, r.op(Op::divide, off, 3));
    const Handle kept = r.either(r.op(Op::equal, h, 0), r.opposite(r.op(Op::isfinite, h)));
    return r.where(kept, h, r.op(Op::copysign, root, h));
  });
}

Tensor sinc(Arg x) {
  return of_float("sinc", x, [](const Recorder& r, const Handle& h) {
    const Handle y = r.op(Op::multiply, h, std::numbers::pi);
    return r.where(r.op(Op::equal, h, 0), 1, r.op(Op::divide, r.op(Op::sin, y), y));
  });
}

Tensor deg2rad(Arg x) {
  return of_float("deg2rad", x, [](const Recorder& r, const Handle& h) {
    return r.op(Op::multiply, h, std::numbers::pi / 180);
  });
}
Tensor rad2deg(Arg x) {
  return of_float("rad2deg", x, [](const Recorder& r, const Handle& h) {
    return r.op(Op::multiply, h, 180 / std::numbers::pi);
  });
}

Tensor xlogy(Arg x, Arg y) {
  return of_floats("xlogy", x, y, [](const Recorder& r, const Handle& a, const Handle& b) {
    return x_log_y(r, Op::log, a, b);
  });
}
Tensor xlog1py(Arg x, Arg y) {
  return of_floats("xlog1py", x, y, [](const Recorder& r, const Handle& a, const Handle& b) {
    return x_log_y(r, Op::log1p, a, b);
  });
}

Tensor logaddexp2(Arg a, Arg b) {
  return of_floats("logaddexp2", a, b, [](const Recorder& r, const Handle& x, const Handle& y) {
    const Handle high = r.op(Op::maximum, x, y), low = r.op(Op::minimum, x, y);
    const Handle gap = r.where(r.op(Op::equal, x, y), 0, r.op(Op::subtract, low, high));
    const Handle more = r.op(Op::log1p, r.op(Op::exp, r.op(Op::multiply, gap, std::numbers::ln2)));
    return r.op(Op::add, high, r.op(Op::multiply, more, 1 / std::numbers::ln2));
  });
}

// Near 0.5 the quotient is near 1, where its logarithm loses digits; 2x - 1 is exact there.
Tensor logit(Arg x) {
  return of_float("logit", x, [](const Recorder& r, const Handle& h) {
    const Handle d = r.op(Op::subtract, h, 0.5);
    const Handle middle = r.op(Op::multiply, r.op(Op::atanh, r.op(Op::add, d, d)), 2);
    const Handle tail = r.op(Op::log, r.op(Op::divide, h, r.op(Op::subtract, 1, h)));
    return r.where(r.op(Op::less, r.op(Op::abs, d), 0.25), middle, tail);
  });
}

Tensor heaviside(Arg x, Arg h) {
  return of_floats("heaviside", x, h, [](const Recorder& r, const Handle& a, const Handle& b) {
    const Handle step = r.where(r.op(Op::less, a, 0), 0, r.where(r.op(Op::greater, a, 0), 1, b));
    return r.where(r.op(Op::isnan, a), a, step);
  });
}

Tensor lerp(Arg a, Arg b, Arg weight) {
  const Recorder r{"lerp", a.site()};
  const DType t = float_type(common_type(r.name, {&a, &b, &weight})), work = wide_float(t);
  const Operand first(r.name, a, t), last(r.name, b, t), share(r.name, weight, t);
  const Handle x = r.as(work, first), y = r.as(work, last), w = r.as(work, share);
  const Handle d = r.op(Op::subtract, y, x);
  const Handle up = r.op(Op::add, x, r.op(Op::multiply, w, d));
  const Handle down = r.op(Op::subtract, y, r.op(Op::multiply, r.op(Op::subtract, 1, w), d));
  return r.tensor(r.as(t, r.where(r.op(Op::less, w, 0.5), up, down)));
}

Tensor erfinv(Arg x) {
  return of_float("erfinv", x, [](const Recorder& r, const Handle& h) {
    const Handle a = r.op(Op::abs, h);
    const Handle y = h->dtype == float64 ? r.op(Op::copysign, halley(r, a), h) : giles(r, h);
    const Handle ends =
        r.where(r.op(Op::equal, a, 1), r.op(Op::copysign, r.number(kInfinity, h->dtype), h), y);
    const Handle inside = r.where(r.op(Op::equal, h, 0), h, ends);
    return r.where(r.op(Op::greater, a, 1), kNaN, inside);
  });
}

Tensor lgamma(Arg x) {
  return of_float(
      "lgamma", x,
      [](const Recorder& r, const Handle& h) {
        const Handle low = r.op(Op::less, h, 0.5);
        const Handle value = lanczos(r, r.where(low, r.op(Op::subtract, 1, h), h));
        // log(pi / |sin(pi x)|) - log gamma(1 - x); the fraction of x decides the sine.
        const Handle fraction = r.op(Op::subtract, h, floor_of(r, h));
        const Handle near = r.op(Op::minimum, fraction, r.op(Op::subtract, 1, fraction));
        // log |x| where x is so small that 1 - x is 1.
        const Handle tiny = r.op(Op::less, r.op(Op::abs, h), 1e-20);
        const Handle sine = r.op(Op::sin, r.op(Op::multiply, near, std::numbers::pi));
        const Handle reflected = r.op(
            Op::subtract, r.op(Op::log, r.op(Op::divide, r.number(std::numbers::pi, float64), sine)), value);
        const Handle small = r.op(Op::negative, r.op(Op::log, r.op(Op::abs, h)));
        const Handle y = r.where(tiny, small, r.where(low, reflected, value));
        return r.where(r.op(Op::isinf, h), kInfinity, y);
      },
      float64);
}

Tensor digamma(Arg x) {
  return of_float(
      "digamma", x,
      [](const Recorder& r, const Handle& h) {
        const Handle low = r.op(Op::less, h, 0.5);
        Handle z = r.where(low, r.op(Op::subtract, 1, h), h), below = r.number(0, float64);
        const Handle shifted = r.op(Op::less, z, 10);
        for (int i = 0; i < 10; ++i)
          below = r.op(Op::add, below, r.op(Op::divide, 1, r.op(Op::add, z, static_cast<double>(i))));
        z = r.where(shifted, r.op(Op::add, z, 10), z);
        // log z - 1 / (2 z) - sum of B_2k / (2k z^2k).
        const Handle inverse = r.op(Op::divide, 1, z), square = r.op(Op::multiply, inverse, inverse);
        const Handle series =
            r.op(Op::multiply, square,
                 polynomial(r, {1. / 12, -691. / 32760, 1. / 132, -1. / 240, 1. / 252, -1. / 120, 1. / 12},
                            square));
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
        y = r.where(r.op(Op::equal, h, 0),
                    r.op(Op::copysign, r.number(kInfinity, float64), r.op(Op::negative, h)), y);
        return r.where(r.op(Op::equal, h, kInfinity), h, y);
      },
      float64);
}

Tensor i0(Arg x) {
  return of_float(
      "i0", x,
      [](const Recorder& r, const Handle& h) {
        const Handle a = r.op(Op::abs, h);
        // sum of (x^2 / 4)^k / k!^2, from the last term on.
        const Handle q = r.op(Op::multiply, r.op(Op::multiply, a, a), 0.25), one = r.number(1, float64);
        Handle power = one;
        for (int k = 36; k >= 1; --k) power = r.fma(r.op(Op::multiply, q, 1.0 / (k * k)), power, one);
        // e^x / sqrt(2 pi x) times the sum of products of (2k - 1)^2 / (8 k x).
        const Handle inverse = r.op(Op::divide, 1, a);
        Handle series = one;
        for (int k = 30; k >= 1; --k)
          series = r.fma(r.op(Op::multiply, inverse, (2. * k - 1) * (2. * k - 1) / (8. * k)), series, one);
        const Handle root =
            r.op(Op::exp, r.op(Op::multiply, a, 0.5));  // e^x overflows before the result does
        const Handle scale =
            r.op(Op::divide, root, r.op(Op::sqrt, r.op(Op::multiply, a, 2 * std::numbers::pi)));
        const Handle far = r.op(Op::multiply, r.op(Op::multiply, scale, series), root);
        const Handle y = r.where(r.op(Op::less_equal, a, 20), power, far);
        return r.where(r.op(Op::isinf, h), kInfinity, y);
      },
      float64);
}

Tensor fmod(Arg a, Arg b) {
  const Recorder r{"fmod", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not two of bool: convert with astype");
  const Operand x(r.name, a, t), y(r.name, b, t);
  if (is_float(t)) {
    const Handle rest = r.op(Op::remainder, r.op(Op::abs, x), r.op(Op::abs, y));
    return r.tensor(r.op(Op::copysign, rest, x));
  }
  const Handle rest = r.op(Op::remainder, x, y);
  if (!is_signed_int(t)) return r.tensor(rest);
  const Handle other = r.both(r.op(Op::not_equal, rest, 0), r.op(Op::less, r.op(Op::bitwise_xor, x, y), 0));
  return r.tensor(r.where(other, r.op(Op::subtract, rest, y), rest));
}

namespace {
Tensor extreme(const char* name, Op op, Op of_bools, Arg& a, Arg& b) {
  const Recorder r{name, a.site()};
  const DType t = common_type(name, {&a, &b});
  const Operand x(name, a, t), y(name, b, t);
  const Handle all = r.op(is_bool(t) ? of_bools : op, x, y);
  if (!is_float(t)) return r.tensor(all);
  return r.tensor(r.where(r.op(Op::isnan, x), y, r.where(r.op(Op::isnan, y), x, all)));
}
}  // namespace

Tensor fmax(Arg a, Arg b) { return extreme("fmax", Op::maximum, Op::bitwise_or, a, b); }
Tensor fmin(Arg a, Arg b) { return extreme("fmin", Op::minimum, Op::bitwise_and, a, b); }

Tensor addcmul(Arg x, Arg a, Arg b, Number value) {
  const Recorder r{"addcmul", x.site()};
  const DType t = common_type(r.name, {&x, &a, &b});
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  if (value.kind == Number::Kind::real && !is_float(t))
    r.fail<DtypeError>(std::string("integers take no value of a fraction: ") + name_of(t));
  check_fits(r.name, Arg(value, r.site), t);
  const DType work = is_half(t) ? float32 : t;
  const Operand h(r.name, x, t), y(r.name, a, t), z(r.name, b, t);
  const Handle product = r.op(Op::multiply, r.op(Op::multiply, r.as(work, y), value), r.as(work, z));
  return r.tensor(r.as(t, r.op(Op::add, r.as(work, h), product)));
}

Tensor addcdiv(Arg x, Arg a, Arg b, Number value) {
  const Recorder r{"addcdiv", x.site()};
  const DType t = float_type(common_type(r.name, {&x, &a, &b})), work = wide_float(t);
  const Operand h(r.name, x, t), y(r.name, a, t), z(r.name, b, t);
  const Handle quotient = r.op(Op::divide, r.op(Op::multiply, r.as(work, y), value), r.as(work, z));
  return r.tensor(r.as(t, r.op(Op::add, r.as(work, h), quotient)));
}

}  // namespace lazy
