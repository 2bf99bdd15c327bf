// Holds the rules of arithmetic, comparisons and casts.
#include "lazy/complex/rules.hpp"

namespace lazy::detail {
namespace {

using P = const PlaneOp&;

template <ComplexTerm (*f)(const ComplexTerm&, const ComplexTerm&)>
Handle of_two(P p) {
  const Formula formula(p.name, p.site);
  return f({formula, p.operand(0)}, {formula, p.operand(1)}).handle();
}

ComplexTerm subtracted(const ComplexTerm& a, const ComplexTerm& b) { return a - b; }

Handle negative(P p) {
  const Formula f(p.name, p.site);
  return (-ComplexTerm(f, p.operand(0))).handle();
}

Handle fma(P p) {
  const Formula f(p.name, p.site);
  return (ComplexTerm(f, p.operand(0)) * ComplexTerm(f, p.operand(1)) + ComplexTerm(f, p.operand(2)))
      .handle();
}

Handle abs(P p) {
  const Formula f(p.name, p.site);
  return modulus({f, p.operand(0)}).handle();
}

/// Returns x / |x|, and 0 of 0.
Handle sign(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm x(f, p.operand(0));
  const Term size = modulus(x), none = size == 0;
  const Term by = where(none, 1, size);
  return ComplexTerm(x.re / by, x.im / by).handle();
}

Handle round(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm x(f, p.operand(0));
  return ComplexTerm(detail::round(x.re), detail::round(x.im)).handle();
}

Handle equal(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm a(f, p.operand(0)), b(f, p.operand(1));
  return ((a.re == b.re) & (a.im == b.im)).handle();
}

Handle not_equal(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm a(f, p.operand(0)), b(f, p.operand(1));
  return ((a.re != b.re) | (a.im != b.im)).handle();
}

template <Op op>
Handle either(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm x(f, p.operand(0));
  return (unary(op, x.re) | unary(op, x.im)).handle();
}

Handle isfinite(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm x(f, p.operand(0));
  return (unary(Op::isfinite, x.re) & unary(Op::isfinite, x.im)).handle();
}

Handle cast(P p) {
  const Formula f(p.name, p.site);
  const Handle& from = p.operand(0);
  if (is_complex(p.dtype)) {
    const DType plane = plane_type(p.dtype);
    if (!is_complex(from->dtype)) {
      const Handle re = f.as(plane, from);
      return jit::complex(re, no_imaginary_part(re, p.site), p.site);
    }
    const Planes x = planes_of(from);
    const Handle re = f.as(plane, x.re);
    return jit::complex(re, is_no_imaginary_part(x.im) ? no_imaginary_part(re, p.site) : f.as(plane, x.im),
                        p.site);
  }
  if (p.dtype != bool_) need_real(p.name, from->dtype, p.site);
  const ComplexTerm x(f, from);
  return ((x.re != 0) | (x.im != 0)).handle();
}

constexpr PlaneRuleRow kArithmeticRows[] = {
    {Op::cast, cast}, {Op::negative, negative}, {Op::abs, abs}, {Op::sign, sign}, {Op::round, round},
    {Op::add, of_two < operator+> }, {Op::subtract, of_two<subtracted>},
     {Op::multiply, of_two < operator*> },
      {
          Op::divide,
          of_two < operator/> },
          {Op::fma, fma},
          {Op::equal, equal},
          {Op::not_equal, not_equal},
          {Op::isnan, either<Op::isnan>},
          {Op::isinf, either<Op::isinf>},
          {Op::isfinite, isfinite},
     };

}  // namespace

std::span<const PlaneRuleRow> plane_rules_of_arithmetic() { return kArithmeticRows; }

}  // namespace lazy::detail
