#include "lazy/complex/number.hpp"

namespace lazy::detail {
namespace {

Handle imaginary_of(const Handle& h, const Site& s) {
  return is_complex(h->dtype) ? jit::imaginary_plane(h) : no_imaginary_part(h, s);
}

/// Returns what has no imaginary part, in the shape of the real one.
ComplexTerm real_number(const Term& re) {
  return {re, re.formula().term(no_imaginary_part(re.handle(), re.formula().site))};
}

/// Returns the parts in one shape: one of them may be an operand that has not been broadcast.
ComplexTerm of_parts(const Term& re, const Term& im) { return {re, broadcast(im, re.shape())}; }

}  // namespace

ComplexTerm::ComplexTerm(const Formula& f, const Handle& h)
    : re(f.term(real_part(h))), im(f.term(imaginary_of(h, f.site))) {}

ComplexTerm operator+(const ComplexTerm& a, const ComplexTerm& b) {
  const Term re = a.re + b.re;
  if (a.is_real() && b.is_real()) return real_number(re);
  return of_parts(re, a.is_real() ? b.im : b.is_real() ? a.im : a.im + b.im);
}

ComplexTerm operator-(const ComplexTerm& a, const ComplexTerm& b) {
  const Term re = a.re - b.re;
  if (a.is_real() && b.is_real()) return real_number(re);
  return of_parts(re, a.is_real() ? -b.im : b.is_real() ? a.im : a.im - b.im);
}

ComplexTerm operator-(const ComplexTerm& a) {
  return a.is_real() ? real_number(-a.re) : ComplexTerm(-a.re, -a.im);
}

ComplexTerm operator*(const ComplexTerm& a, const ComplexTerm& b) {
  if (a.is_real() && b.is_real()) return real_number(a.re * b.re);
  if (b.is_real()) return {a.re * b.re, a.im * b.re};
  if (a.is_real()) return {a.re * b.re, a.re * b.im};
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

ComplexTerm operator*(const ComplexTerm& a, double b) { return {a.re * b, a.im * b}; }

ComplexTerm operator/(const ComplexTerm& a, const ComplexTerm& b) {
  if (b.is_real()) return a.is_real() ? real_number(a.re / b.re) : ComplexTerm(a.re / b.re, a.im / b.re);
  const Term upright = abs(b.re) >= abs(b.im);
  const Term large = where(upright, b.re, b.im), small = where(upright, b.im, b.re);
  const Term ratio = where(large == 0, 0, small / large), divisor = large + small * ratio;
  const Term x = where(upright, a.re, a.im), y = where(upright, a.im, a.re);
  const Term re = (x + y * ratio) / divisor, turned = (y - x * ratio) / divisor;
  return {re, where(upright, turned, -turned)};
}

ComplexTerm operator+(const ComplexTerm& a, double b) { return of_parts(a.re + b, a.im); }
ComplexTerm operator-(double a, const ComplexTerm& b) { return {a - b.re, -b.im}; }
ComplexTerm operator/(double a, const ComplexTerm& b) { return real_number(b.re.number(a)) / b; }

ComplexTerm times_i(const ComplexTerm& a) { return {-a.im, a.re}; }
ComplexTerm times_minus_i(const ComplexTerm& a) { return {a.im, -a.re}; }
ComplexTerm square(const ComplexTerm& a) { return a * a; }
Term modulus(const ComplexTerm& a) { return binary(Op::hypot, a.re, a.im); }

}  // namespace lazy::detail
