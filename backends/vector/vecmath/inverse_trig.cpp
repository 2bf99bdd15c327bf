// Implements asin, acos, atan, atan2: odd polynomials on [0, 1/2] and [0, 1]; larger arguments by sqrt((1 -
// |x|) / 2) and 1 / |x|.
#include <optional>

#include "backends/vector/vecmath/coefficients_trig.hpp"
#include "backends/vector/vecmath/polynomial.hpp"

namespace lazy::vecmath {
namespace {
using namespace coefficients;

constexpr double kAtanCentre64 = 498. / 1024;  // kAtan64 is in z minus this
constexpr double kPi = 0x1.921fb54442d18p1;
/// Returns the rounding error of pi in x's type; a fraction of pi/2 has the same fraction of it.
double pi_lo(Val x) { return pick(x, -0x1.777a5cp-24, 0x1.1a62633145c07p-53); }

/// Returns base + r + r z p, with base a multiple of pi/2 that is 0 or above |r|: the rounding errors of the
/// first sum and the constant are added with the rest, and so is r_lo.
Val add_to(Builder& b, Val base, Val r, Val z, Val p, std::optional<Val> r_lo = std::nullopt) {
  Val sum = b.add(base, r);
  Val lost = b.fma(base, b.num(r, pi_lo(r) / kPi), b.add(b.sub(base, sum), r));
  if (r_lo) lost = b.add(lost, *r_lo);
  return b.add(sum, b.fma(b.mul(r, z), p, lost));
}

/// Returns p with atan(t) = t + t z p, z = t^2.
Val atan_polynomial(Builder& b, Val z) {
  return z.type == Type::f32 ? horner(b, z, kAtan32)
                             : polynomial(b, b.sub(z, b.num(z, kAtanCentre64)), kAtan64);
}

/// Holds what asin and acos share: asin(s) = s + s z p with s = |x|, or sqrt((1 - |x|) / 2) where |x| is
/// large.
struct Asin {
  Val large, s, z, p;
};
Asin asin_core(Builder& b, Val x) {
  Val half = b.num(x, 0.5);
  Val a = b.abs(x);
  Val large = b.gt(a, half);
  Val z = b.select(large, b.fnma(a, half, half), b.mul(x, x));
  Val s = b.select(large, b.sqrt(z), a);
  return {large, s, z, polynomial(b, z, pick(x, kAsin32, kAsin64))};
}
}  // namespace

// Computes pi/2 - 2 asin(s) for large |x|.
Val asin(Builder& b, Val x) {
  auto [large, s, z, p] = asin_core(b, x);
  Val base = b.select(large, b.num(x, kPi / 2), b.num(x, 0));
  Val y = add_to(b, base, b.select(large, b.mul(s, b.num(x, -2)), s), z, p);
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

// Computes pi/2 - asin(x); for large |x| 2 asin(s), and for negative x pi minus that.
Val acos(Builder& b, Val x) {
  auto [large, s, z, p] = asin_core(b, x);
  Val zero = b.num(x, 0);
  Val far = b.select(b.lt(x, zero), b.num(x, kPi), zero);
  Val base = b.select(large, far, b.num(x, kPi / 2));
  Val r = flip_sign(b, b.select(large, b.add(s, s), b.neg(s)), x);
  return add_to(b, base, r, z, p);
}

// Computes pi/2 - atan(1 / |x|) for large |x|.
Val atan(Builder& b, Val x) {
  Val a = b.abs(x);
  Val large = b.gt(a, b.num(x, 1));
  Val t = b.select(large, b.div(b.num(x, -1), a), a);
  Val base = b.select(large, b.num(x, kPi / 2), b.num(x, 0));
  Val z = b.mul(t, t);
  Val y = add_to(b, base, t, z, atan_polynomial(b, z));
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

// Computes with t = smaller / larger of |x| and |y|; base and sign of the octant as C99 has them, signed
// zeros and infinities included.
Val atan2(Builder& b, Val y, Val x) {
  Val zero = b.num(x, 0);
  Val ax = b.abs(x), ay = b.abs(y);
  Val steep = b.gt(ay, ax);
  Val top = b.select(steep, ax, ay);
  Val bottom = b.select(steep, ay, ax);
  // 0/0 is 0, inf/inf is 1; a NaN in either operand stays (it is the second of min and max)
  Val divisor = b.max(b.constant(x.type, 1), bottom);
  Val t = b.div(top, divisor);
  Val remainder = b.fnma(t, divisor, top);
  t = b.select(b.eq(top, b.num(x, kInfinity)), b.min(b.num(x, 1), bottom), t);
  Val left = b.lt(b.bitcast(b.int_of(x), x), b.integer(x, 0));  // by the sign bit, so -0 is left too
  Val base = b.select(steep, b.num(x, kPi / 2), b.select(left, b.num(x, kPi), zero));
  Val turned =
      b.xor_(x, b.select(steep, b.sign_bit(x), zero));  // negative where t counts backwards from base
  Val z = b.mul(t, t);
  std::optional<Val> t_lo;
  if (x.type ==
      Type::f32) {  // corrects the quotient's rounding, by the slope 1 / (1 + t^2); float64 does without
    Val lost = b.div(remainder, b.fma(divisor, z, divisor));
    t_lo = flip_sign(b, b.select(b.lt(bottom, b.num(x, kInfinity)), lost, zero), turned);
  }
  Val r = add_to(b, base, flip_sign(b, t, turned), z, atan_polynomial(b, z), t_lo);
  return b.or_(b.abs(r), b.and_(y, b.sign_bit(y)));
}

}  // namespace lazy::vecmath
