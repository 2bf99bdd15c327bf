#include "lazy/ops/reductions.hpp"

#include <algorithm>
#include <limits>

#include "lazy/core/build.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/ops/roots.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Describes a reduction: its axes, and the shapes of its result.
struct Plan {
  Dims axes;
  Shape kept;     // the operand's, reduced axes with extent 1
  Shape result;   // the shape that the user gets
  int64_t count;  // elements that are reduced to one
};

Plan plan(const char* op, const Shape& shape, const Dims& axes, KeepDims keep, const Site& s) {
  check_countable(op, shape, s);
  Plan p{normal_axes(op, axes, shape.size(), s), shape, {}, 1};
  for (int64_t a : p.axes) {
    p.count *= shape[static_cast<int>(a)];
    p.kept[static_cast<int>(a)] = 1;
  }
  for (int i = 0; i < shape.size(); ++i)
    if (keep.value || std::find(p.axes.begin(), p.axes.end(), i) == p.axes.end())
      p.result.push_back(p.kept[i]);
  return p;
}

/// Records the reductions of a plan: neighbours among them become one axis (axes of extent 1 are out of the
/// way first), then one axis after the other from the last, of 16-bit floats in float32. The reduced axes
/// stay with extent 1 until a final reshape to `result`.
Handle planned(const char* name, Op op, Handle h, const Plan& p, const Shape& result, const Site& s) {
  Shape merged;
  Dims reduced;  // positions in `merged`
  bool previous = false;
  for (int i = 0; i < h->shape.size(); ++i) {
    if (h->shape[i] == 1) continue;
    const bool now = std::find(p.axes.begin(), p.axes.end(), i) != p.axes.end();
    if (now && previous) {
      merged[merged.size() - 1] *= h->shape[i];
    } else {
      if (now) reduced.push_back(merged.size());
      merged.push_back(h->shape[i]);
    }
    previous = now;
  }
  if (!reduced.empty()) {
    h = detail::reshape(h, merged, s);
    // What one axis leaves for the next is not rounded to 16 bits.
    const DType t = h->dtype;
    const bool wide = is_half(t) && reduced.size() > 1 && (op == Op::sum || op == Op::prod);
    if (wide) h = cast(h, float32, s);
    for (int i = reduced.size() - 1; i >= 0; --i) {
      const int axis = static_cast<int>(reduced[i]);
      Shape shape = h->shape;
      shape[axis] = 1;
      h = detail::record(op, {&h}, jit::row_of(op).rule == jit::DTypeRule::index ? int64 : h->dtype, shape, s,
                         jit::Attributes::along(axis), 0, name);
    }
    if (wide) h = cast(h, t, s);
  }
  return detail::reshape(h, result, s);
}

/// Reduces to the largest or smallest along several axes, of which equal ones share the gradient equally:
/// axis by axis those that are alone in their line would have more.
Handle extreme_of_several(const char* name, Op op, const Handle& h, const Plan& p, const Site& s) {
  Composite whole(name, {&h}, s);
  return whole.result(planned(name, op, h, p, p.result, s),
                      [name, kept = p.kept, axes = p.axes](const Differentiated& d) -> std::vector<Handle> {
                        const Recorder r{name, d.site};
                        const Handle& x = d.operands[0];
                        const Handle same = r.op(Op::equal, x, r.reshape(d.result, kept));
                        const Handle taken = r.as(x->dtype, same), g = r.reshape(d.gradient, kept);
                        const Handle share = r.op(Op::divide, g, r.reduce(Op::sum, taken, axes, keepdims));
                        return {r.op(Op::multiply, taken, share)};
                      });
}

/// True if the axes are spatial ones of an image, and what is left has the places that its axes have.
bool reduces_space(const Dims& axes, int rank, KeepDims keep) {
  return !axes.empty() && (keep.value || axes.size() == rank - 2) &&
         std::all_of(axes.begin(), axes.end(), [](int64_t a) { return a >= 2; });
}

/// Reduces an image with its channels last over its spatial axes, as it lies.
Handle reduced_last(const char* name, Op op, const Handle& h, const Dims& axes, KeepDims keep,
                    const Site& s) {
  const int rank = h->shape.size();
  Dims last;
  for (const int64_t a : axes) last.push_back(axis_last(static_cast<int>(a), rank));
  Handle r = reduce(name, op, seen_last(h, s), last, keep, s);
  return keep.value ? seen_first(r, s) : r;
}

}  // namespace

