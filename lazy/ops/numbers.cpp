#include "lazy/ops/numbers.hpp"

#include <cmath>
#include <utility>

#include "jit/built_in/gcd.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/core/special_values.hpp"
#include "lazy/ops/recorder.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds two operands of one dtype.
struct Pair {
  Recorder r;
  DType dtype;
  Handle a, b;
};

Pair pair_of(const char* name, Arg& a, Arg& b, bool floats) {
  const DType common = common_type(name, {&a, &b}), t = floats ? float_type(common) : common;
  Pair p{{name, a.site()}, t, {}, {}};
  p.a = Operand(name, a, t).take();
  p.b = Operand(name, b, t).take();
  return p;
}

void check_numbers(const Pair& p) {
  if (is_bool(p.dtype)) p.r.fail<DtypeError>("takes numbers, not two of bool: convert with astype");
}

/// Returns a / b rounded towards 0; an integer divided by 0 is 0.
Handle truncated_quotient(const Pair& p) {
  if (is_float(p.dtype)) {
    const DType work = wide_float(p.dtype);
    return p.r.as(p.dtype, p.r.op(Op::trunc, p.r.op(Op::divide, p.r.as(work, p.a), p.r.as(work, p.b))));
  }
  const Handle down = p.r.op(Op::floor_divide, p.a, p.b);
  if (!is_signed_int(p.dtype)) return down;
  const Handle apart = p.r.op(Op::less, p.r.op(Op::bitwise_xor, p.a, p.b), 0);
  const Handle rest = p.r.op(Op::not_equal, p.r.op(Op::remainder, p.a, p.b), 0);
  return p.r.op(Op::add, down, p.r.as(p.dtype, p.r.both(apart, rest)));
}

Pair integers(const char* name, Arg& a, Arg& b) {
  Pair p = pair_of(name, a, b, false);
  if (!is_int(p.dtype)) p.r.fail<DtypeError>(std::string("takes integers, not ") + name_of(p.dtype));
  return p;
}

Handle divisor(const Pair& p) {
  const Shape shape = broadcast_shapes(p.r.name, p.a->shape, p.b->shape, p.r.site);
  const Handle a = p.r.broadcast(p.a, shape), b = p.r.broadcast(p.b, shape);
  check_devices(p.r.name, {&a, &b}, p.r.site);
  const Handle* const operands[] = {&a, &b};
  return detail::record_call(jit::intern_call(jit::calls::kGcd, std::string_view()), operands, p.r.site)[0];
}

/// Returns the numbers that a function of one operand computes with.
struct Single {
  Recorder r;
  DType dtype;
  Handle x;  // in the dtype that is computed in

  Single(const char* name, Arg& a) : r{name, a.site()} {
    const Handle h = Operand(name, a).take();
    dtype = float_type(h->dtype);
    x = r.as(wide_float(dtype), r.as(dtype, h));
  }
};

Handle fraction(const Recorder& r, const Handle& x) {
  Composite whole(r.name, {&x}, r.site);
  const Handle rest = r.where(r.op(Op::isinf, x), 0, r.op(Op::subtract, x, r.op(Op::trunc, x)));
  // The slope is 1, at integers as well.
  return whole.result(r.op(Op::copysign, rest, x),
                      [](const Differentiated& d) { return std::vector<Handle>{d.gradient}; });
}

/// Multiplies by 2^shift where the condition holds, which is exact there, and counts that in the exponent.
void rescale(const Recorder& r, Handle& x, Handle& exponent, const Handle& condition, int shift) {
  x = r.where(condition, r.op(Op::multiply, x, std::ldexp(1.0, shift)), x);
  exponent = r.where(condition, r.op(Op::subtract, exponent, shift), exponent);
}

/// Returns x with the neighbour `up` or below: by a distance that rounding turns into the spacing.
Handle neighbour(const Recorder& r, DType dtype, const Handle& x, const Handle& up) {
  const FInfo limits = finfo(dtype, r.site);
  const double u = limits.eps / 2, least = limits.smallest_normal * limits.eps;
  const Handle size = r.op(Op::abs, x);
  const Handle low = r.op(Op::less, size, 0.5 / u / u * least);
  const Handle scaled = r.where(low, r.op(Op::multiply, x, 1 / u), x);
  const Handle gap = r.op(Op::multiply, r.op(Op::abs, scaled), u * (1 + 2 * u));
  const auto moved = [&](const Handle& from, const Handle& by) {
    return r.op(Op::add, from, r.where(up, by, r.op(Op::negative, by)));
  };
  Handle y = moved(scaled, gap);
  y = r.where(low, r.op(Op::multiply, y, u), y);
  const Handle tiny = r.op(Op::less, size, least / u);
  y = r.where(tiny, moved(x, r.number(least, x->dtype)), y);
  y = r.where(r.op(Op::equal, y, 0), r.op(Op::copysign, r.number(0, x->dtype), x), y);
  return r.where(r.op(Op::isinf, x), r.op(Op::copysign, r.number(limits.max, x->dtype), x), y);
}

