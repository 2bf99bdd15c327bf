#include "lazy/ops/special.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "lazy/ops/float_function.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns x log(y), or x log1p(y); 0 where x is 0 and y a number. Slopes are told, for 0 has the one that
/// numbers beside it have.
Handle x_log_y(const Recorder& r, Op log, const Handle& x, const Handle& y) {
  Composite whole(r.name, {&x, &y}, r.site);
  const Handle nothing = r.both(r.op(Op::equal, x, 0), r.opposite(r.op(Op::isnan, y)));
  const Handle value = r.where(nothing, 0, r.op(Op::multiply, x, r.op(log, y)));
  return whole.result(value, [name = r.name, log](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r{name, d.site};
    const Handle &x = d.operands[0], &y = d.operands[1];
    const Handle argument = log == Op::log ? y : r.op(Op::add, y, 1);
    const Handle pole = r.both(r.op(Op::equal, x, 0), r.op(Op::less_equal, argument, 0));
    return {r.where(pole, 0, x_log_y(r, log, d.gradient, y)),  // 0, too, where the gradient is
            r.op(Op::divide, r.op(Op::multiply, x, d.gradient), argument)};
  });
}

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
    Composite whole(r.name, {&h}, r.site);
    return whole.result(
        r.where(kept, h, r.op(Op::copysign, root, h)), [](const Differentiated& d) -> std::vector<Handle> {
          const Recorder r{"cbrt", d.site};
          const Handle y = d.result;
          return {r.op(Op::divide, d.gradient, r.op(Op::multiply, r.op(Op::multiply, y, y), 3))};
        });
  });
}

namespace {

/// Returns the derivative of sin(y) / y: (cos(y) - sin(y) / y) / y, near 0 the sum of (-1)^k 2k / (2k + 1)!
/// y^(2k - 1), since the difference loses digits there.
Handle slope_of_quotient(const Recorder& r, const Handle& y) {
  const Handle near = r.op(Op::less, r.op(Op::abs, y), 0.5), far = r.where(near, 1, y);
  const Handle small = r.where(near, y, 0), square = r.op(Op::multiply, small, small);
  Handle series = r.number(12. / 6227020800, y->dtype);
  for (const double c : {-10. / 39916800, 8. / 362880, -6. / 5040, 4. / 120, -2. / 6})
    series = r.op(Op::add, r.op(Op::multiply, series, square), c);
  const Handle quotient = r.op(Op::divide, r.op(Op::sin, far), far);
  return r.where(near, r.op(Op::multiply, series, small),
                 r.op(Op::divide, r.op(Op::subtract, r.op(Op::cos, far), quotient), far));
}

}  // namespace

Tensor sinc(Arg x) {
  return of_float("sinc", x, [](const Recorder& r, const Handle& h) {
    Composite whole(r.name, {&h}, r.site);
    const Handle y = r.op(Op::multiply, h, std::numbers::pi);
    const Handle value = r.where(r.op(Op::equal, h, 0), 1, r.op(Op::divide, r.op(Op::sin, y), y));
    return whole.result(value, [](const Differentiated& d) -> std::vector<Handle> {
      const Recorder r{"sinc", d.site};
      const Handle slope = slope_of_quotient(r, r.op(Op::multiply, d.operands[0], std::numbers::pi));
      return {r.op(Op::multiply, r.op(Op::multiply, slope, std::numbers::pi), d.gradient)};
    });
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
    Composite whole(r.name, {&x, &y}, r.site);
    const Handle high = r.op(Op::maximum, x, y), low = r.op(Op::minimum, x, y);
    const Handle gap = r.where(r.op(Op::equal, x, y), 0, r.op(Op::subtract, low, high));
    const Handle more = r.op(Op::log1p, r.op(Op::exp, r.op(Op::multiply, gap, std::numbers::ln2)));
    const Handle sum = r.op(Op::add, high, r.op(Op::multiply, more, 1 / std::numbers::ln2));
    return whole.result(sum, [](const Differentiated& d) -> std::vector<Handle> {
      const Recorder r{"logaddexp2", d.site};
      const Handle &x = d.operands[0], &y = d.operands[1];
      const Handle apart = difference(r, x, y);
      const Handle scaled = r.op(Op::multiply, apart, std::numbers::ln2);
      return {r.op(Op::multiply, r.op(Op::sigmoid, scaled), d.gradient),
              r.op(Op::multiply, r.op(Op::sigmoid, r.op(Op::negative, scaled)), d.gradient)};
    });
  });
}

