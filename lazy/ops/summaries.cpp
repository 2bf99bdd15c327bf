#include "lazy/ops/summaries.hpp"

#include <algorithm>

#include "lazy/core/special_values.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/running.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds a floating-point operand and the dtypes of computation and result.
struct Floats {
  Recorder r;
  DType dtype, work;
  Handle x;

  Floats(const char* name, Arg& a) : r{name, a.site()} {
    const Handle h = Operand(name, a).take();
    dtype = float_type(h->dtype), work = wide_float(dtype);
    x = r.as(work, h);
  }
  Tensor result(const Handle& h) const { return r.tensor(r.as(dtype, h)); }
};

/// Returns x with `value` in place of NaN.
Handle without_nan(const Recorder& r, const Handle& x, double value) {
  return is_float(x->dtype) ? r.where(r.op(Op::isnan, x), value, x) : x;
}

/// Returns the position among elements of which those that are NaN cannot win, unless all do.
Tensor position(const char* name, Arg& x, const Axes& axis, KeepDims keep, bool largest) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  if (axis.size() > 1) r.fail<ShapeError>("works along one axis, not " + to_string(axis));
  if (!axis.empty()) r.axis(axis[0], h);
  const int64_t n = axis.empty() ? numel(h->shape) : h->shape[r.axis(axis[0], h)];
  if (n == 0) r.fail<ShapeError>("no elements along the axis of " + to_string(h->shape));
  const auto at = [&](const Handle& v) {
    return (largest ? argmax(r.arg(v), axis, keep) : argmin(r.arg(v), axis, keep)).handle();
  };
  if (!is_float(h->dtype)) return r.tensor(at(h));
  const Handle number = r.opposite(r.op(Op::isnan, h));
  const double worst = largest ? -kInfinity : kInfinity;
  const Handle kept = r.where(number, h, worst);
  // Infinities of the wrong sign are no better than NaN: then the first number counts.
  const Handle extreme = r.reduce(largest ? Op::max : Op::min, kept, axis, keepdims);
  const Handle winner = r.both(number, r.op(Op::equal, kept, extreme));
  return r.tensor(argmax(r.arg(r.as(uint8, winner)), axis, keep).handle());
}

/// Returns `length` elements of the axis from `start` on, negative ones counting from the end.
Handle piece(const Recorder& r, const Handle& x, int axis, int64_t start, int64_t length) {
  return r.part(x, axis, start < 0 ? start + x->shape[axis] : start, length);
}

/// Returns the sum of three elements from `start` on, each times a weight that broadcasts.
Handle weighed(const Recorder& r, const Handle& x, int axis, int64_t start, const Handle (&weights)[3]) {
  Handle sum;
  for (int i = 0; i < 3; ++i) {
    const Handle term = r.op(Op::multiply, piece(r, x, axis, start + i, 1), weights[i]);
    sum = sum ? r.op(Op::add, sum, term) : term;
  }
  return sum;
}

void check_gradient(const Recorder& r, const Handle& x, int axis, int64_t edge_order) {
  if (edge_order != 1 && edge_order != 2)
    r.fail<Error>("edge_order is 1 or 2, not " + std::to_string(edge_order));
  if (x->shape[axis] < edge_order + 1)
    r.fail<ShapeError>(to_string(x->shape) + " has fewer than " + std::to_string(edge_order + 1) +
                       " elements along axis " + std::to_string(axis));
}

/// Puts the first, the inner and the last elements of an axis beside each other.
Handle between_ends(const Recorder& r, const Handle& x, int axis, const Handle& first, const Handle& inner,
                    const Handle& last) {
  const int64_t n = x->shape[axis];
  Handle y = r.filled(0, x->dtype, x->shape, x);
  y = r.replaced(y, first, axis, 0);
  y = r.replaced(y, inner, axis, 1);
  return r.replaced(y, last, axis, n - 1);
}