Tensor infinite(const char* name, double which, Arg& x) {
  const Recorder r{name, x.site()};
  const Operand h(name, x);
  if (!is_float(h->dtype)) return r.tensor(r.filled(false, bool_, h->shape, h));
  return r.tensor(r.op(Op::equal, h, which));
}

}  // namespace

Tensor div(Arg a, Arg b, const std::string& rounding_mode) {
  if (rounding_mode != "" && rounding_mode != "floor" && rounding_mode != "trunc")
    fail<Error>("div", "rounding_mode is \"floor\" or \"trunc\", not \"" + rounding_mode + "\"", a.site());
  const Pair p = pair_of("div", a, b, rounding_mode.empty());
  if (rounding_mode.empty()) return p.r.tensor(p.r.op(Op::divide, p.a, p.b));
  check_numbers(p);
  return p.r.tensor(rounding_mode == "floor" ? p.r.op(Op::floor_divide, p.a, p.b) : truncated_quotient(p));
}

DivMod divmod(Arg a, Arg b) {
  const Pair p = pair_of("divmod", a, b, false);
  check_numbers(p);
  return {p.r.tensor(p.r.op(Op::floor_divide, p.a, p.b)), p.r.tensor(p.r.op(Op::remainder, p.a, p.b))};
}

Tensor rsub(Arg a, Arg b, ScalarNumber alpha) {
  const Pair p = pair_of("rsub", a, b, false);
  check_numbers(p);
  if (alpha.kind == ScalarNumber::Kind::real && !is_float(p.dtype) && !is_complex(p.dtype))
    p.r.fail<DtypeError>(std::string("integers take no alpha of a fraction: ") + name_of(p.dtype));
  check_fits(p.r.name, Arg(alpha, p.r.site), p.dtype);
  const DType work = is_half(p.dtype) ? float32 : p.dtype;
  const Handle share = p.r.op(Op::multiply, p.r.as(work, p.a), alpha);
  return p.r.tensor(p.r.as(p.dtype, p.r.op(Op::subtract, p.r.as(work, p.b), share)));
}

Tensor gcd(Arg a, Arg b) {
  const Pair p = integers("gcd", a, b);
  return p.r.tensor(divisor(p));
}

Tensor lcm(Arg a, Arg b) {
  const Pair p = integers("lcm", a, b);
  const Handle parts = p.r.op(Op::floor_divide, p.a, divisor(p));  // 0 where both are 0
  // Of what wraps the sign stays, as in NumPy.
  return p.r.tensor(p.r.op(Op::multiply, p.r.op(Op::abs, parts), p.r.op(Op::abs, p.b)));
}

Tensor float_power(Arg a, Arg b) {
  common_type("float_power", {&a, &b});
  const Recorder r{"float_power", a.site()};
  const Operand x(r.name, a, float64), y(r.name, b, float64);
  return r.tensor(r.op(Op::power, x, y));
}

Tensor round(Arg x, IntegerArg decimals) {
  const Operand given("round", std::as_const(x));
  if (!is_float(given->dtype) && !is_complex(given->dtype)) {
    if (decimals < 0)
      fail<DtypeError>("round", std::string("rounds to tens only floats, not ") + name_of(given->dtype),
                       x.site());
    return Tensor(given);
  }
  const Single s("round", x);
  const Recorder& r = s.r;
  const int most = s.x->dtype == float64 ? 300 : 38;  // 10^decimals is finite
  if (decimals < -most || decimals > most)
    r.fail<Error>("decimals are up to " + std::to_string(most) + ", not " + std::to_string(decimals.value));
  const double scale =
      in_default_mode([&] { return std::pow(10.0, std::abs(static_cast<double>(decimals))); });
  const Op up = decimals < 0 ? Op::divide : Op::multiply, down = decimals < 0 ? Op::multiply : Op::divide;
  const Handle whole = r.op(Op::round, r.op(up, s.x, scale));
  return r.tensor(r.as(s.dtype, r.op(down, whole, scale)));
}