// Near 0.5 the quotient is near 1, where its logarithm loses digits; 2x - 1 is exact there.
Tensor logit(Arg x) {
  return of_float("logit", x, [](const Recorder& r, const Handle& h) {
    const Handle d = r.op(Op::subtract, h, 0.5);
    const Handle middle = r.op(Op::multiply, r.op(Op::atanh, r.op(Op::add, d, d)), 2);
    const Handle tail = r.op(Op::log, r.op(Op::divide, h, r.op(Op::subtract, 1, h)));
    Composite whole(r.name, {&h}, r.site);
    const Handle value = r.where(r.op(Op::less, r.op(Op::abs, d), 0.25), middle, tail);
    return whole.result(value, [](const Differentiated& d) -> std::vector<Handle> {  // 1 / (x (1 - x))
      const Recorder r{"logit", d.site};
      const Handle& x = d.operands[0];
      return {r.op(Op::divide, d.gradient, r.op(Op::multiply, x, r.op(Op::subtract, 1, x)))};
    });
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

Tensor fmod(Arg a, Arg b) {
  const Recorder r{"fmod", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not two of bool: convert with astype");
  const Operand x(r.name, a, t), y(r.name, b, t);
  if (is_float(t)) {
    const Handle &first = x, &second = y;
    Composite whole(r.name, {&first, &second}, r.site);
    const Handle rest = r.op(Op::copysign, r.op(Op::remainder, r.op(Op::abs, x), r.op(Op::abs, y)), x);
    return r.tensor(
        whole.result(rest, [](const Differentiated& d) -> std::vector<Handle> {  // x - trunc(x / y) y
          const Recorder r{"fmod", d.site};
          std::vector<Handle> all(2);
          if (d.wants(0)) all[0] = d.gradient;
          if (d.wants(1)) {
            const Handle times = r.op(Op::trunc, r.op(Op::divide, d.operands[0], d.operands[1]));
            all[1] = r.op(Op::negative, r.op(Op::multiply, times, d.gradient));
          }
          return all;
        }));
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

Tensor addcmul(Arg x, Arg a, Arg b, ScalarNumber value) {
  const Recorder r{"addcmul", x.site()};
  const DType t = common_type(r.name, {&x, &a, &b});
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  if (value.kind == ScalarNumber::Kind::real && !is_float(t) && !is_complex(t))
    r.fail<DtypeError>(std::string("integers take no value of a fraction: ") + name_of(t));
  check_fits(r.name, Arg(value, r.site), t);
  const DType work = is_half(t) ? float32 : t;
  const Operand h(r.name, x, t), y(r.name, a, t), z(r.name, b, t);
  const Handle product = r.op(Op::multiply, r.op(Op::multiply, r.as(work, y), value), r.as(work, z));
  return r.tensor(r.as(t, r.op(Op::add, r.as(work, h), product)));
}

Tensor addcdiv(Arg x, Arg a, Arg b, ScalarNumber value) {
  const Recorder r{"addcdiv", x.site()};
  const DType t = float_type(common_type(r.name, {&x, &a, &b})), work = wide_float(t);
  const Operand h(r.name, x, t), y(r.name, a, t), z(r.name, b, t);
  const Handle quotient = r.op(Op::divide, r.op(Op::multiply, r.as(work, y), value), r.as(work, z));
  return r.tensor(r.as(t, r.op(Op::add, r.as(work, h), quotient)));
}

}  // namespace lazy
