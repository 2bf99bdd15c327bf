// Implements log, log1p, log2, log10. All start from x = 2^e (1 + f) with 1 + f in [3/4, 3/2), where f is
// exact.
#include <limits>
#include <optional>

#include "backends/vector/vecmath/coefficients.hpp"
#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
using namespace explog;

LogReduced log_reduce(Builder& b, Val x) {
  const Val m = b.getmant_or_nan(x);
  // getexp counts significands in [1, 2); getexp(m) is -1 for those below 1, else 0.
  return {b.sub(b.getexp_of_positive(x), b.getexp_normal(m)), b.sub(m, b.num(x, 1))};
}

// f32: f^2 times a polynomial. f64: with s = f / (2 + f), log(1 + f) = f - (h - s (h + R(s^2))), h = f^2 / 2
// (the rearrangement of fdlibm); a division is cheaper than ten more terms.
Val log1p_tail(Builder& b, Val f) {
  if (is_f32(f)) return b.mul(b.mul(f, f), horner(b, f, kLog32));
  const Val s = b.div(f, b.add(f, b.num(f, 2)));
  const Val w = b.mul(s, s), w2 = b.mul(w, w);
  const Val h = b.mul(f, b.mul(f, b.num(f, 0.5)));
  return b.fms(s, b.fma(w, even_odd(b, w, w2, kLog64), h), h);
}

Val log_finish(Builder& b, LogReduced k) {
  if (is_f32(k.f)) {
    const Val whole = b.fma(b.mul(k.f, k.f), horner(b, k.f, kLog32), k.f);
    return b.fma(k.e, b.num(k.f, kLn2Near32_hi), whole);
  }
  const Val low = b.fma(k.e, b.num(k.f, kLn2_64_lo), log1p_tail(b, k.f));
  return b.fma(k.e, b.num(k.f, kLn2_64_hi), b.add(k.f, low));
}

namespace {

/// Returns exponent + f c + (log(1 + f) - f) c + more, for the constant c in two parts. The two leading terms
/// are added exactly: where they cancel, a rounded product would show.
Val scaled(Builder& b, Val exponent, Val f, Pair c, std::optional<Val> more) {
  const Pair product = two_product(b, f, c.hi);
  const Pair sum = fast_two_sum(b, exponent, product.hi);
  const Val error = b.max(sum.lo, b.num(f, -1));  // an infinite exponent gives NaN, made finite here
  Val low = b.fma(f, c.lo, b.add(product.lo, error));
  if (more) low = b.add(low, *more);
  return b.add(sum.hi, b.fma(log1p_tail(b, f), c.hi, low));
}

/// Splits u = 2^e m, m in [3/4, 3/2), for positive normal u, by integers. four_over = 2^(2 - e), which is
/// normal for every e.
struct Split {
  Val e, m, four_over;
};
Split split_normal(Builder& b, Val u) {
  const bool f32 = is_f32(u);
  const vir::Type integer = b.int_of(u);
  const Val bits = b.bitcast(integer, u);
  const Val exponent =
      b.and_(b.isub(bits, bits_of(b, u, 0.75)), bits_of(b, u, -std::numeric_limits<double>::infinity()));
  const Val four_over = b.isub(bits_of(b, u, 4), exponent);
  Val e;
  if (f32) {
    e = b.convert(vir::Op::i32_to_f32, u.type, b.sar(exponent, 23));
  } else {  // 64-bit integers convert by the mantissa of 2^52: the same few instructions on every level
    const Val biased = b.or_(b.shr(four_over, 52), bits_of(b, u, 0x1p52));
    e = b.sub(b.num(u, 0x1p52 + 1025), b.bitcast(u.type, biased));
  }
  return {e, b.bitcast(u.type, b.isub(bits, exponent)), b.bitcast(u.type, four_over)};
}

}  // namespace

Val log(Builder& b, Val x) { return log_finish(b, log_reduce(b, x)); }

Val log2(Builder& b, Val x) {
  const LogReduced k = log_reduce(b, x);
  const Pair c{num(b, x, kLog2e_32_hi, kLog2e_64_hi), num(b, x, kLog2e_32_lo, kLog2e_64_lo)};
  return scaled(b, k.e, k.f, c, std::nullopt);
}

Val log10(Builder& b, Val x) {
  const LogReduced k = log_reduce(b, x);
  const Pair c{num(b, x, kLog10e_32_hi, kLog10e_64_hi), num(b, x, kLog10e_32_lo, kLog10e_64_lo)};
  const Val exponent = b.mul(k.e, num(b, x, kLog10Of2_32_hi, kLog10Of2_64_hi));  // exact
  return scaled(b, exponent, k.f, c, b.mul(k.e, num(b, x, kLog10Of2_32_lo, kLog10Of2_64_lo)));
}

