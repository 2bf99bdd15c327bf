// Records functions of floating-point numbers: 16-bit floats are computed in float32 and rounded once, bools
// and integers in the default dtype. Internal to lazy/.
#pragma once
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

/// Applies f to the argument in the dtype it is computed in, at least `least`; the result has the argument's
/// dtype.
template <class F>
Tensor of_float(const char* name, Arg& x, F&& f, DType least = float32) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const DType t = float_type(h->dtype), work = least == float64 ? float64 : wide_float(t);
  return r.tensor(r.as(t, f(r, r.as(work, h))));
}

/// Applies f to both arguments likewise.
template <class F>
Tensor of_floats(const char* name, Arg& a, Arg& b, F&& f, DType least = float32) {
  const Recorder r{name, a.site()};
  const DType t = float_type(common_type(name, {&a, &b})), work = least == float64 ? float64 : wide_float(t);
  const Operand x(name, a, t), y(name, b, t);
  return r.tensor(r.as(t, f(r, r.as(work, x), r.as(work, y))));
}

/// Returns x - y, and 0 where they are the same infinity. Differentiates as x - y where they are equal, too.
inline Handle difference(const Recorder& r, const Handle& x, const Handle& y) {
  const Handle same = r.both(r.op(Op::equal, x, y), r.opposite(r.op(Op::isfinite, x)));
  return r.where(same, 0, r.op(Op::subtract, x, y));
}

/// Returns f(r, h), whose derivative is the function `slope`: shorter than that of its ops, and finite where
/// parts of them that are not chosen are not.
template <class F>
Handle with_slope(const Recorder& r, const Handle& h, F&& f, Tensor (*slope)(Arg)) {
  Composite whole(r.name, {&h}, r.site);
  return whole.result(f(r, h), [name = r.name, slope](const Differentiated& d) -> std::vector<Handle> {
    const Recorder at{name, d.site};
    return {at.op(Op::multiply, slope(at.arg(d.operands[0])).handle(), d.gradient)};
  });
}

/// Returns the polynomial of x whose coefficients are given, the highest first.
template <size_t n>
inline Handle polynomial(const Recorder& r, const double (&coefficients)[n], const Handle& x) {
  Handle p = r.number(coefficients[0], x->dtype);
  for (size_t i = 1; i < n; ++i) p = r.fma(p, x, r.number(coefficients[i], x->dtype));
  return p;
}

}  // namespace lazy::detail
