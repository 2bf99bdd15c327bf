// Computes elementary functions of complex numbers from real ones. Values at infinities, NaN and signed
// zeros are those of C's Annex G, which NumPy's are. Inverse functions: W. Kahan, "Branch cuts for complex
// elementary functions" (1987), whose formulas are continuous from the side that the sign of a zero says.
#include <cmath>
#include <limits>
#include <numbers>

#include "lazy/complex/number.hpp"

namespace lazy::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Term finite(const Term& x) { return unary(Op::isfinite, x); }
Term infinite(const Term& x) { return unary(Op::isinf, x); }
bool is_single(const Term& x) { return x.handle()->dtype == float32; }

/// Returns log|x|: accurate where |x| is near 1, and without squares that overflow elsewhere.
Term log_modulus(const ComplexTerm& x) {
  const Term a = abs(x.re), b = abs(x.im), large = maximum(a, b), small = minimum(a, b);
  const Term ratio = where((large == 0) | infinite(large), 0, small / large);
  const Term far = log(large) + log1p(ratio * ratio) * 0.5;
  const Term beyond = (large - 1) * (large + 1) + small * small;  // |x|^2 - 1
  const Term is_near = (beyond > -0.5) & (beyond < 2);
  const Term near = log1p(where(is_near, beyond, 0)) * 0.5;
  return where(infinite(a) | infinite(b), kInfinity, where(is_near, near, far));
}

/// True where parts are so large that beside them 1 is nothing, or are infinite.
Term is_large(const ComplexTerm& x) {
  const double bound = is_single(x.re) ? 0x1p26 : 0x1p56;
  return (abs(x.re) > bound) | (abs(x.im) > bound);
}

/// Returns where(c, a, b) of both parts.
ComplexTerm choose(const Term& c, const ComplexTerm& a, const ComplexTerm& b) {
  return {where(c, a.re, b.re), where(c, a.im, b.im)};
}

/// Returns x with 0 in the place of large parts: for formulas whose result is not chosen there.
ComplexTerm unless_large(const Term& large, const ComplexTerm& x) {
  return {where(large, 0, x.re), where(large, 0, x.im)};
}

/// Returns log|2x| with the sign of another.
Term log_of_double(const ComplexTerm& x, const Term& sign) {
  return copysign(log_modulus(x) + std::numbers::ln2, sign);
}

}  // namespace

ComplexTerm exp(const ComplexTerm& x) {
  // e^re may overflow where its product with a sine doesn't.
  const double bound = is_single(x.re) ? 88 : 709;
  const Term over = x.re > bound, rest = where(over, std::exp(bound), x.re.number(1));
  const Term size = exp(where(over, x.re - bound, x.re));
  const Term turned = finite(x.im), none = (x.re == -kInfinity) & !turned,
             all = (x.re == kInfinity) & !turned;
  const Term re = where(none, 0, where(all, kInfinity, size * cos(x.im) * rest));
  const Term im = where(x.im == 0, x.im, where(none, 0, size * sin(x.im) * rest));
  return {re, im};
}

ComplexTerm expm1(const ComplexTerm& x) {
  const Term half = sin(x.im * 0.5);
  const Term re = expm1(x.re) * cos(x.im) - half * half * 2;
  return {where(x.im == 0, expm1(x.re), re), where(x.im == 0, x.im, exp(x.re) * sin(x.im))};
}

ComplexTerm log(const ComplexTerm& x) { return {log_modulus(x), atan2(x.im, x.re)}; }

ComplexTerm log1p(const ComplexTerm& x) {
  const ComplexTerm y = x + 1.0;
  const Term is_near = (abs(x.re) < 0.5) & (abs(x.im) < 0.5);
  const Term beyond = x.re * (x.re + 2) + x.im * x.im;  // |1 + x|^2 - 1
  return {where(is_near, log1p(where(is_near, beyond, 0)) * 0.5, log_modulus(y)), atan2(x.im, y.re)};
}

ComplexTerm sqrt(const ComplexTerm& x) {
  // A quarter of what is large: the sum of a part and the modulus overflows otherwise.
  const double bound = is_single(x.re) ? 0x1p125 : 0x1p1020;
  const Term over = (abs(x.re) > bound) | (abs(x.im) > bound);
  const Term scale = where(over, 0.25, x.re.number(1)), back = where(over, 2, x.re.number(1));
  const Term a = x.re * scale, b = x.im * scale;
  const Term root = sqrt((abs(a) + binary(Op::hypot, a, b)) * 0.5), none = root == 0;
  const Term other = where(none, 0, abs(b) / (where(none, 1, root) * 2));
  const Term right = a >= 0, whole = infinite(x.im);
  const Term re = where(whole, kInfinity, where(right, root, other) * back);
  const Term im = where(whole, x.im, copysign(where(right, other, root), b) * back);
  return {re, im};
}

