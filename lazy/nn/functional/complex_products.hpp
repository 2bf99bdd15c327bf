// Computes products of complex images and weights as four of their planes. Internal to lazy/.
#pragma once
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"

namespace lazy::detail {

/// Returns product(x, w, bias), which is linear in x and in w, of complex operands: `bias` is added to it and
/// may be undefined.
template <class Product>
Tensor product_of_planes(const char* name, const Arg& x, const Arg& w, const Tensor& bias, const Site& s,
                         Product&& product) {
  const DType t = complex_type(contraction_type(name, {&x, &w}, {&bias}));
  const Planes a = planes_of(Operand(name, x, t)), b = planes_of(Operand(name, w, t));
  Planes added;
  if (bias.defined()) added = planes_of(cast(bias.handle(), t, s));
  const auto times = [&](const Handle& p, const Handle& q, const Handle& c) {
    return product(Arg(p, s), Arg(q, s), Tensor(c)).handle();
  };
  const Handle none;
  const Handle re = binary(name, Op::subtract, times(a.re, b.re, added.re), times(a.im, b.im, none), s);
  const Handle im = binary(name, Op::add, times(a.re, b.im, added.im), times(a.im, b.re, none), s);
  return Tensor(complex(re, im, s));
}

/// True if one of the arguments is complex.
inline bool any_complex(const Arg& x, const Arg& w) {
  return (x.handle() && is_complex(x.handle()->dtype)) || (w.handle() && is_complex(w.handle()->dtype));
}

}  // namespace lazy::detail
