// Computes more functions of each element, made of those in elementwise.hpp: they broadcast, promote and fail
// as those do. [float] as there; 16-bit floats are computed in float32 and rounded once.
//
// Errors are the largest that were measured against mpmath on some ten thousand points of each dtype, in
// units of the last place (ulp) of the result; where they are said "of 1", those of the value or of 1,
// whichever is larger: such a function loses digits near its zeros.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/ops/alias.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {

// [float]

Tensor exp2(Arg x);  // 2^x; error below 1 ulp
Tensor cbrt(Arg x);  // keeps the sign; error below 1 ulp
Tensor sinc(Arg x);  // sin(pi x) / (pi x), 1 at 0; error below 1 ulp of 1
Tensor deg2rad(Arg x);
Tensor rad2deg(Arg x);
Tensor xlogy(Arg x, Arg y);    // x log(y); 0 where x is 0 and y no NaN
Tensor xlog1py(Arg x, Arg y);  // x log(1 + y), likewise
/// Returns log2(2^a + 2^b) without overflow.
Tensor logaddexp2(Arg a, Arg b);
/// Returns log(x / (1 - x)); NaN outside of [0, 1]. Error below 1.1 ulp.
Tensor logit(Arg x);
/// Returns 0 for x < 0, h at 0, 1 for x > 0; NaN stays NaN.
Tensor heaviside(Arg x, Arg h);
/// Returns a + weight (b - a), and exactly b where the weight is 1.
Tensor lerp(Arg a, Arg b, Arg weight);
/// Returns the inverse of erf; infinite at -1 and 1, NaN beyond. float32: Giles, Approximating the erfinv
/// function (GPU Computing Gems 2, 2010), error below 3 ulp. float64: two steps of Halley's method on
/// Winitzki's formula (2008), error below 12 ulp.
Tensor erfinv(Arg x);
/// Returns log |gamma(x)| by Lanczos' series (g = 7, 9 terms), reflected below 0.5; infinite at 0, -1, -2,
/// ... Computed in float64 whatever the dtype: error below 8 ulp of 1, rounded right to float32 but for a
/// few.
Tensor lgamma(Arg x);
/// Returns the derivative of lgamma by its asymptotic series from 10 on, below by recurrence and reflection:
/// an infinity of the other sign at +-0, NaN at -1, -2, ... Computed in float64 whatever the dtype: error
/// below 5 ulp of 1, rounded right to float32 but for a few.
Tensor digamma(Arg x);
/// Returns the modified Bessel function of order 0: its power series (36 terms) up to 20, the asymptotic one
/// (30 terms) beyond. Computed in float64 whatever the dtype: error below 11 ulp, rounded right to float32
/// but for a few.
Tensor i0(Arg x);
/// Returns e^-|x| i0(x).
Tensor i0e(Arg x);
/// Return the one of order 1, by likewise series, and e^-|x| i1(x).
Tensor i1(Arg x);
Tensor i1e(Arg x);

// [float], computed in float64 whatever the dtype.

/// Returns e^(x^2) erfc(x), which does not underflow: from 8 on by the asymptotic series.
Tensor erfcx(Arg x);
/// Returns the distribution function of the standard normal distribution, its logarithm, and its inverse:
/// infinite at 0 and 1, NaN beyond (Wichura, Algorithm AS 241, 1988).
Tensor ndtr(Arg x);
Tensor log_ndtr(Arg x);
Tensor ndtri(Arg x);
/// Returns Hurwitz' sum of (q + k)^-s over k = 0, 1, ...: infinite at s = 1 and at q = 0, -1, ...; NaN for
/// s < 1 and for other negative q.
Tensor zeta(Arg s, Arg q);
/// Returns the derivative of digamma of order n, digamma itself for 0. Order 1 is reflected below 0.5; higher
/// ones are NaN for x < 0. Error unless n is in [0, 170].
Tensor polygamma(IntegerArg n, Arg x);
/// Returns the logarithm of the p-variate gamma function: p (p - 1) / 4 log(pi) + sum of lgamma(x - j / 2)
/// for j < p. Error if p is below 1.
Tensor mvlgamma(Arg x, IntegerArg p);
/// Returns -x log(x); 0 at 0, -infinity below. Computed in x's own dtype.
Tensor entr(Arg x);

// The promoted dtype.

/// Returns the remainder with the sign of `a`, as C's fmod (remainder has the divisor's); an integer modulo 0
/// is 0. DtypeError for two of bool.
Tensor fmod(Arg a, Arg b);
/// Return maximum and minimum, but the other operand where one is NaN.
Tensor fmax(Arg a, Arg b);
Tensor fmin(Arg a, Arg b);
/// Return x + value a b, and x + value a / b [float]. DtypeError for a `value` of a fraction among integers.
Tensor addcmul(Arg x, Arg a, Arg b, ScalarNumber value = 1);
Tensor addcdiv(Arg x, Arg a, Arg b, ScalarNumber value = 1);

// Other spellings: NumPy's and torch's.

LAZY_ALIAS1(radians, deg2rad)
LAZY_ALIAS1(degrees, rad2deg)
LAZY_ALIAS1(gammaln, lgamma)
LAZY_ALIAS1(psi, digamma)
LAZY_ALIAS1(expit, sigmoid)
inline Tensor multigammaln(Arg x, IntegerArg p) {
  const detail::Spelled as("mvlgamma", "multigammaln");
  return mvlgamma(std::move(x), p);
}
inline Tensor clamp_min(Arg x, Arg low) {
  const detail::Spelled as("clip", "clamp_min");
  return clip(std::move(x), std::move(low), none);
}
inline Tensor clamp_max(Arg x, Arg high) {
  const detail::Spelled as("clip", "clamp_max");
  return clip(std::move(x), none, std::move(high));
}

}  // namespace lazy