/// Returns the differences over even spacing.
Handle slope(const Recorder& r, const Handle& x, int axis, double spacing, int64_t edge_order) {
  const int64_t n = x->shape[axis];
  const auto at = [&](int64_t start, int64_t length) { return piece(r, x, axis, start, length); };
  const Handle h = r.number(spacing, x->dtype);
  const Handle inner =
      r.op(Op::divide, r.op(Op::subtract, at(2, n - 2), at(0, n - 2)), r.op(Op::multiply, h, 2));
  if (edge_order == 1)
    return between_ends(r, x, axis, r.op(Op::divide, r.op(Op::subtract, at(1, 1), at(0, 1)), h), inner,
                        r.op(Op::divide, r.op(Op::subtract, at(-1, 1), at(-2, 1)), h));
  const auto end = [&](double a, double b, double c, int64_t start) {
    const Handle weights[3] = {r.op(Op::divide, a, h), r.op(Op::divide, b, h), r.op(Op::divide, c, h)};
    return weighed(r, x, axis, start, weights);
  };
  return between_ends(r, x, axis, end(-1.5, 2, -0.5, 0), inner, end(0.5, -2, 1.5, n - 3));
}

/// Returns the differences over the distances `d` of points, whose axis is that of x.
Handle uneven_slope(const Recorder& r, const Handle& x, int axis, const Handle& d, int64_t edge_order) {
  const int64_t n = x->shape[axis];
  const auto at = [&](int64_t start, int64_t length) { return piece(r, x, axis, start, length); };
  const auto sum = [&](const Handle& p, const Handle& q) { return r.op(Op::add, p, q); };
  const auto product = [&](const Handle& p, const Handle& q) { return r.op(Op::multiply, p, q); };
  const auto quotient = [&](const Handle& p, const Handle& q) { return r.op(Op::divide, p, q); };
  const auto minus = [&](const Handle& p) { return r.op(Op::negative, p); };
  const Handle h0 = piece(r, d, axis, 0, n - 2), h1 = piece(r, d, axis, 1, n - 2);
  const Handle both = sum(h0, h1);
  const Handle before = minus(quotient(h1, product(h0, both)));
  const Handle here = quotient(r.op(Op::subtract, h1, h0), product(h0, h1));
  const Handle after = quotient(h0, product(h1, both));
  const Handle inner =
      sum(sum(product(before, at(0, n - 2)), product(here, at(1, n - 2))), product(after, at(2, n - 2)));
  if (edge_order == 1)
    return between_ends(r, x, axis, quotient(r.op(Op::subtract, at(1, 1), at(0, 1)), piece(r, d, axis, 0, 1)),
                        inner, quotient(r.op(Op::subtract, at(-1, 1), at(-2, 1)), piece(r, d, axis, -1, 1)));
  const auto parabola = [&](const Handle& near, const Handle& far) {  // weights from the end inwards
    const Handle reach = sum(near, far);
    return std::array<Handle, 3>{minus(quotient(sum(reach, near), product(near, reach))),
                                 quotient(reach, product(near, far)),
                                 minus(quotient(near, product(far, reach)))};
  };
  const auto first = parabola(piece(r, d, axis, 0, 1), piece(r, d, axis, 1, 1));
  const auto last = parabola(piece(r, d, axis, -1, 1), piece(r, d, axis, -2, 1));
  const Handle forward[3] = {first[0], first[1], first[2]};
  const Handle backward[3] = {minus(last[2]), minus(last[1]), minus(last[0])};
  return between_ends(r, x, axis, weighed(r, x, axis, 0, forward), inner,
                      weighed(r, x, axis, n - 3, backward));
}

/// Returns points of one dimension, or that broadcast to the values, with the values' rank.
Handle points_along(const Recorder& r, Handle p, const Handle& y, int axis) {
  const int rank = y->shape.size();
  if (p->shape.size() == 1) {
    Shape shape(rank, 1);
    shape[axis] = p->shape[0];
    p = r.reshape(p, shape);
  }
  Shape led(std::max(0, rank - p->shape.size()), 1);
  for (const int64_t n : p->shape) led.push_back(n);
  if (led.size() != rank || led[axis] != y->shape[axis] ||
      broadcast_shapes(r.name, led, y->shape, r.site) != y->shape)
    r.fail<ShapeError>("points of shape " + to_string(p->shape) + " do not fit " + to_string(y->shape) +
                       " along axis " + std::to_string(axis));
  return r.reshape(p, led);
}