ComplexTerm sinh(const ComplexTerm& x) {
  const Term turned = finite(x.im);
  const Term re = sinh(x.re) * cos(x.im), im = cosh(x.re) * sin(x.im);
  const Term unturned = where(x.re == 0, x.re, where(infinite(x.re), kInfinity, re));
  return {where(turned, re, unturned), where(x.im == 0, x.im, im)};
}

ComplexTerm cosh(const ComplexTerm& x) {
  const Term turned = finite(x.im);
  const Term re = cosh(x.re) * cos(x.im), im = sinh(x.re) * sin(x.im);
  const Term zero = copysign(0, x.re) * copysign(1, x.im);
  return {where((!turned) & infinite(x.re), kInfinity, re), where((x.re == 0) | (x.im == 0), zero, im)};
}

ComplexTerm tanh(const ComplexTerm& x) {
  const double bound = is_single(x.re) ? 11 : 22;
  const Term far = abs(x.re) > bound;
  const Term t = tan(x.im), slope = t * t + 1, s = sinh(where(far, 0, x.re));
  const Term divisor = slope * s * s + 1;
  const Term re = slope * sqrt(s * s + 1) * s / divisor, im = t / divisor;
  const Term small = sin(x.im) * cos(x.im) * exp(abs(x.re) * -2) * 4;
  const Term beyond = where(finite(x.im), small, copysign(0, x.im));
  return {where(far, copysign(1, x.re), where(x.re == 0, x.re, re)),
          where(x.im == 0, x.im, where(far, beyond, im))};
}

ComplexTerm asin(const ComplexTerm& x) {
  const Term large = is_large(x);
  const ComplexTerm z = unless_large(large, x);
  const ComplexTerm a = sqrt(1 - z), b = sqrt(z + 1);
  // The real part of a * b, and the imaginary one of conj(a) * b.
  const ComplexTerm near{atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re)};
  const ComplexTerm far{atan2(x.re, abs(x.im)), log_of_double(x, x.im)};
  const ComplexTerm y = choose(large, far, near);
  return {where(x.re == 0, x.re, y.re), y.im};
}

ComplexTerm acos(const ComplexTerm& x) {
  const Term large = is_large(x);
  const ComplexTerm z = unless_large(large, x);
  const ComplexTerm a = sqrt(1 - z), b = sqrt(z + 1);
  const ComplexTerm near{atan2(a.re, b.re) * 2, asinh(b.re * a.im - b.im * a.re)};
  const ComplexTerm far{atan2(abs(x.im), x.re), log_of_double(x, -x.im)};
  const ComplexTerm y = choose(large, far, near);
  return {where(x.re == 0, std::numbers::pi / 2, y.re), y.im};
}

ComplexTerm acosh(const ComplexTerm& x) {
  const Term large = is_large(x);
  const ComplexTerm z = unless_large(large, x);
  const ComplexTerm a = sqrt(z + -1.0), b = sqrt(z + 1);
  const ComplexTerm near{asinh(a.re * b.re + a.im * b.im), atan2(a.im, b.re) * 2};
  const ComplexTerm far{log_modulus(x) + std::numbers::ln2, atan2(x.im, x.re)};
  const ComplexTerm y = choose(large, far, near);
  return {y.re, where((x.re == 0) & (x.im != x.im), std::numbers::pi / 2, y.im)};
}

ComplexTerm atanh(const ComplexTerm& x) {
  const Term large = is_large(x);
  const ComplexTerm z = unless_large(large, x);
  const Term size = abs(z.re), rest = 1 - size;
  const Term re = log1p(size * 4 / (rest * rest + z.im * z.im)) * 0.25;
  const Term im = atan2(z.im * 2, rest * (size + 1) - z.im * z.im) * 0.5;
  // Far away it is 1/x beside a right angle; 1/x is 0 if a part is infinite, whatever the other is.
  const Term far = where(infinite(x.re) | infinite(x.im), 0, abs((1.0 / x).re));
  return {copysign(where(large, far, where(x.re == 0, 0, re)), x.re),
          where(large, where(x.im != x.im, x.im, copysign(std::numbers::pi / 2, x.im)), im)};
}

}  // namespace lazy::detail