Handle detail::reduce(const char* name, Op op, const Handle& h, const Dims& axes, KeepDims keep,
                      const Site& s) {
  const Plan p = plan(name, h->shape, axes, keep, s);
  if (h->channels_last && reduces_space(p.axes, h->shape.size(), keep)) [[unlikely]]
    return reduced_last(name, op, h, p.axes, keep, s);
  if (p.count == 0 && (op == Op::max || op == Op::min || op == Op::argmax || op == Op::argmin))
    fail<ShapeError>(name, "no elements along axes " + to_string(p.axes) + " of " + to_string(h->shape), s);
  if ((op == Op::argmax || op == Op::argmin) && p.count == 1) return constant(0, int64, p.result, h, s);
  if (is_bool(h->dtype)) op = op == Op::max ? Op::any : op == Op::min ? Op::all : op;
  if ((op == Op::max || op == Op::min) && p.axes.size() > 1) return extreme_of_several(name, op, h, p, s);
  return planned(name, op, h, p, p.result, s);
}

namespace {

/// Returns the dtype that sums and products accumulate in.
DType sum_type(DType t) { return is_float(t) || is_complex(t) ? t : is_unsigned_int(t) ? uint64 : int64; }
/// Returns the dtype of means and the like: those of 16-bit floats are computed in float32 and rounded once.
DType wide_type(DType t) { return is_half(t) ? float32 : float_type(t); }

Tensor accumulate(const char* name, Op op, Arg& x, const Axes& axes, KeepDims keep, MaybeDType dtype) {
  const Operand h(name, x);
  const DType t = dtype.or_else(sum_type(h->dtype));
  if (is_bool(t)) fail<DtypeError>(name, "does not accumulate in bool: use any or all", x.site());
  return returned(reduce(name, op, cast(h, t, x.site()), axes, keep, x.site()), x);
}

Tensor extreme(const char* name, Op op, Arg& x, const Axes& axes, KeepDims keep) {
  return returned(reduce(name, op, Operand(name, x), axes, keep, x.site()), x);
}

Tensor truth(const char* name, Op op, Arg& x, const Axes& axes, KeepDims keep) {
  return Tensor(reduce(name, op, Operand(name, x, bool_), axes, keep, x.site()));
}

Tensor position(const char* name, Op op, Arg& x, const Axes& axis, KeepDims keep) {
  Handle h = Operand(name, x).take();
  const Site& s = x.site();
  if (axis.size() > 1) fail<ShapeError>(name, "works along one axis, not " + to_string(axis), s);
  if (is_bool(h->dtype)) h = cast(h, uint8, s);
  return Tensor(reduce(name, op, h, axis, keep, s));
}

Handle divided_by(const char* name, const Handle& h, double n, const Site& s) {
  return binary(name, Op::divide, h, constant(n, h->dtype, {}, s), s);
}

/// Sums squared distances from the mean and divides by n - correction, in wide_type(). Its gradient is 2 by
/// that, times the distance: what goes through the mean cancels.
Handle variance(const char* name, const Handle& h, const Plan& p, double correction, const Site& s) {
  Composite whole(name, {&h}, s);
  const Handle x = cast(h, wide_type(h->dtype), s);
  const Handle mean =
      divided_by(name, planned(name, Op::sum, x, p, p.kept, s), static_cast<double>(p.count), s);
  const Handle d = binary(name, Op::subtract, x, mean, s);
  const Handle squares = planned(name, Op::sum, squared_modulus(name, d, s), p, p.result, s);
  const double freedom =
      in_default_mode([&] { return std::max(static_cast<double>(p.count) - correction, 0.0); });
  const Handle v = divided_by(name, squares, freedom, s);
  return whole.result(v, [=, kept = p.kept](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r{name, d.site};
    const Handle g =
        r.op(Op::multiply, r.reshape(d.gradient, kept), in_default_mode([&] { return 2 / freedom; }));
    return {r.op(Op::multiply, r.op(Op::subtract, r.as(mean->dtype, d.operands[0]), mean), g)};
  });
}

}  // namespace

