#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
using vir::Pred;
using vir::Rounding;

Val pow_finish(Builder& b, Val x, Val y, Val magnitude) {
  const Val zero = b.num(x, 0), one = b.num(x, 1), inf = infinity(b, x);
  const Val half = b.mul(y, b.num(y, 0.5));
  const Val fractional = b.ne(b.round(y, Rounding::trunc), y);
  const Val half_fractional = b.ne(b.round(half, Rounding::trunc), half);
  const Val sign = b.and_(x, b.sign_bit(x));
  const Val flip = b.select(b.and_(half_fractional, b.not_(fractional)), sign, zero);
  const Val result = b.xor_(magnitude, flip);

  const Val negative = b.and_(b.lt(x, zero), b.gt(x, b.neg(inf)));
  const Val invalid = b.select(b.and_(negative, fractional), quiet_nan(b, x), result);
  return b.select(b.or_(b.eq(x, one), b.eq(y, zero)), one, invalid);
}

// Computes |x|^y = 2^(y log2 |x|), the exponent in two parts. Zeros and infinities of x need nothing: their
// logarithms are infinite and the product has the right sign.
Val pow(Builder& b, Val x, Val y) {
  // An infinite y acts as a huge even one, so that |x| = 1 gives 1.
  const Val huge = num(b, x, 0x1p100, 0x1p1000);
  const Val limited = b.max(b.neg(huge), b.min(huge, y));

  const Pair l = log2_pair(b, x);
  const Pair p = two_product(b, limited, l.hi);
  return pow_finish(b, x, y, exp2_of_pair(b, {p.hi, b.fma(limited, l.lo, p.lo)}));
}

}  // namespace lazy::vecmath
