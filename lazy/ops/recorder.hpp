// Records the ops of a function that is made of others, under its name and at the user's line. Internal to
// lazy/.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>

#include "lazy/core/build.hpp"

namespace lazy::detail {

/// Records ops for one call of a function: `name` is the function's, `site` the user's line. A number takes
/// the dtype of the operand beside it.
struct Recorder {
  const char* name;
  Site site;

  template <class E>
  [[noreturn]] void fail(const std::string& what) const {
    detail::fail<E>(name, what, site);
  }
  Handle number(const ScalarNumber& v, DType t) const { return constant(v, t, {}, site); }
  Handle as(DType t, const Handle& h) const { return cast(h, t, site); }
  Handle op(Op o, const Handle& a) const { return unary(o, a, site, 0, name); }
  Handle op(Op o, const Handle& a, const Handle& b) const { return binary(name, o, a, b, site); }
  Handle op(Op o, const Handle& a, const ScalarNumber& b) const { return op(o, a, number(b, a->dtype)); }
  Handle op(Op o, const ScalarNumber& a, const Handle& b) const { return op(o, number(a, b->dtype), b); }
  Handle where(const Handle& c, const Handle& a, const Handle& b) const {
    return detail::where(name, c, a, b, site);
  }
  Handle where(const Handle& c, const ScalarNumber& a, const Handle& b) const {
    return where(c, number(a, b->dtype), b);
  }
  Handle where(const Handle& c, const Handle& a, const ScalarNumber& b) const {
    return where(c, a, number(b, a->dtype));
  }
  Handle fma(const Handle& a, const Handle& b, const Handle& c) const {
    return detail::fma(name, a, b, c, site);
  }
  Handle either(const Handle& a, const Handle& b) const { return op(Op::bitwise_or, a, b); }
  Handle both(const Handle& a, const Handle& b) const { return op(Op::bitwise_and, a, b); }
  Handle opposite(const Handle& a) const { return op(Op::bitwise_invert, a); }
  /// Returns the elements that are NaN; none for a dtype without them.
  Handle is_nan(const Handle& h) const {
    return is_float(h->dtype) || is_complex(h->dtype)
               ? op(Op::isnan, h)
               : constant(ScalarNumber(false), bool_, h->shape, h, site);
  }
  Handle reduce(Op o, const Handle& h, const Dims& axes, KeepDims keep = dropdims) const {
    return detail::reduce(name, o, h, axes, keep, site);
  }
  Handle reshape(const Handle& h, const Shape& shape) const { return detail::reshape(h, shape, site); }
  Handle permute(const Handle& h, const Dims& axes) const { return detail::permute(h, axes, site); }
  Handle broadcast(const Handle& h, const Shape& shape) const { return detail::broadcast(h, shape, site); }
  Handle filled(const ScalarNumber& v, DType t, const Shape& shape, const Handle& like) const {
    return constant(v, t, shape, like, site);
  }
  Handle index(int axis, const Shape& shape, const Handle& like) const {
    return iota(axis, shape, like->device, site);
  }
  /// Returns `length` elements of an axis, from `start` on, `step` apart.
  Handle part(const Handle& h, int axis, int64_t start, int64_t length, int64_t step = 1) const {
    Dims starts(h->shape.size(), 0), steps(h->shape.size(), 1);
    Shape shape = h->shape;
    shape[axis] = length;
    if (length > 0) starts[axis] = start;
    if (length > 1) steps[axis] = step;
    return detail::slice(h, starts, steps, shape, site);
  }
  /// Returns the axis in reverse.
  Handle reversed(const Handle& h, int axis) const {
    return part(h, axis, h->shape[axis] - 1, h->shape[axis], -1);
  }
  /// Replaces the elements of an axis from `start` on.
  Handle replaced(const Handle& base, const Handle& update, int axis, int64_t start) const {
    if (numel(update->shape) == 0) return base;
    if (update->shape == base->shape) return update;
    Dims starts(base->shape.size(), 0);
    starts[axis] = start;
    return slice_update(name, base, update, starts, Dims(starts.size(), 1), site);
  }
  int axis(int64_t a, const Handle& h) const { return normal_axis(name, a, h->shape.size(), site); }
  Tensor tensor(const Handle& h) const { return Tensor(h); }
  /// Returns the value of a function that may give an argument back as it is.
  Tensor tensor(const Handle& h, const Arg& given) const { return returned(h, given); }
  /// Hands the value to another function as an argument written at the user's line.
  Arg arg(const Handle& h) const { return Arg(h, site); }
};

/// Returns the axes 0, 1, ... rank - 1.
inline Dims axes_in_order(int rank) {
  Dims r(rank, 0);
  for (int i = 0; i < rank; ++i) r[i] = i;
  return r;
}

/// Returns the axes with `axis` and the last one exchanged.
inline Dims with_last(int axis, int rank) {
  Dims r = axes_in_order(rank);
  std::swap(r[axis], r[rank - 1]);
  return r;
}

/// Returns the dtype that sums and the like of floats are computed in: 16-bit ones in float32.
inline DType wide_float(DType t) { return is_half(t) ? float32 : float_type(t); }

}  // namespace lazy::detail
