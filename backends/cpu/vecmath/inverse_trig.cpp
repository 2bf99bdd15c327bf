// asin, acos, atan, atan2: odd polynomials on [0, 1/2] and [0, 1]; larger arguments by sqrt((1 - |x|) / 2)
// and 1 / |x|.
#include "backends/cpu/vecmath/coefficients_trig.hpp"
#include "backends/cpu/vecmath/polynomial.hpp"

namespace lazy::cpu::vecmath {
namespace {
using namespace coefficients;

constexpr double kPi = 0x1.921fb54442d18p1;
/// What rounding pi to x's type leaves over; the same fraction of pi/2.
double pi_lo(Val x) { return pick(x, -0x1.777a5cp-24, 0x1.1a62633145c07p-53); }

/// The part that asin and acos share: s and q with asin(t) = s + q, where t is |x|, or sqrt((1 - |x|) / 2)
/// for large |x|.
struct Asin {
  Val large, s, q;
};
Asin asin_core(Builder& b, Val x) {
  Val half = b.num(x, 0.5);
  Val a = b.abs(x);
  Val large = b.gt(a, half);
  Val z = b.select(large, b.fnma(a, half, half), b.mul(x, x));
  Val s = b.select(large, b.sqrt(z), a);
  return {large, s, b.mul(b.mul(s, z), polynomial(b, z, pick(x, kAsin32, kAsin64)))};
}

/// (hi + r) + lo + q for |hi| >= |r| or hi = 0, with the rounding error of the first sum added back.
Val compensated(Builder& b, Val hi, Val r, Val rest) {
  Val sum = b.add(hi, r);
  return b.add(sum, b.add(b.add(b.sub(hi, sum), r), rest));
}
}  // namespace

Val asin(Builder& b, Val x) {
  auto [large, s, q] = asin_core(b, x);
  Val half_pi = b.num(x, kPi / 2);
  Val two = b.num(x, 2);
  // pi/2 - 2 (s + q): 2 s <= 1 is the smaller one, and what their difference loses comes back with q.
  Val t = b.fnma(two, s, half_pi);
  Val rest = b.fnma(two, s, b.sub(half_pi, t));
  Val far = b.add(t, b.fnma(two, q, b.add(rest, b.num(x, pi_lo(x) / 2))));
  Val y = b.select(large, far, b.add(s, q));
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

Val acos(Builder& b, Val x) {
  auto [large, s, q] = asin_core(b, x);
  Val sign = b.and_(x, b.sign_bit(x));
  Val negative = b.lt(x, b.num(x, 0));
  Val zero = b.num(x, 0);
  // base + r + (base_lo + q): large |x|: 2 asin(s), or pi minus that; others: pi/2 - asin(x)
  Val base = b.select(large, b.select(negative, b.num(x, kPi), zero), b.num(x, kPi / 2));
  Val r = b.xor_(b.select(large, b.add(s, s), b.neg(s)), sign);
  Val rest = b.xor_(b.select(large, b.add(q, q), b.neg(q)), sign);
  return compensated(b, base, r, b.fma(base, b.num(x, pi_lo(x) / kPi), rest));
}

Val atan(Builder& b, Val x) {
  Val a = b.abs(x);
  Val large = b.gt(a, b.num(x, 1));
  Val t = b.select(large, b.div(b.num(x, -1), a), a);
  Val base = b.select(large, b.num(x, kPi / 2), b.num(x, 0));
  Val z = b.mul(t, t);
  Val q =
      b.fma(base, b.num(x, pi_lo(x) / kPi), b.mul(b.mul(t, z), polynomial(b, z, pick(x, kAtan32, kAtan64))));
  Val y = compensated(b, base, t, q);
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

// t = smaller / larger of |x| and |y|; the octant's base and sign as C99 has them, signed zeros and
// infinities included.
Val atan2(Builder& b, Val y, Val x) {
  Val ax = b.abs(x), ay = b.abs(y);
  Val steep = b.gt(ay, ax);
  Val top = b.select(steep, ax, ay);
  Val bottom = b.select(steep, ay, ax);
  // 0/0 is 0, inf/inf is 1; a NaN in either operand stays
  Val least = b.constant(x.type, 1);
  Val t = b.div(top, b.max(least, bottom));
  t = b.select(b.eq(top, b.num(x, infinity())), b.num(x, 1), t);
  Val left = b.lt(b.bitcast(b.int_of(x), x), b.integer(x, 0));  // by the sign bit: -0 too
  Val base = b.select(steep, b.num(x, kPi / 2), b.select(left, b.num(x, kPi), b.num(x, 0)));
  Val sign = b.xor_(b.and_(x, b.sign_bit(x)), b.select(steep, b.sign_bit(x), b.num(x, 0)));
  Val z = b.mul(t, t);
  Val q = b.mul(b.mul(t, z), polynomial(b, z, pick(x, kAtan32, kAtan64)));
  Val r = compensated(b, base, b.xor_(t, sign), b.fma(base, b.num(x, pi_lo(x) / kPi), b.xor_(q, sign)));
  return b.or_(b.abs(r), b.and_(y, b.sign_bit(y)));
}

}  // namespace lazy::cpu::vecmath