// Uses 4 f = x 2^(2-e) + (2^(2-e) - 4) with e from the rounded 1 + x: one rounding, and the power of two is
// normal for every e.
LogReduced log1p_reduce(Builder& b, Val x) {
  const Split k = split_normal(b, b.add(x, b.num(x, 1)));
  return {k.e, b.mul(b.fma(x, k.four_over, b.sub(k.four_over, b.num(x, 4))), b.num(x, 0.25))};
}

Val log_of_pair(Builder& b, Pair x, Val exponent) {
  const Split k = split_normal(b, x.hi);
  const Val f = b.sub(k.m, b.num(x.hi, 1));
  return log_finish(b, {b.add(k.e, exponent), b.fma(b.mul(x.lo, k.four_over), b.num(x.lo, 0.25), f)});
}

Val log1p(Builder& b, Val x) {
  const Val finite = log_finish(b, log1p_reduce(b, x));
  const Val minus_one = b.num(x, -1), inf = infinity(b, x);
  const Val edge = b.select(b.eq(x, minus_one), b.neg(inf), quiet_nan(b, x));
  const Val result = b.select(b.lt(x, inf), finite, x);  // infinity and NaN are their own logarithm
  return b.or_(b.select(b.cmp(vir::Pred::le, x, minus_one), edge, result), b.and_(x, b.sign_bit(x)));
}

Pair log2_pair(Builder& b, Val x) {
  const Val one = b.num(x, 1);
  const Val m = b.getmant(x);
  Val e = b.sub(b.getexp(x), b.getexp_normal(m)), f = b.sub(m, one), offset_low = b.num(x, 0);
  if (!is_f32(x)) {
    // The result needs 11 more bits: m outside of [0.82, 1.23) is multiplied by 3/4 or 3/2 (f is still
    // exact), and the logarithm is corrected for that: e + offset is exact, the rest of the offset is small.
    const Val low = b.lt(m, b.num(x, 0.82)), high = b.ge(m, b.num(x, 1.23));
    f = b.fms(m, b.select(low, b.num(x, 1.5), b.select(high, b.num(x, 0.75), one)), one);
    const Val above = b.select(high, b.num(x, kLog2Of4Thirds_hi), offset_low);
    e = b.add(e, b.select(low, b.num(x, kLog2Of4Thirds_hi - 1), above));
    offset_low = b.select(b.or_(low, high), b.num(x, kLog2Of4Thirds_lo), offset_low);
  }
  // t = (2 / ln 2) f / (f + 2) in two parts
  const Pair den = fast_two_sum(b, b.num(x, 2), f);
  const Val inverse = b.div(one, den.hi);
  const Val c = num(b, x, k2Log2e32_hi, k2Log2e64_hi);
  const Pair top = two_product(b, f, c);
  const Val top_low = b.fma(f, num(b, x, k2Log2e32_lo, k2Log2e64_lo), top.lo);
  const Val t = b.mul(top.hi, inverse);
  const Val rest = b.fnma(t, den.lo, b.fnma(t, den.hi, top.hi));
  const Val t_low = b.mul(b.add(rest, top_low), inverse);
  // log2 m = t (1 + z), z = k t^2 + t^4 r(t^2): the first term of z in two parts
  const Pair w = two_product(b, t, t);
  const Val w_low = b.fma(b.add(t, t), t_low, w.lo);
  const Val k = num(b, x, kCube32_hi, kCube64_hi);
  const Pair z = two_product(b, w.hi, k);
  Val z_low = b.fma(w_low, k, b.fma(w.hi, num(b, x, kCube32_lo, kCube64_lo), z.lo));
  const Val w2 = b.mul(w.hi, w.hi);
  z_low = b.fma(w2, is_f32(x) ? horner(b, w.hi, kPow32) : even_odd(b, w.hi, w2, kPow64), z_low);
  const Pair tz = two_product(b, t, z.hi);
  const Val low = b.add(b.fma(t_low, z.hi, b.fma(t, z_low, tz.lo)), t_low);
  const Pair head = fast_two_sum(b, t, tz.hi);
  const Pair fraction = fast_two_sum(b, head.hi, b.add(head.lo, low));
  const Pair sum = fast_two_sum(b, e, fraction.hi);  // e last: it may be infinite, and sum.lo then NaN
  const Val rest_low = b.add(sum.lo, fraction.lo);
  return {sum.hi, is_f32(x) ? rest_low : b.add(rest_low, offset_low)};
}

}  // namespace lazy::vecmath