Handle differences(const Recorder& r, const Handle& x, int axis) {
  const int64_t gaps = std::max<int64_t>(x->shape[axis] - 1, 0);
  return r.op(Op::subtract, r.part(x, axis, 1, gaps), r.part(x, axis, 0, gaps));
}

Handle running_integral(const Recorder& r, const Handle& y, int axis, const Handle& distances) {
  const int64_t gaps = std::max<int64_t>(y->shape[axis] - 1, 0);
  const Handle pairs = r.op(Op::add, r.part(y, axis, 1, gaps), r.part(y, axis, 0, gaps));
  const Handle areas = r.op(Op::multiply, r.op(Op::multiply, pairs, distances), 0.5);
  return cumsum(r.arg(areas), axis).handle();
}

/// Returns values and points in their common dtype.
Floats common_floats(const char* name, Arg& y, Arg& x, Handle& points) {
  const DType t = float_type(common_type(name, {&y, &x}));
  Arg values(Operand(name, y, t).take(), y.site());
  Floats f(name, values);
  points = f.r.as(f.work, Operand(name, x, t).take());
  return f;
}

}  // namespace

VarMean var_mean(Arg x, Axes axes, KeepDims keep, double correction) {
  const Recorder r{"var_mean", x.site()};
  const Handle h = Operand(r.name, x).take();
  normal_axes(r.name, axes, h->shape.size(), r.site);
  return {var(r.arg(h), axes, keep, correction), mean(r.arg(h), axes, keep)};
}

StdMean std_mean(Arg x, Axes axes, KeepDims keep, double correction) {
  const Recorder r{"std_mean", x.site()};
  const Handle h = Operand(r.name, x).take();
  normal_axes(r.name, axes, h->shape.size(), r.site);
  return {stdev(r.arg(h), axes, keep, correction), mean(r.arg(h), axes, keep)};
}

MinMax aminmax(Arg x, Axes axes, KeepDims keep) {
  const Recorder r{"aminmax", x.site()};
  const Handle h = Operand(r.name, x).take();
  return {r.tensor(r.reduce(Op::min, h, axes, keep)), r.tensor(r.reduce(Op::max, h, axes, keep))};
}

Tensor nanargmax(Arg x, Axes axis, KeepDims keep) { return position("nanargmax", x, axis, keep, true); }
Tensor nanargmin(Arg x, Axes axis, KeepDims keep) { return position("nanargmin", x, axis, keep, false); }

namespace {
/// Checks that a running reduction has one axis at most, in range.
void check_running(const Recorder& r, const Handle& h, const Axes& axis) {
  if (axis.size() > 1) r.fail<ShapeError>("works along one axis, not " + to_string(axis));
  if (!axis.empty()) r.axis(axis[0], h);
}
}  // namespace

Tensor nancumsum(Arg x, Axes axis) {
  const Recorder r{"nancumsum", x.site()};
  const Handle h = Operand(r.name, x).take();
  check_running(r, h, axis);
  return cumsum(r.arg(without_nan(r, h, 0)), axis);
}

Tensor nancumprod(Arg x, Axes axis) {
  const Recorder r{"nancumprod", x.site()};
  const Handle h = Operand(r.name, x).take();
  check_running(r, h, axis);
  return cumprod(r.arg(without_nan(r, h, 1)), axis);
}

Tensor dist(Arg a, Arg b, double p) {
  const Recorder r{"dist", a.site()};
  const DType t = float_type(common_type(r.name, {&a, &b})), work = wide_float(t);
  const Operand x(r.name, a, t), y(r.name, b, t);
  const Handle d = r.op(Op::subtract, r.as(work, x), r.as(work, y));
  const DType real = plane_type(t);
  if (numel(d->shape) == 0) return r.tensor(r.filled(0, real, {}, d));
  return r.tensor(r.as(real, vector_norm(r.arg(d), p).handle()));
}

