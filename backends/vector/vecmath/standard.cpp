// Implements the less accurate forms of exp, sigmoid, tanh, erf, erfc and gelu, of float32. Each is right for
// NaN and infinities; hardly a rounding error is carried along. docs/math.md has their bounds.
#include <iterator>

#include "backends/vector/vecmath/coefficients.hpp"
#include "backends/vector/vecmath/coefficients_forms.hpp"
#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
namespace {

constexpr double kMagic = 0x1.8p23;  // added, it rounds to an integer

// Odd functions are x P(x^2) / Q(x^2) up to where they saturate.
struct Rational {
  double saturates;  // at this x, where it is 1 and was not above it, and beyond
  std::span<const double> p, q;
};

Val limited(Builder& b, Val x, double low, double high) {
  return b.max(b.f32(static_cast<float>(low)), b.min(b.f32(static_cast<float>(high)), x));
}
/// Returns the value at a limited x. A NaN stays.
Val saturating(Builder& b, Val x, const Rational& f) {
  x = limited(b, x, -f.saturates, f.saturates);
  const Val z = b.mul(x, x);
  return b.div(b.mul(x, horner(b, z, f.p)), horner(b, z, f.q));
}

/// Returns e^r of |r| <= ln 2 / 2, or e^-r.
Val exp_reduced(Builder& b, Val r, bool of_minus = false) {
  double c[1 + std::size(forms::kExp)] = {1};
  for (size_t i = 1; i < std::size(c); ++i)
    c[i] = of_minus && i % 2 ? -forms::kExp[i - 1] : forms::kExp[i - 1];
  return horner(b, r, c);
}

/// Returns e^x, or e^-x, for x within about +-105. `careful`: what ln 2 has beyond one float is subtracted
/// too, which shows from |x| = 20 on.
Val exp_short(Builder& b, Val x, bool careful) {
  const Val magic = b.num(x, kMagic);
  const Val n = b.sub(b.fma(x, b.num(x, explog::kLog2e_32_hi), magic), magic);
  Val r = b.fnma(n, b.num(x, explog::kLn2Near32_hi), x);
  if (careful) r = b.fnma(n, b.num(x, explog::kLn2Near32_lo), r);
  return b.scalef_near_one(exp_reduced(b, r), n);
}
Val exp_short_of_minus(Builder& b, Val x, bool careful) {
  const Val magic = b.num(x, kMagic);
  const Val n = b.sub(b.fma(x, b.num(x, -explog::kLog2e_32_hi), magic), magic);
  Val r = b.fma(n, b.num(x, explog::kLn2Near32_hi), x);  // the remainder's negative
  if (careful) r = b.fma(n, b.num(x, explog::kLn2Near32_lo), r);
  return b.scalef_near_one(exp_reduced(b, r, true), n);
}

/// Returns 1 / (1 + e^-x): 0 from where e^-x overflows.
Val sigmoid_short(Builder& b, Val x, bool careful) {
  const Val one = b.f32(1);
  return b.div_ordinary(one, b.add(one, exp_short_of_minus(b, limited(b, x, -89, 30), careful)));
}

/// Returns x (1/2 + (F(x) - 1/2)), F the normal distribution's function: the sum cancels in the negative
/// tail, whose error is absolute. F - 1/2 is x times a polynomial in x^2, exactly 1/2 at `end` and beyond. No
/// division: it would take as long as the rest.
Val gelu_short(Builder& b, Val x, double end, double centre, std::span<const double> c) {
  x = b.max(b.num(x, -end), x);
  const Val inside = b.min(b.num(x, end), x);
  const Val t = b.fms(inside, inside, b.num(x, centre));
  const Val beyond_half = b.mul(inside, horner(b, t, c));
  return b.mul(x, b.add(beyond_half, b.f32(0.5f)));
}
}  // namespace

namespace standard {
Val exp(Builder& b, Val x) { return exp_short(b, exp_clamp(b, x), true); }
Val sigmoid(Builder& b, Val x) { return sigmoid_short(b, x, true); }
Val tanh(Builder& b, Val x) { return saturating(b, x, {0x1.03e9acp+3, forms::kTanhP, forms::kTanhQ}); }
Val erf(Builder& b, Val x) { return saturating(b, x, {0x1.cf5f54p+1, forms::kErfP, forms::kErfQ}); }
Val gelu(Builder& b, Val x) { return gelu_short(b, x, 0x1.4f4362p+2, forms::kNormalCentre, forms::kNormal); }

// Computes e^-t q P(q) with q = 1 / (|x| + 5/2) and t = x^2, whose rounding error would be multiplied by t.
Val erfc(Builder& b, Val x) {
  const Val a = b.min(b.f32(10.2f), b.abs(x));  // the result is 0 from there on; a NaN stays
  const Val minus = b.neg(a), t = b.mul(a, minus), t_lo = b.fms(a, minus, t);
  const ExpReduced k = exp_reduce(b, t);
  const Val r = b.add(k.r, b.fnma(k.n, b.num(x, explog::kLn2Near32_lo), t_lo));
  const Val q = b.div_ordinary(b.f32(1), b.add(a, b.f32(2.5f)));
  const Val g = b.mul(q, horner(b, b.sub(q, b.num(x, forms::kErfcCentre)), forms::kErfc));
  const Val tail = b.scalef_near_one(b.mul(g, exp_reduced(b, r)), k.n);
  return b.select(b.lt(x, b.f32(0)), b.sub(b.f32(2), tail), tail);
}
}  // namespace standard

namespace fast {
Val exp(Builder& b, Val x) { return exp_short(b, exp_clamp(b, x), false); }
Val sigmoid(Builder& b, Val x) { return sigmoid_short(b, x, false); }
Val tanh(Builder& b, Val x) { return saturating(b, x, {0x1.ed2bap+2, forms::kTanhFastP, forms::kTanhFastQ}); }
Val erf(Builder& b, Val x) { return saturating(b, x, {0x1.c93c3ap+1, forms::kErfFastP, forms::kErfFastQ}); }
Val gelu(Builder& b, Val x) {
  return gelu_short(b, x, 0x1.37bb72p+2, forms::kNormalFastCentre, forms::kNormalFast);
}
}  // namespace fast

}  // namespace lazy::vecmath
