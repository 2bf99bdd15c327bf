// Implements exp, expm1, sigmoid. All start from x = n ln 2 + r; 2^n is applied last, by scalef, in one
// rounding.
#include "backends/vector/vecmath/coefficients.hpp"
#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
using namespace explog;

ExpReduced exp_reduce(Builder& b, Val x) {
  // Adding 1.5 * 2^23 (2^52) rounds to an integer: one fma and one subtraction, both short.
  const Val magic = num(b, x, 0x1.8p23, 0x1.8p52);
  const Val n = b.sub(b.fma(x, num(b, x, kLog2e_32_hi, kLog2e_64_hi), magic), magic);
  return {n, b.fnma(n, num(b, x, kLn2Near32_hi, kLn2Near64_hi), x)};
}

Val exp_low(Builder& b, ExpReduced k) { return b.mul(k.n, num(b, k.n, -kLn2Near32_lo, -kLn2Near64_lo)); }

Val exp_tail(Builder& b, Val r, Val r2) {
  return is_f32(r) ? horner(b, r, kExp32) : even_odd(b, r, r2, kExp64);
}

Val exp_clamp(Builder& b, Val x) { return b.max(num(b, x, -105, -747), b.min(num(b, x, 90, 711), x)); }

Val exp(Builder& b, Val x) {
  x = exp_clamp(b, x);
  const ExpReduced k = exp_reduce(b, x);
  const Val r = b.fnma(k.n, num(b, x, kLn2Near32_lo, kLn2Near64_lo), k.r);
  const Val r2 = b.mul(r, r);
  const Val q = b.fma(r2, exp_tail(b, r, r2), r);
  return b.scalef_near_one(b.add(b.num(x, 1), q), k.n);
}

Val exp_of_pair(Builder& b, Pair x) {
  const ExpReduced k = exp_reduce(b, exp_clamp(b, x.hi));
  const Val low = b.fnma(k.n, num(b, x.hi, kLn2Near32_lo, kLn2Near64_lo), x.lo);
  const Val r = b.add(k.r, low);
  const Val r2 = b.mul(r, r);
  const Val q = b.add(k.r, b.fma(r2, exp_tail(b, r, r2), low));
  return b.scalef_near_one(b.add(b.num(x.hi, 1), q), k.n);
}

Val exp2_of_pair(Builder& b, Pair x) {
  const Val limit = num(b, x.hi, 200, 1200);
  const Val hi = b.max(b.neg(limit), b.min(limit, x.hi));
  // In range |lo| is tiny. Out of range it may be NaN, which the order of these operands drops.
  const Val lo = b.min(b.max(x.lo, b.num(hi, -1)), b.num(hi, 1));
  const Val n = b.round(hi, vir::Rounding::even);
  const Val f = b.add(b.sub(hi, n), lo);
  const Val f2 = b.mul(f, f);
  const Val p = is_f32(f) ? horner(b, f, std::span(kExp2_32).subspan(1))
                          : even_odd(b, f, f2, std::span(kExp2_64).subspan(1));
  const Val q = b.fma(f, num(b, f, kExp2_32[0], kExp2_64[0]), b.mul(f2, p));
  return b.scalef_near_one(b.add(b.num(f, 1), q), n);
}

// Computes 2^n (1 + r + tail) - 1 = 2^n ((1 - 2^-n + r) + tail): the large terms meet first, exactly where
// they cancel.
Val expm1(Builder& b, Val x) {
  const Val limited = b.max(num(b, x, -20, -40), b.min(num(b, x, 90, 711), x));  // -1 below
  const ExpReduced k = exp_reduce(b, limited);
  const Val low = exp_low(b, k);
  const Val r = b.add(k.r, low);
  const Val r2 = b.mul(r, r);
  const Val tail = b.fma(r2, exp_tail(b, r, r2), low);
  const Val one = b.num(x, 1);
  const Val head = b.add(k.r, b.sub(one, b.scalef_near_one(one, b.neg(k.n))));  // of two NaNs the first stays
  const Val result = b.scalef_near_one(b.add(head, tail), k.n);
  return b.or_(result, b.and_(x, b.sign_bit(x)));  // -0 stays; elsewhere the sign is set already
}

namespace {
/// Returns 1 / (1 + e^a) of a >= 0, -a = n ln 2 - r.
Val sigmoid_of_minus(Builder& b, Val n, Val r) {
  const Val r2 = b.mul(r, r);
  const Val q = b.fma(r2, exp_tail(b, r, r2), r);
  const Val one = b.num(r, 1);
  const Val rest = b.add(q, b.scalef_near_one(one, n));
  const Pair whole = fast_two_sum(b, one, rest);
  const Val y = b.div_ordinary(one, whole.hi);
  const Val scaled = b.scalef_near_one(y, n);  // independent of the correction
  return b.fnma(b.mul(y, whole.lo), scaled, scaled);
}
}  // namespace

// Computes with a = |x| = n ln 2 + r and e^r = 1 + q: 1 / (1 + e^a) = 2^-n / (1 + (q + 2^-n)), never above
// 1/2; denormals are right, and 1 minus it is the result for the other sign. The sum with 1 is exact in two
// parts, and the quotient is corrected for the lower one. (The n below is that -n.)
Val sigmoid(Builder& b, Val x) {
  if (is_f32(x)) {
    const Val a = b.min(b.f32(105), b.abs(x));  // a NaN is positive from here on
    const Val magic = b.f32(0x1.8p23);
    const Val n = b.sub(b.fma(a, b.f32(-static_cast<float>(kLog2e_32_hi)), magic), magic);
    const Val r = b.fma(n, b.num(x, kLn2Near32_lo), b.fma(n, b.num(x, kLn2Near32_hi), a));
    const Val small = sigmoid_of_minus(b, n, r);
    return b.select(b.ge(x, b.f32(0)), b.sub(b.f32(1), small), small);
  }
  const Val a = b.max(b.f64(-747), b.or_(x, b.sign_bit(x)));
  const ExpReduced k = exp_reduce(b, a);
  const Val small = sigmoid_of_minus(b, k.n, b.fms(k.n, b.f64(kLn2Near64_lo), k.r));
  return b.select(b.lt(x, b.num(x, 0)), small, b.sub(b.num(x, 1), small));
}

}  // namespace lazy::vecmath