Tensor renorm(Arg x, double p, IntegerArg axis, double maxnorm) {
  const Floats f("renorm", x);
  const Recorder& r = f.r;
  if (!(p > 0)) r.fail<Error>("p is not positive");
  if (!(maxnorm >= 0)) r.fail<Error>("maxnorm is negative");
  const int rank = f.x->shape.size();
  if (rank < 2) r.fail<ShapeError>("takes at least two dimensions, not " + to_string(f.x->shape));
  const int a = r.axis(axis, f.x);
  Axes others;
  for (int i = 0; i < rank; ++i)
    if (i != a) others.push_back(i);
  const Handle norm = numel(f.x->shape) == 0 ? r.filled(0, f.work, {}, f.x)
                                             : vector_norm(r.arg(f.x), p, others, keepdims).handle();
  const Handle scale = r.op(Op::divide, r.number(maxnorm, f.work), r.op(Op::add, norm, 1e-7));
  return f.result(r.op(Op::multiply, f.x, r.where(r.op(Op::greater, norm, maxnorm), scale, 1)));
}

Tensor ediff1d(Arg x, const MaybeTensor& to_end, const MaybeTensor& to_begin) {
  const Recorder r{"ediff1d", x.site()};
  const Handle given = Operand(r.name, x).take();
  if (is_bool(given->dtype)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  const Handle flat = r.reshape(given, {numel(given->shape)});
  std::vector<Tensor> parts;
  const auto add = [&](const Tensor& more) {
    if (!more.defined()) return;
    const Handle h = stored_as(r.name, Arg(more, r.site), flat->dtype);
    parts.push_back(r.tensor(r.reshape(h, {numel(h->shape)})));
  };
  add(to_begin);
  parts.push_back(r.tensor(differences(r, flat, 0)));
  add(to_end);
  return concat(parts, 0, r.site);
}

std::vector<Tensor> gradient(Arg x, const std::vector<double>& spacing, Axes axes, IntegerArg edge_order) {
  const Floats f("gradient", x);
  const int rank = f.x->shape.size();
  Dims along;
  for (const int64_t a : axes) along.push_back(f.r.axis(a, f.x));
  if (axes.empty()) along = axes_in_order(rank);
  if (spacing.size() > 1 && spacing.size() != static_cast<size_t>(along.size()))
    f.r.fail<ShapeError>(std::to_string(spacing.size()) + " spacings for " + std::to_string(along.size()) +
                         " axes");
  std::vector<Tensor> slopes;
  for (int i = 0; i < along.size(); ++i) {
    const int a = static_cast<int>(along[i]);
    check_gradient(f.r, f.x, a, edge_order);
    const double h = spacing.empty() ? 1 : spacing[spacing.size() == 1 ? 0 : static_cast<size_t>(i)];
    slopes.push_back(f.result(slope(f.r, f.x, a, h, edge_order)));
  }
  return slopes;
}

Tensor gradient(Arg x, TensorArg points, IntegerArg axis, IntegerArg edge_order) {
  Handle p;
  const Floats f = common_floats("gradient", x, points, p);
  const int a = f.r.axis(axis, f.x);
  check_gradient(f.r, f.x, a, edge_order);
  if (p->shape.size() != 1) f.r.fail<ShapeError>("points have one dimension, not " + to_string(p->shape));
  const Handle d = differences(f.r, points_along(f.r, p, f.x, a), a);
  return f.result(uneven_slope(f.r, f.x, a, d, edge_order));
}

Tensor cumulative_trapezoid(Arg y, double dx, IntegerArg axis) {
  const Floats f("cumulative_trapezoid", y);
  return f.result(running_integral(f.r, f.x, f.r.axis(axis, f.x), f.r.number(dx, f.work)));
}

Tensor cumulative_trapezoid(Arg y, TensorArg x, IntegerArg axis) {
  Handle p;
  const Floats f = common_floats("cumulative_trapezoid", y, x, p);
  const int a = f.r.axis(axis, f.x);
  return f.result(running_integral(f.r, f.x, a, differences(f.r, points_along(f.r, p, f.x, a), a)));
}

}  // namespace lazy
