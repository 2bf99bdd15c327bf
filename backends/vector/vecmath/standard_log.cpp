// Implements the less accurate forms of log, log1p, expm1 and pow, of float32. docs/math.md has their bounds.
#include <optional>

#include "backends/vector/vecmath/coefficients.hpp"
#include "backends/vector/vecmath/coefficients_forms.hpp"
#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/polynomial.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
namespace {
/// Returns e ln 2 + log(1 + f).
Val log_short(Builder& b, LogReduced k, std::span<const double> c) {
  const Val whole = b.fma(b.mul(k.f, k.f), horner(b, k.f, c), k.f);
  return b.fma(k.e, b.num(k.f, explog::kLn2Near32_hi), whole);
}

/// Returns 2^(hi + lo): |lo| < 4 where hi is in range; elsewhere lo may be anything, NaN too. A NaN in hi
/// stays.
Val exp2_short(Builder& b, Val hi, std::optional<Val> lo) {
  hi = b.max(b.f32(-200), b.min(b.f32(200), hi));
  if (lo) lo = b.min(b.max(*lo, b.f32(-4)), b.f32(4));  // a NaN is dropped
  const Val n = b.round(lo ? b.add(hi, *lo) : hi, vir::Rounding::even);
  const Val high = b.sub(hi, n), f = lo ? b.add(high, *lo) : high;
  return b.scalef_near_one(b.fma(f, horner(b, f, forms::kExp2), b.f32(1)), n);
}
/// Limits an infinite exponent to a huge even number, so that |x| = 1 gives 1.
Val limited_exponent(Builder& b, Val y) { return b.max(b.f32(-0x1p100f), b.min(b.f32(0x1p100f), y)); }
}  // namespace

namespace standard {
Val log(Builder& b, Val x) { return log_short(b, log_reduce(b, x), forms::kLog); }

// Takes the logarithm of the rounded 1 + x. What the rounding lost is added to f where that is 1 + x itself,
// less 1; for other exponents it is beyond the result's last place, and NaN for an infinite x.
Val log1p(Builder& b, Val x) {
  const Val sum = b.add(x, b.f32(1));
  const LogReduced k = log_reduce(b, sum);
  const Val lost = b.sub(x, b.sub(sum, b.f32(1)));
  const Val f = b.select(b.eq(k.e, b.f32(0)), b.add(k.f, lost), k.f);
  return b.or_(log_short(b, {k.e, f}, forms::kLog), b.and_(x, b.sign_bit(x)));  // -0 stays
}

// Computes 2^n q + (2^n - 1) with q = e^r - 1, in halves: 2^128 is no float.
Val expm1(Builder& b, Val x) {
  const Val limited = b.max(b.f32(-18), b.min(b.f32(89), x));  // -1 below
  const Val magic = b.num(x, round_magic(x));
  const Val shifted = b.fma(limited, b.num(x, explog::kLog2e_32_hi), magic), n = b.sub(shifted, magic);
  const Val high = b.fnma(n, b.num(x, explog::kLn2Near32_hi), limited);
  const Val r = b.fnma(n, b.num(x, explog::kLn2Near32_lo), high);
  const Val q = b.fma(b.mul(r, r), horner(b, r, forms::kExpm1), r);
  const Val power = power_of_two(b, shifted, -1);
  const Val half = b.fma(power, q, b.sub(power, b.f32(0.5f)));
  return b.or_(b.add(half, half), b.and_(x, b.sign_bit(x)));  // -0 stays
}

// Computes 2^(y log2 |x|). The logarithm is e + h + low with h + ... = 2 / ln 2 atanh s, s = f / (2 + f): s
// and h are right to two floats, the rest, below 1/75 of h, to one.
Val pow(Builder& b, Val x, Val y) {
  const Val m = b.getmant(x), e = b.sub(b.getexp(x), b.getexp_normal(m)), f = b.sub(m, b.f32(1));
  const Pair den = fast_two_sum(b, b.f32(2), f);
  const Val inverse = b.div_ordinary(b.f32(1), den.hi), s = b.mul(f, inverse);
  const Val s_lo = b.mul(b.fnma(s, den.lo, b.fnma(s, den.hi, f)), inverse);
  const Val c = b.num(x, forms::kTwoLog2eHi), w = b.mul(s, s);
  const Pair h = two_product(b, s, c);
  const Val h_lo = b.fma(s, b.num(x, forms::kTwoLog2eLo), b.fma(s_lo, c, h.lo));
  const Val low = b.fma(b.mul(h.hi, w), horner(b, w, forms::kLog2), h_lo);
  const Pair sum = fast_two_sum(b, e, h.hi);  // e last: it may be infinite, and sum.lo then NaN
  const Val exponent = limited_exponent(b, y);
  const Pair p = two_product(b, exponent, sum.hi);
  return pow_finish(b, x, y, exp2_short(b, p.hi, b.fma(exponent, b.add(sum.lo, low), p.lo)));
}
}  // namespace standard

namespace fast {
Val log(Builder& b, Val x) { return log_short(b, log_reduce(b, x), forms::kLogFast); }

Val pow(Builder& b, Val x, Val y) {
  const LogReduced k = log_reduce(b, b.abs(x));
  const Val natural = b.fma(b.mul(k.f, k.f), horner(b, k.f, forms::kLogFast), k.f);
  const Val log2 = b.fma(natural, b.num(x, explog::kLog2e_32_hi), k.e);
  return pow_finish(b, x, y, exp2_short(b, b.mul(limited_exponent(b, y), log2), std::nullopt));
}
}  // namespace fast

}  // namespace lazy::vecmath