Tensor frac(Arg x) {
  const Single s("frac", x);
  return s.r.tensor(s.r.as(s.dtype, fraction(s.r, s.x)));
}

Modf modf(Arg x) {
  const Single s("modf", x);
  return {s.r.tensor(s.r.as(s.dtype, fraction(s.r, s.x))),
          s.r.tensor(s.r.as(s.dtype, s.r.op(Op::trunc, s.x)))};
}

Frexp frexp(Arg x) {
  const Single s("frexp", x);
  const Recorder& r = s.r;
  const Handle left = r.either(r.op(Op::equal, s.x, 0), r.opposite(r.op(Op::isfinite, s.x)));
  Handle m = r.where(left, 0.5, r.op(Op::abs, s.x)), e = r.filled(0, int32, s.x->shape, s.x);
  const int most = s.x->dtype == float64 ? 512 : 64;
  // Twice from the top: subnormal numbers lie below 2^-most^2.
  rescale(r, m, e, r.op(Op::less, m, std::ldexp(1.0, -most)), most);
  for (int k = most; k > 0; k /= 2) rescale(r, m, e, r.op(Op::less, m, std::ldexp(1.0, -k)), k);
  for (int k = most; k > 0; k /= 2) rescale(r, m, e, r.op(Op::greater_equal, m, std::ldexp(1.0, k)), -k);
  rescale(r, m, e, r.op(Op::greater_equal, m, 1), -1);
  m = r.where(left, s.x, r.op(Op::copysign, m, s.x));
  return {r.tensor(r.as(s.dtype, m)), r.tensor(e)};
}

Tensor ldexp(Arg x, Arg n) {
  const Single s("ldexp", x);
  const Recorder& r = s.r;
  const Handle given = Operand(r.name, n).take();
  if (!is_int(given->dtype))
    r.fail<DtypeError>(std::string("the exponent is of integers, not ") + name_of(given->dtype));
  const bool wide = s.x->dtype == float64;
  const int least = wide ? -1022 : -126, most = wide ? 1023 : 127;  // powers that are normal numbers
  const auto limited = [&](const Handle& h, int low, int high) {
    return r.op(Op::minimum, r.op(Op::maximum, h, low), high);
  };
  // Three factors; the one left over comes first: a product that is subnormal before the last one is 0 at the
  // end, so there is one rounding.
  const DType exponents = given->dtype == uint64 ? uint64 : int64;
  Handle rest = r.as(exponents, given);
  if (exponents == uint64) rest = r.as(int64, r.op(Op::minimum, rest, 3 * most));
  rest = limited(rest, 3 * least, 3 * most);
  Handle factors[3];
  for (Handle& f : factors) {
    f = limited(rest, least, most);
    rest = r.op(Op::subtract, rest, f);
  }
  Handle y = s.x;
  for (int i = 2; i >= 0; --i) {
    const Handle power = r.op(Op::power, r.number(2, s.x->dtype), r.as(s.x->dtype, factors[i]));
    y = r.op(Op::multiply, y, power);
  }
  return r.tensor(r.as(s.dtype, y));
}

Tensor nextafter(Arg a, Arg b) {
  const Pair p = pair_of("nextafter", a, b, true);
  const Recorder& r = p.r;
  const DType work = wide_float(p.dtype);
  const Handle x = r.as(work, p.a), y = r.as(work, p.b);
  const Handle next = neighbour(r, p.dtype, x, r.op(Op::greater, y, x));
  const Handle moved = r.where(r.op(Op::equal, x, y), y, next);
  const Handle bad = r.either(r.op(Op::isnan, x), r.op(Op::isnan, y));
  return r.tensor(r.as(p.dtype, r.where(bad, r.op(Op::add, x, y), moved)));
}

Tensor spacing(Arg x) {
  const Single s("spacing", x);
  const Recorder& r = s.r;
  const Handle away = neighbour(r, s.dtype, s.x, r.op(Op::greater_equal, s.x, 0));
  const Handle gap = r.op(Op::subtract, r.as(s.x->dtype, r.as(s.dtype, away)), s.x);
  return r.tensor(r.as(s.dtype, r.where(r.op(Op::isfinite, s.x), gap, std::nan(""))));
}

Tensor isposinf(Arg x) { return infinite("isposinf", kInfinity, x); }
Tensor isneginf(Arg x) { return infinite("isneginf", -kInfinity, x); }

}  // namespace lazy
