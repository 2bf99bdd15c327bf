// Lets rules of complex numbers be written as formulas of their parts. Internal to lazy/.
#pragma once
#include "lazy/core/planes.hpp"
#include "lazy/formula/formula.hpp"

namespace lazy::detail {

/// Holds both parts of a value, which have one shape.
struct ComplexTerm {
  Term re, im;

  ComplexTerm(Term real, Term imaginary) : re(std::move(real)), im(std::move(imaginary)) {}
  /// Takes a complex value apart; a real one has no imaginary part.
  ComplexTerm(const Formula&, const Handle&);
  const Formula& formula() const { return re.formula(); }
  /// True if the program's text says that it has no imaginary part.
  bool is_real() const { return is_no_imaginary_part(im.handle()); }
  Handle handle() const { return jit::complex(re.handle(), im.handle(), formula().site); }
};

ComplexTerm operator+(const ComplexTerm&, const ComplexTerm&);
ComplexTerm operator-(const ComplexTerm&, const ComplexTerm&);
ComplexTerm operator-(const ComplexTerm&);
ComplexTerm operator*(const ComplexTerm&, const ComplexTerm&);
ComplexTerm operator*(const ComplexTerm&, double);
/// Divides by Smith's method: the larger part of the divisor is divided by first, so that no square of it
/// overflows.
ComplexTerm operator/(const ComplexTerm&, const ComplexTerm&);
/// Returns x + number, and number - x.
ComplexTerm operator+(const ComplexTerm&, double);
ComplexTerm operator-(double, const ComplexTerm&);
/// Returns number / x.
ComplexTerm operator/(double, const ComplexTerm&);

/// Multiply by i and by -i.
ComplexTerm times_i(const ComplexTerm&);
ComplexTerm times_minus_i(const ComplexTerm&);
ComplexTerm square(const ComplexTerm&);
/// Returns |x|.
Term modulus(const ComplexTerm&);

// These are functions of real numbers.
inline Term sin(const Term& x) { return unary(Op::sin, x); }
inline Term cos(const Term& x) { return unary(Op::cos, x); }
inline Term tan(const Term& x) { return unary(Op::tan, x); }
inline Term sinh(const Term& x) { return unary(Op::sinh, x); }
inline Term cosh(const Term& x) { return unary(Op::cosh, x); }
inline Term asinh(const Term& x) { return unary(Op::asinh, x); }
inline Term atan2(const Term& y, const Term& x) { return binary(Op::atan2, y, x); }

// Elementary functions, with the branch cuts of NumPy and C.
ComplexTerm exp(const ComplexTerm&);
ComplexTerm expm1(const ComplexTerm&);
ComplexTerm log(const ComplexTerm&);
ComplexTerm log1p(const ComplexTerm&);
ComplexTerm sqrt(const ComplexTerm&);
ComplexTerm sinh(const ComplexTerm&);
ComplexTerm cosh(const ComplexTerm&);
ComplexTerm tanh(const ComplexTerm&);
ComplexTerm asin(const ComplexTerm&);
ComplexTerm acos(const ComplexTerm&);
ComplexTerm acosh(const ComplexTerm&);
ComplexTerm atanh(const ComplexTerm&);

}  // namespace lazy::detail
