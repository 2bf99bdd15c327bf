// Implements modified Bessel functions of the first kind.
#include <cmath>
#include <numbers>

#include "lazy/core/special_values.hpp"
#include "lazy/ops/float_function.hpp"
#include "lazy/ops/special.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns e^-|x| I(x) of order 0 or 1, for x >= 0, by its power series up to 20 and the asymptotic one
/// beyond. Without `scaled` returns I(x) itself.
Handle modified(const Recorder& r, const Handle& x, int order, bool scaled) {
  // sum of (x^2 / 4)^k / (k! (k + order)!), from the last term on.
  const Handle q = r.op(Op::multiply, r.op(Op::multiply, x, x), 0.25), one = r.number(1, float64);
  Handle power = one;
  for (int k = 36; k >= 1; --k) power = r.fma(r.op(Op::multiply, q, 1.0 / (k * (k + order))), power, one);
  if (order == 1) power = r.op(Op::multiply, r.op(Op::multiply, x, 0.5), power);
  // e^x / sqrt(2 pi x) times the sum of products of ((2k - 1)^2 - 4 order^2) / (8 k x).
  const Handle inverse = r.op(Op::divide, 1, x);
  Handle series = one;
  for (int k = 30; k >= 1; --k) {
    const double term = ((2. * k - 1) * (2. * k - 1) - 4. * order) / (8. * k);
    series = r.fma(r.op(Op::multiply, inverse, term), series, one);
  }
  const Handle low = r.op(Op::less_equal, x, 20);
  const Handle root = r.op(Op::sqrt, r.op(Op::multiply, x, 2 * std::numbers::pi));
  if (scaled) {
    const Handle near = r.op(Op::multiply, r.op(Op::exp, r.op(Op::negative, x)), power);
    return r.where(low, near, r.where(r.op(Op::isinf, x), 0, r.op(Op::divide, series, root)));
  }
  const Handle half = r.op(Op::exp, r.op(Op::multiply, x, 0.5));  // e^x overflows before the result does
  const Handle far = r.op(Op::multiply, r.op(Op::multiply, r.op(Op::divide, half, root), series), half);
  return r.where(r.op(Op::isinf, x), kInfinity, r.where(low, power, far));
}

/// Applies it to numbers of either sign: order 0 is even, order 1 odd.
Tensor bessel(const char* name, Arg& x, int order, bool scaled, Tensor (*slope)(Arg)) {
  return of_float(
      name, x,
      [&](const Recorder& r, const Handle& h) {
        const auto value = [&](const Recorder& at, const Handle& v) {
          const Handle y = modified(at, at.op(Op::abs, v), order, scaled);
          return order == 0 ? y : at.op(Op::copysign, y, v);
        };
        return with_slope(r, h, value, slope);
      },
      float64);
}

/// Returns i0(x) - i1(x) / x, or those scaled by e^-|x|: 1/2 at 0.
Tensor less_quotient(const char* name, const Arg& x, Tensor (*even)(Arg), Tensor (*odd)(Arg)) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const Handle zero = r.op(Op::equal, h, 0),
               quotient = r.op(Op::divide, odd(r.arg(h)).handle(), r.where(zero, 1, h));
  return r.tensor(r.op(Op::subtract, even(r.arg(h)).handle(), r.where(zero, 0.5, quotient)));
}
Tensor slope_of_i1(Arg x) { return less_quotient("i1", x, i0, i1); }

/// Returns `slope` - sign(x) `value`: what e^-|x| makes of a derivative.
Tensor scaled_slope(const char* name, const Arg& x, const Tensor& slope, const Tensor& value) {
  const Recorder r{name, x.site()};
  const Handle turned = r.op(Op::multiply, r.op(Op::sign, x.handle()), value.handle());
  return r.tensor(r.op(Op::subtract, slope.handle(), turned));
}
Tensor slope_of_i0e(Arg x) { return scaled_slope("i0e", x, i1e(x), i0e(x)); }
Tensor slope_of_i1e(Arg x) { return scaled_slope("i1e", x, less_quotient("i1e", x, i0e, i1e), i1e(x)); }

}  // namespace

Tensor i0(Arg x) { return bessel("i0", x, 0, false, i1); }
Tensor i0e(Arg x) { return bessel("i0e", x, 0, true, slope_of_i0e); }
Tensor i1(Arg x) { return bessel("i1", x, 1, false, slope_of_i1); }
Tensor i1e(Arg x) { return bessel("i1e", x, 1, true, slope_of_i1e); }

}  // namespace lazy
