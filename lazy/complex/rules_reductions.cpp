// Holds the rules of reductions, scans and products of matrices.
#include "lazy/complex/rules.hpp"

namespace lazy::detail {
namespace {

using P = const PlaneOp&;

/// Sums both planes, each in the order of real sums.
Handle sums(P p) {
  const Planes x = planes_of(p.operand(0));
  const auto summed = [&](const Handle& h) {
    return detail::record(p.op, {&h}, h->dtype, p.shape, p.site, p.attributes);
  };
  const Handle re = summed(x.re);
  return jit::complex(re, is_no_imaginary_part(x.im) ? no_imaginary_part(re, p.site) : summed(x.im), p.site);
}

/// Multiplies halves of the axis by each other until one element is left, in log2(n) steps.
Handle product(P p) {
  const Recorder r{p.name, p.site};
  const int axis = jit::axis_of(p.attributes);
  Handle h = p.operand(0), rest;
  if (h->shape[axis] == 0) return r.filled(1, p.dtype, p.shape, h);
  while (h->shape[axis] > 1) {
    const int64_t n = h->shape[axis], half = n / 2;
    if (n % 2 != 0) {
      const Handle last = r.part(h, axis, n - 1, 1);
      rest = rest ? r.op(Op::multiply, rest, last) : last;
    }
    h = r.op(Op::multiply, r.part(h, axis, 0, half), r.part(h, axis, half, half));
  }
  return r.reshape(rest ? r.op(Op::multiply, h, rest) : h, p.shape);
}

/// Multiplies elements `gap` apart: after k passes each is the product of the 2^k up to it.
Handle running_product(P p) {
  const Recorder r{p.name, p.site};
  const int axis = jit::axis_of(p.attributes);
  Handle h = p.operand(0);
  const int64_t n = numel(h->shape) == 0 ? 0 : h->shape[axis];
  for (int64_t gap = 1; gap < n; gap *= 2) {
    const Handle before = r.part(h, axis, 0, n - gap), here = r.part(h, axis, gap, n - gap);
    h = r.replaced(h, r.op(Op::multiply, before, here), axis, gap);
  }
  return h;
}

/// Makes four products of planes. Gauss' three lose digits where parts differ in size, and save nothing that
/// counts: additions of planes and memory take the rest.
Handle matmul(P p) {
  const Formula f(p.name, p.site);
  const ComplexTerm a(f, p.operand(0)), b(f, p.operand(1));
  const auto times = [&](const Term& x, const Term& y) {
    return f.term(detail::matmul(p.name, x.handle(), y.handle(), p.site));
  };
  const Term re = times(a.re, b.re);
  if (a.is_real() && b.is_real())
    return jit::complex(re.handle(), no_imaginary_part(re.handle(), p.site), p.site);
  if (a.is_real()) return ComplexTerm(re, times(a.re, b.im)).handle();
  if (b.is_real()) return ComplexTerm(re, times(a.im, b.re)).handle();
  return ComplexTerm(re - times(a.im, b.im), times(a.re, b.im) + times(a.im, b.re)).handle();
}

constexpr PlaneRuleRow kReductionRows[] = {
    {Op::sum, sums},      {Op::cumsum, sums}, {Op::prod, product}, {Op::cumprod, running_product},
    {Op::matmul, matmul},
};

}  // namespace

std::span<const PlaneRuleRow> plane_rules_of_reductions() { return kReductionRows; }

}  // namespace lazy::detail
