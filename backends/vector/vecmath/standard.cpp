// Implements the less accurate forms of elementary functions, of float32. Each is right for NaN and
// infinities; no rounding error is carried along. docs/math.md has their bounds. Coefficients: fitted to the
// least error in units of the last place (exp, erf, tanh) or in all (gelu), then rounded so that what
// saturates never passes 1.
#include <iterator>

#include "backends/vector/vecmath/coefficients.hpp"
#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
namespace {

constexpr double kExpShort[] = {1, 0x1.ffffeep-1, 0x1.fffdc2p-2, 0x1.555d3cp-3, 0x1.573b9ap-5, 0x1.0ec012p-7};
constexpr double kMagic = 0x1.8p23;  // added, it rounds to an integer

// Odd functions are x P(x^2) / Q(x^2) up to where they saturate.
struct Rational {
  double saturates;  // at this x, where it is 1 and was not above it, and beyond
  std::span<const double> p, q;
};
constexpr double kTanhP[] = {1, 0x1.12130cp-3, 0x1.ca6464p-9, 0x1.5a233ep-16, 0x1.cb9764p-27};
constexpr double kTanhQ[] = {1, 0x1.de5edp-2, 0x1.a813eap-6, 0x1.58c9640p-12, 0x1.a213e8p-21};
constexpr double kErfP[] = {0x1.20dd74p+0, 0x1.884c3ep-3,  0x1.b12832p-5,
                            0x1.f32686p-9, 0x1.2a8464p-12, 0x1.0fe908p-19};
constexpr double kErfQ[] = {1, 0x1.01951ep-1, 0x1.d53d0ap-4, 0x1.ed5426p-7, 0x1.32e6ep-10, 0x1.3d5adp-15};
// Half of erf(x / sqrt 2): of the normal distribution's function, what it has beyond 1/2.
constexpr double kNormalP[] = {0x1.988454p-2,  0x1.116310p-5,  0x1.30cc8cp-8,
                               0x1.589ca4p-13, 0x1.aad082p-18, 0x1.91c726p-26};
constexpr double kNormalQ[] = {
    1, 0x1.00537ap-2, 0x1.d0f554p-6, 0x1.e752e4p-10, 0x1.2fabd2p-14, 0x1.469336p-20};

/// Returns the value at a limited x. A NaN stays.
Val rational(Builder& b, Val x, const Rational& f) {
  const Val z = b.mul(x, x);
  return b.div(b.mul(x, horner(b, z, f.p)), horner(b, z, f.q));
}
Val limited(Builder& b, Val x, double low, double high) {
  return b.max(b.f32(static_cast<float>(low)), b.min(b.f32(static_cast<float>(high)), x));
}
Val saturating(Builder& b, Val x, const Rational& f) {
  return rational(b, limited(b, x, -f.saturates, f.saturates), f);
}

/// Returns e^x, or e^-x, for x within about +-105. `careful`: what ln 2 has beyond one float is subtracted
/// too, which shows from |x| = 20 on.
Val exp_short(Builder& b, Val x, bool careful) {
  const Val magic = b.num(x, kMagic);
  const Val n = b.sub(b.fma(x, b.num(x, explog::kLog2e_32_hi), magic), magic);
  Val r = b.fnma(n, b.num(x, explog::kLn2Near32_hi), x);
  if (careful) r = b.fnma(n, b.num(x, explog::kLn2Near32_lo), r);
  return b.scalef_near_one(horner(b, r, kExpShort), n);
}
Val exp_short_of_minus(Builder& b, Val x, bool careful) {
  const Val magic = b.num(x, kMagic);
  const Val n = b.sub(b.fma(x, b.num(x, -explog::kLog2e_32_hi), magic), magic);
  Val r = b.fma(n, b.num(x, explog::kLn2Near32_hi), x);  // the remainder's negative
  if (careful) r = b.fma(n, b.num(x, explog::kLn2Near32_lo), r);
  double c[std::size(kExpShort)];
  for (size_t i = 0; i < std::size(c); ++i) c[i] = i % 2 ? -kExpShort[i] : kExpShort[i];
  return b.scalef_near_one(horner(b, r, c), n);
}

/// Returns 1 / (1 + e^-x): 0 from where e^-x overflows.
Val sigmoid_short(Builder& b, Val x, bool careful) {
  const Val one = b.f32(1);
  return b.div(one, b.add(one, exp_short_of_minus(b, limited(b, x, -89, 30), careful)));
}
}  // namespace

namespace standard {
Val exp(Builder& b, Val x) { return exp_short(b, exp_clamp(b, x), true); }
Val sigmoid(Builder& b, Val x) { return sigmoid_short(b, x, true); }
Val tanh(Builder& b, Val x) { return saturating(b, x, {0x1.0e865cp+3, kTanhP, kTanhQ}); }
Val erf(Builder& b, Val x) { return saturating(b, x, {0x1.d88b74p+1, kErfP, kErfQ}); }
// Computes x (1/2 + erf(x / sqrt 2) / 2): the sum cancels in the negative tail, whose error is absolute.
Val gelu(Builder& b, Val x) {
  x = b.max(b.f32(-5.4f), x);
  const Val beyond_half = rational(b, b.min(b.f32(5.4f), x), {5.4, kNormalP, kNormalQ});
  return b.mul(x, b.add(beyond_half, b.f32(0.5f)));
}
}  // namespace standard

namespace fast {
Val exp(Builder& b, Val x) { return exp_short(b, exp_clamp(b, x), false); }
Val sigmoid(Builder& b, Val x) { return sigmoid_short(b, x, false); }
}  // namespace fast

}  // namespace lazy::vecmath
