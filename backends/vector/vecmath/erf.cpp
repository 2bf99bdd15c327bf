// Implements erf, erfc, gelu. The tails are e^(-t) times a smooth function of 1 / (x + c), with t = x^2 (or
// x^2 / 2) as a sum of two numbers: its rounding error would be multiplied by t.
#include "backends/vector/vecmath/coefficients_trig.hpp"
#include "backends/vector/vecmath/polynomial.hpp"

namespace lazy::vecmath {
namespace {
using namespace coefficients;

// Centres of the polynomials, as values of the variable beside each.
constexpr float kErfCentre32 = 2.4375f;                                     // x
constexpr double kErfcCentre32 = 325. / 1024, kErfcCentre64 = 151. / 1024;  // 1 / (x + c)
constexpr float kGeluCentre32 = 152.f / 1024;
constexpr double kGeluCentre64 = 398. / 1024;  // (x - 1) / (x + c)

/// Holds 2^n (1 + r + tail) = e^(t + t_lo), for -2^20 < t <= 0.
struct Exp {
  Val n, r, tail;
};
Exp exp_negative(Builder& b, Val t, Val t_lo) {
  ExpReduced k = exp_reduce(b, t);
  Val low = b.fnma(k.n, b.num(t, pick(t, explog::kLn2Near32_lo, explog::kLn2Near64_lo)), t_lo);
  Val r = b.add(k.r, low);
  Val r_lo = b.add(b.sub(k.r, r), low);
  Val r2 = b.mul(r, r);
  return {k.n, r, b.fma(r2, exp_tail(b, r, r2), r_lo)};
}
/// Returns (1 + r + tail) (g + g_lo), rounded little more than once.
Val scaled(Builder& b, const Exp& e, Val g, Val g_lo) {
  return b.add(g, b.fma(e.r, g, b.fma(e.tail, g, b.fma(e.r, g_lo, g_lo))));
}

/// Holds a polynomial in q - centre as an unevaluated sum, for 0 < q < 2 centre or so; c[0] outweighs the
/// rest. The rounding of the difference (below centre / 2) is corrected by the slope there.
struct Sum {
  Val hi, lo;
};
Sum centred(Builder& b, Val q, double centre, double slope, std::span<const double> c) {
  Val middle = b.num(q, centre), first = b.num(q, c[0]);
  Val w = b.sub(q, middle);
  Val w_lo = b.sub(q, b.add(w, middle));
  Val rest = q.type == Type::f32 ? horner(b, w, c.subspan(1)) : polynomial(b, w, c.subspan(1));
  Val hi = b.fma(rest, w, first);
  Val lo = b.fma(rest, w, b.sub(first, hi));
  return {hi, slope == 0 ? lo : b.fma(w_lo, b.num(q, slope), lo)};
}

/// Returns erfc of a >= 0.45; below that a number. It is e^-t times r P(r), r = 1 / (a + c). A relative error
/// e of r would be magnified to about (k0 + k1 r) e, so it is computed and subtracted.
Val erfc_tail(Builder& b, Val a) {
  a = b.min(b.num(a, pick(a, 10.2, 27.4)), a);  // the result is 0 from there on; a NaN stays
  Val minus = b.neg(a);
  Val t = b.mul(a, minus);
  Exp e = exp_negative(b, t, b.fms(a, minus, t));
  Val one = b.num(a, 1), c = b.num(a, pick(a, 1.5, 3));
  Val s = b.add(a, c);
  Val s_lo = b.sub(a, b.sub(s, c));
  Val r = b.div_ordinary(one, s);
  Val r_error = b.fnma(r, s_lo, b.fnma(r, s, one));
  Val magnified = b.mul(r_error, b.fma(r, b.num(a, pick(a, 1.55, 7)), b.num(a, pick(a, 0.95, 0.8))));
  auto [p, p_lo] =
      centred(b, r, pick(a, kErfcCentre32, kErfcCentre64), pick(a, 1.25, 2.5), pick(a, kErfcx32, kErfcx64));
  Val g = b.mul(r, p);
  Val g_lo = b.fma(r, p_lo, b.fms(r, p, g));
  return b.scalef_near_one(scaled(b, e, g, b.fma(magnified, g, g_lo)), e.n);
}
}  // namespace

namespace {
/// Returns erf of a >= 0 in float32: a + a P(z), z = a^2, up to 1, a longer polynomial in t beyond. Computed
/// in one chain whose coefficients are selected, or in two: the bits are the same.
Val erf32(Builder& b, Val a, Val z) {
  constexpr std::span<const double> kFar = kErfBig32, kNear = kErf32;
  const Val beyond = b.gt(a, b.f32(1));
  const Val t = b.sub(b.min(b.f32(3.94f), a), b.f32(kErfCentre32));  // at 3.94 the polynomial gives 1
  if (!b.cheap_select) return b.select(beyond, horner(b, t, kFar), b.fma(horner(b, z, kNear), a, a));
  const auto either = [&](Val far, Val near) { return b.select(beyond, far, near); };
  const Val v = either(t, z);
  Val y = either(horner(b, v, kFar.subspan(kNear.size())), b.num(a, kNear.back()));
  for (size_t i = kNear.size() - 1; i-- > 0;)
    y = b.fma(y, v, either(b.num(a, kFar[i + 1]), b.num(a, kNear[i])));
  return b.fma(y, either(v, a), either(b.num(a, kFar[0]), a));
}
}  // namespace

Val erf(Builder& b, Val x) {
  Val a = b.abs(x);
  Val z = b.mul(x, x);
  Val y;
  if (x.type == Type::f32) {
    y = erf32(b, a, z);
  } else {
    Val near = b.fma(a, polynomial(b, z, kErf64), a);
    y = b.select(b.gt(a, b.f64(1)), b.sub(b.f64(1), erfc_tail(b, a)), near);
  }
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

Val erfc(Builder& b, Val x) {
  Val one = b.num(x, 1), zero = b.num(x, 0);
  Val a = b.abs(x);
  Val near = b.fnma(x, polynomial(b, b.mul(x, x), pick(x, kErfSmall32, kErfSmall64)), b.sub(one, x));
  Val tail = erfc_tail(b, a);
  tail = b.select(b.lt(x, zero), b.sub(b.num(x, 2), tail), tail);
  return b.select(b.lt(a, b.num(x, 0.46)), near, tail);
}

namespace {
/// Bounds |x| for gelu, or -|x|: from there on T is 0.
Val gelu_end(Builder& b, Val x, double sign = 1) { return b.num(x, sign * pick(x, 14.7, 38.8)); }

/// Returns T(c), see gelu, in float32, of -c. Near 0 and further out share one chain, whose coefficients are
/// selected: near 0 T is c / 2 + t K(t), t = c^2 / 2, and else e^-t g. That chain and the exponential's are
/// interleaved: they are independent, and a processor doesn't look far enough ahead to find that out.
Val gelu_tail32(Builder& b, Val minus_c) {
  using explog::kExp32;
  constexpr std::span<const double> kFar = kGeluTail32, kNear = kGeluSmall32;
  static_assert(kFar.size() == 9 && kNear.size() == 5 && std::size(kExp32) == 5);
  const Val is_far = b.le(minus_c, b.f32(-0.65f)), zero = b.f32(0);
  const auto number = [&](double v) { return b.num(minus_c, v); };
  // Returns a coefficient of the chain. Near 0 it runs in -t, so that the signs of every other one change.
  const auto either = [&](size_t far, size_t near) {
    return b.select(is_far, number(kFar[far]), number(near % 2 ? kNear[near] : -kNear[near]));
  };

  const Val q = b.div_ordinary(b.add(minus_c, b.f32(1)), b.sub(minus_c, b.f32(49.f / 16)));
  const Val half = b.mul(minus_c, b.f32(-0.5f));
  const Val minus_t = b.mul(minus_c, half), t_lo = b.fms(minus_c, half, minus_t);
  const ExpReduced k = exp_reduce(b, minus_t);
  const Val v = b.select(is_far, b.sub(q, b.f32(kGeluCentre32)), minus_t);
  const Val low = b.fnma(k.n, number(explog::kLn2Near32_lo), t_lo);
  // Near 0 there is no factor: n is 0, and e^-t = 2^n (1 + r + tail) gets an r and a tail of 0.
  const Val r = b.select(is_far, b.add(k.r, low), zero);
  Val g = b.fma(number(kFar[8]), v, number(kFar[7]));
  const Val r_lo = b.select(is_far, b.add(b.sub(k.r, r), low), zero);
  g = b.fma(g, v, number(kFar[6]));
  Val p = b.fma(r, number(kExp32[4]), number(kExp32[3]));
  g = b.fma(g, v, number(kFar[5]));
  p = b.fma(r, p, number(kExp32[2]));
  g = b.select(is_far, g, number(-kNear[4]));
  p = b.fma(r, p, number(kExp32[1]));
  const Val r2 = b.mul(r, r);
  g = b.fma(g, v, either(4, 3));
  p = b.fma(r, p, number(kExp32[0]));
  g = b.fma(g, v, either(3, 2));
  const Val tail = b.fma(r2, p, r_lo);
  g = b.fma(g, v, either(2, 1));
  g = b.fma(g, v, either(1, 0));
  const Val first = b.select(is_far, number(kFar[0]), half);
  const Val hi = b.fma(g, v, first);
  const Val lo = b.fma(g, v, b.sub(first, hi));
  // Rounds once more than `scaled` does: float32 affords it. A processor may take a hundred cycles over a
  // result that underflows, so what becomes 0 is 0 before it is scaled.
  const Val result = b.add(hi, b.fma(r, hi, b.fma(tail, hi, lo)));
  return b.scalef_near_one(b.select(b.gt(minus_c, gelu_end(b, minus_c, -1)), result, zero), k.n);
}

/// Returns the same in float64, whose long polynomials stay separate.
Val gelu_tail64(Builder& b, Val c) {
  Val half = b.mul(c, b.f64(0.5));
  Val t = b.mul(c, half);
  Val near = b.fnma(t, polynomial(b, t, kGeluSmall64), half);
  Exp e = exp_negative(b, b.neg(t), b.fnma(c, half, t));
  Val q = b.div(b.sub(c, b.f64(1)), b.add(c, b.f64(5)));
  auto [g, g_lo] = centred(b, q, kGeluCentre64, 0.9, kGeluTail64);
  return b.select(b.lt(c, b.f64(0.65)), near, b.scalef_near_one(scaled(b, e, g, g_lo), e.n));
}
}  // namespace

// Computes max(x, 0) - T(a), with a = |x| and T(a) = a/2 erfc(a / sqrt 2). Near 0 T is a/2 minus a polynomial
// in a^2. Further out it is e^(-a^2 / 2) g, g a polynomial in a q that is exact where g depends on it most.
Val gelu(Builder& b, Val x) {
  Val tail;
  if (x.type == Type::f32) tail = gelu_tail32(b, b.max(gelu_end(b, x, -1), b.or_(x, b.sign_bit(x))));
  else tail = gelu_tail64(b, b.min(gelu_end(b, x), b.abs(x)));
  // The order of max keeps a NaN and both zeros, and -0 - 0 is -0.
  return b.sub(b.max(b.num(x, -0.0), x), tail);
}

}  // namespace lazy::vecmath