Tensor sum(Arg x, Axes axes, KeepDims keep, MaybeDType t) {
  return accumulate("sum", Op::sum, x, axes, keep, t);
}
Tensor prod(Arg x, Axes axes, KeepDims keep, MaybeDType t) {
  return accumulate("prod", Op::prod, x, axes, keep, t);
}
Tensor max(Arg x, Axes axes, KeepDims keep) { return extreme("max", Op::max, x, axes, keep); }
Tensor min(Arg x, Axes axes, KeepDims keep) { return extreme("min", Op::min, x, axes, keep); }
Tensor any(Arg x, Axes axes, KeepDims keep) { return truth("any", Op::any, x, axes, keep); }
Tensor all(Arg x, Axes axes, KeepDims keep) { return truth("all", Op::all, x, axes, keep); }
Tensor argmax(Arg x, Axes axis, KeepDims keep) { return position("argmax", Op::argmax, x, axis, keep); }
Tensor argmin(Arg x, Axes axis, KeepDims keep) { return position("argmin", Op::argmin, x, axis, keep); }

Tensor mean(Arg x, Axes axes, KeepDims keep) {
  const Operand h("mean", x);
  const Site& s = x.site();
  const Plan p = plan("mean", h->shape, axes, keep, s);
  const Handle total = reduce("mean", Op::sum, cast(h, wide_type(h->dtype), s), axes, keep, s);
  return Tensor(cast(divided_by("mean", total, static_cast<double>(p.count), s), float_type(h->dtype), s));
}

Tensor var(Arg x, Axes axes, KeepDims keep, double correction) {
  const Operand h("var", x);
  const Plan p = plan("var", h->shape, axes, keep, x.site());
  return Tensor(
      cast(variance("var", h, p, correction, x.site()), plane_type(float_type(h->dtype)), x.site()));
}

namespace {
Tensor deviation(const char* name, Arg& x, const Axes& axes, KeepDims keep, double correction) {
  const Operand h(name, x);
  const Plan p = plan(name, h->shape, axes, keep, x.site());
  const Recorder r{name, x.site()};
  return r.tensor(r.as(plane_type(float_type(h->dtype)), root(r, variance(name, h, p, correction, r.site))));
}
}  // namespace

Tensor stdev(Arg x, Axes axes, KeepDims keep, double correction) {
  return deviation("stdev", x, axes, keep, correction);
}
Tensor std(Arg x, Axes axes, KeepDims keep, double correction) {
  return deviation("std", x, axes, keep, correction);
}

// Computes log(sum(exp(x - m))) + m with m the maximum, or 0 where that is infinite or NaN: exp then gives
// the right special value by itself.
Tensor logsumexp(Arg x, Axes axes, KeepDims keep) {
  constexpr const char* name = "logsumexp";
  const Handle h = Operand(name, x).take();
  const Site& s = x.site();
  const Plan p = plan(name, h->shape, axes, keep, s);
  Composite whole(name, {&h}, s);
  const Handle v = cast(h, wide_type(h->dtype), s);
  Handle r;
  if (p.count == 0) {
    r = unary(Op::log, planned(name, Op::sum, v, p, p.result, s), s);
  } else {
    const Handle top = planned(name, Op::max, v, p, p.kept, s);
    const Handle m = detail::where(name, unary(Op::isfinite, top, s), top, constant(0, v->dtype, {}, s), s);
    const Handle e = unary(Op::exp, binary(name, Op::subtract, v, m, s), s);
    r = unary(Op::log, planned(name, Op::sum, e, p, p.result, s), s);
    r = binary(name, Op::add, r, detail::reshape(m, p.result, s), s);
  }
  const auto derivative = [name, kept = p.kept](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r{name, d.site};
    const DType t = wide_type(d.result->dtype);
    const Handle y = r.reshape(r.as(t, d.result), kept), g = r.reshape(r.as(t, d.gradient), kept);
    const Handle none = r.op(Op::equal, y, -std::numeric_limits<double>::infinity());  // every element is so
    const Handle share = r.op(Op::exp, r.op(Op::subtract, r.as(t, d.operands[0]), r.where(none, 0, y)));
    return {r.op(Op::multiply, share, g)};
  };
  return Tensor(whole.result(cast(r, float_type(h->dtype), s), derivative));
}

Tensor count_nonzero(Arg x, Axes axes, KeepDims keep) {
  const Operand h("count_nonzero", x, bool_);
  return Tensor(reduce("count_nonzero", Op::sum, cast(h, int64, x.site()), axes, keep, x.site()));
}

}  // namespace lazy
