// Implements sinh, cosh, tanh, from |x| = n ln 2 + r with n near |x| / ln 2.
#include "backends/vector/vecmath/coefficients_trig.hpp"
#include "backends/vector/vecmath/polynomial.hpp"

namespace lazy::vecmath {
namespace {
using namespace coefficients;

struct Reduced {
  Val shifted, r;  // n + round_magic, remainder
};
/// Reduces by n = round(a / ln 2 + offset). With offset -1/4, r is in [-0.174, 0.520]: up to 0.52, where
/// expm1 and sinh lose most, n is 0 and nothing is subtracted from a power of two.
Reduced reduce(Builder& b, Val a, Val offset, double largest_n) {
  Val magic = b.num(a, round_magic(a));
  Val k = b.fma(a, b.num(a, std::numbers::log2e), offset);
  if (largest_n > 0) k = b.min(b.num(a, largest_n), k);
  Val shifted = b.add(k, magic);
  Val n = b.sub(shifted, magic);
  Val r = b.fnma(n, b.num(a, pick(a, explog::kLn2Near32_hi, explog::kLn2Near64_hi)), a);
  return {shifted, b.fnma(n, b.num(a, pick(a, explog::kLn2Near32_lo, explog::kLn2Near64_lo)), r)};
}

/// Holds terms of sinh and cosh of |x|, which are even * c + odd * s, with c = cosh r, s = sinh r and the two
/// combinations of 2^n and 2^-n.
struct Halves {
  Val up, down;         // 2^n / 2, 2^-n / 2
  Val sum, difference;  // of up and down
  Val s, c1;            // sinh r, cosh r - 1
};
Halves halves(Builder& b, Val a, Val offset) {
  // The largest n keeps 2^(n-1) finite; past it r grows instead, and the result overflows by itself.
  auto [shifted, r] = reduce(b, a, offset, exponent_bias(a) + 1);
  Val up = power_of_two(b, shifted, -1);                                                   // 2^(n-1)
  Val four_down = b.isub(power_bits(b, a, exponent_bias(a)), b.bitcast(b.int_of(a), up));  // 2^(1-n)
  Val down = b.mul(b.bitcast(a.type, four_down), b.num(a, 0.25));
  Val z = b.mul(r, r);
  Val s = b.fma(b.mul(r, z), horner(b, z, pick(a, kSinh32, kSinh64)), r);
  Val c1 = b.mul(z, horner(b, z, pick(a, kCosh32, kCosh64)));
  return {up, down, b.add(up, down), b.sub(up, down), s, c1};
}
}  // namespace

// The rounding error of the difference is added back: it is 0 for n = 0, and up to half an ulp for large n.
Val sinh(Builder& b, Val x) {
  Val a = b.abs(x);
  Val offset = b.select(b.lt(a, b.num(x, 0.75)), b.num(x, -0.25), b.num(x, 0));
  Halves h = halves(b, a, offset);
  Val lost = b.sub(b.sub(h.up, h.difference), h.down);
  Val y = b.add(h.difference, b.fma(h.sum, h.s, b.fma(h.difference, h.c1, lost)));
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

Val cosh(Builder& b, Val x) {
  Halves h = halves(b, b.abs(x), b.num(x, 0));
  return b.add(h.up, b.fma(h.difference, h.s, b.fma(h.sum, h.c1, h.down)));
}

// Computes e / (e + 2) with e = expm1(2|x|). The quotient y is corrected once, by the remainder for e + e_lo,
// d + d_lo: 1 / d is (1 - y) / 2.
Val tanh(Builder& b, Val x) {
  Val a = b.abs(x);
  Val one = b.num(x, 1), two = b.num(x, 2);
  auto [shifted, r] = reduce(b, b.add(a, a), b.num(x, -0.25), 0);
  Val scale = power_of_two(b, shifted);
  Val tail = b.mul(b.mul(r, r), polynomial(b, r, pick(x, kExpm1Wide32, kExpm1Wide64)));
  Val g = b.fma(scale, r, b.sub(scale, one));
  Val e = b.fma(scale, tail, g);
  Val e_lo = b.fma(scale, tail, b.sub(g, e));
  Val d = b.add(e, two);
  Val d_lo = b.sub(e, b.sub(d, two));  // exact while d's last place is at most 2
  Val y = b.div(e, d);
  Val rest = b.sub(one, y);
  Val remainder = b.fma(e_lo, rest, b.fnma(y, d_lo, b.fnma(y, d, e)));
  y = b.fma(remainder, b.mul(rest, b.num(x, 0.5)), y);
  y = b.select(b.gt(a, b.num(x, pick(x, 8.664, 18.71))), one, y);  // d's last place is 4 from there on
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

}  // namespace lazy::vecmath
