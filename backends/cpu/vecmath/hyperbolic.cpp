// sinh, cosh, tanh, from |x| = n ln 2 + r. n is the nearest integer to |x| / ln 2 - 1/4: so r is in [-0.174,
// 0.520], and up to 0.52 nothing is cancelled against a power of two.
#include "backends/cpu/vecmath/coefficients_trig.hpp"
#include "backends/cpu/vecmath/polynomial.hpp"

namespace lazy::cpu::vecmath {
namespace {
using namespace coefficients;

struct Reduced {
  Val shifted, r;  // n + round_magic, remainder
};
Reduced reduce(Builder& b, Val a, double largest_n) {
  Val magic = b.num(a, round_magic(a));
  Val k = b.fma(a, b.num(a, std::numbers::log2e), b.num(a, -0.25));
  if (largest_n > 0) k = b.min(b.num(a, largest_n), k);
  Val shifted = b.add(k, magic);
  Val n = b.sub(shifted, magic);
  Val r = b.fnma(n, b.num(a, pick(a, kLn2Hi32, kLn2Hi64)), a);
  return {shifted, b.fnma(n, b.num(a, pick(a, kLn2Lo32, kLn2Lo64)), r)};
}

/// sinh and cosh of |x| are even * c + odd * s, with c = cosh r, s = sinh r and the two combinations of 2^n
/// and 2^-n.
struct Halves {
  Val sum, difference;  // (2^n + 2^-n) / 2, (2^n - 2^-n) / 2
  Val s, c1;            // sinh r, cosh r - 1
};
Halves halves(Builder& b, Val a) {
  // The largest n keeps 2^(n-1) finite; past it r grows instead, and the result overflows by itself.
  auto [shifted, r] = reduce(b, a, exponent_bias(a) + 1);
  Val up = power_of_two(b, shifted, -1);  // 2^(n-1)
  Val down =
      b.bitcast(a.type, b.isub(power_bits(b, a, exponent_bias(a)), b.bitcast(b.int_of(a), up)));  // 2^(1-n)
  Val z = b.mul(r, r);
  Val s = b.fma(b.mul(r, z), horner(b, z, pick(a, kSinh32, kSinh64)), r);
  Val c1 = b.mul(z, horner(b, z, pick(a, kCosh32, kCosh64)));
  Val quarter = b.num(a, 0.25);
  return {b.fma(down, quarter, up), b.fnma(down, quarter, up), s, c1};
}
}  // namespace

Val sinh(Builder& b, Val x) {
  Halves h = halves(b, b.abs(x));
  Val y = b.add(h.difference, b.fma(h.sum, h.s, b.mul(h.difference, h.c1)));
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

Val cosh(Builder& b, Val x) {
  Halves h = halves(b, b.abs(x));
  return b.add(h.sum, b.fma(h.difference, h.s, b.mul(h.sum, h.c1)));
}

// e / (e + 2) with e = expm1(2|x|) = g + scale * tail. The quotient y is corrected once by its remainder
// g + scale * tail - y (e + 2): 1 / (e + 2) is (1 - y) / 2.
Val tanh(Builder& b, Val x) {
  Val a = b.min(b.num(x, pick(x, 9.5, 20)), b.abs(x));  // a NaN in x stays
  Val two = b.num(x, 2), half = b.num(x, 0.5);
  auto [shifted, r] = reduce(b, b.add(a, a), 0);
  Val scale = power_of_two(b, shifted);
  Val tail = b.mul(b.mul(r, r), polynomial(b, r, pick(x, kExpm1Wide32, kExpm1Wide64)));
  Val g = b.fma(scale, r, b.sub(scale, b.num(x, 1)));
  Val e = b.fma(scale, tail, g);
  Val d = b.add(e, two);
  Val d_lo = b.sub(e, b.sub(d, two));
  Val y = b.div(e, d);
  Val remainder = b.fnma(y, d_lo, b.fma(scale, tail, b.fnma(y, d, g)));
  y = b.fma(remainder, b.fnma(half, y, half), y);
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

}  // namespace lazy::cpu::vecmath
