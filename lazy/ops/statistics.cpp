#include "lazy/ops/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/core/planes.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/core/special_values.hpp"
#include "lazy/ops/roots.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// True for dtypes that have NaN.
bool has_nan(DType t) { return is_float(t) || is_complex(t); }

DType accumulator(DType t) { return has_nan(t) ? t : is_unsigned_int(t) ? uint64 : int64; }

/// Sums or multiplies with `identity` in place of NaN.
Tensor without_nan(const char* name, Op op, const ScalarNumber& identity, Arg& x, const Axes& axes,
                   KeepDims keep, MaybeDType dtype) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const DType t = dtype.or_else(accumulator(h->dtype));
  if (is_bool(t)) r.fail<DtypeError>("does not accumulate in bool");
  const Handle kept = has_nan(h->dtype) ? r.where(r.op(Op::isnan, h), identity, h) : h;
  return r.tensor(r.reduce(op, r.as(t, kept), axes, keep));
}

Tensor extreme_without_nan(const char* name, Op op, double lowest, Arg& x, const Axes& axes, KeepDims keep) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  if (!has_nan(h->dtype)) return r.tensor(r.reduce(op, h, axes, keep));
  const Handle missing = r.op(Op::isnan, h);
  const Handle value = r.reduce(op, r.where(missing, lowest, h), axes, keep);
  return r.tensor(r.where(r.reduce(Op::all, missing, axes, keep), kNaN, value));
}

/// Holds the sum and number of elements that are not NaN.
struct Counted {
  Handle kept;     // 0 in place of NaN
  Handle present;  // 1 or 0, in the real dtype of `kept`
  Handle count;
  Handle mean;
};

Counted counted(const Recorder& r, const Handle& h, const Axes& axes, KeepDims keep) {
  const Handle missing = r.is_nan(h);
  Counted c;
  c.kept = r.where(missing, 0, h);
  c.present = r.as(plane_type(h->dtype), r.opposite(missing));
  c.count = r.reduce(Op::sum, r.broadcast(c.present, h->shape), axes, keep);
  c.mean = r.op(Op::divide, r.reduce(Op::sum, c.kept, axes, keep), c.count);
  return c;
}

/// Returns the sum of squared distances from the mean over count - correction; NaN where that is not above 0.
Handle variance_without_nan(const Recorder& r, const Handle& h, const Axes& axes, KeepDims keep,
                            double correction) {
  const Counted c = counted(r, h, axes, keepdims);
  const Handle d = r.op(Op::multiply, r.op(Op::subtract, c.kept, c.mean), c.present);
  const Handle squares = r.reduce(Op::sum, squared_modulus(r.name, d, r.site), axes, keep);
  const Handle freedom = r.op(Op::subtract, r.reshape(c.count, squares->shape), correction);
  const Handle none_left = r.op(Op::less_equal, freedom, 0);
  return r.where(none_left, kNaN, r.op(Op::divide, squares, freedom));
}

/// Applies f to the argument in the dtype that means are computed in.
template <class F>
Tensor of_wide_float(const char* name, Arg& x, F&& f) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const DType t = float_type(h->dtype);
  const Handle y = f(r, r.as(wide_float(t), h));
  return r.tensor(r.as(is_complex(t) ? y->dtype : t, y));  // of complex numbers it may be real
}

/// Returns the covariances of the rows of a matrix.
Handle covariance(const Recorder& r, const Handle& h, double correction) {
  const int64_t n = h->shape[1];
  const Handle total = r.reduce(Op::sum, h, {1}, keepdims);
  const Handle d = r.op(Op::subtract, h, r.op(Op::divide, total, static_cast<double>(n)));
  const Handle products = detail::matmul(r.name, d, conjugate(matrix_transpose(d, r.site), r.site), r.site);
  const double freedom = in_default_mode([&] { return std::max(static_cast<double>(n) - correction, 0.0); });
  return r.op(Op::divide, products, freedom);
}

/// Returns the rows of a matrix; a vector is one row.
Handle rows_of(const Recorder& r, const Handle& h) {
  if (h->shape.size() != 1 && h->shape.size() != 2)
    r.fail<ShapeError>("takes a vector or a matrix, not " + to_string(h->shape));
  return h->shape.size() == 1 ? r.reshape(h, {1, h->shape[0]}) : h;
}

Handle close_to(const Recorder& r, Arg& a, Arg& b, double relative, double absolute, bool equal_nan) {
  const DType t = float_type(common_type(r.name, {&a, &b}));
  const Operand x(r.name, a, t), y(r.name, b, t);
  const Handle p = r.as(wide_float(t), x), q = r.as(wide_float(t), y);
  const Handle reach = r.op(Op::add, r.op(Op::multiply, r.op(Op::abs, q), relative), absolute);
  const Handle distance = r.op(Op::abs, r.op(Op::subtract, p, q));
  const Handle near = r.both(r.op(Op::less_equal, distance, reach), r.op(Op::isfinite, q));
  const Handle close = r.either(near, r.op(Op::equal, p, q));
  return equal_nan ? r.either(close, r.both(r.op(Op::isnan, p), r.op(Op::isnan, q))) : close;
}

}  // namespace

Tensor nansum(Arg x, Axes axes, KeepDims keep, MaybeDType t) {
  return without_nan("nansum", Op::sum, 0, x, axes, keep, t);
}
Tensor nanprod(Arg x, Axes axes, KeepDims keep, MaybeDType t) {
  return without_nan("nanprod", Op::prod, 1, x, axes, keep, t);
}
Tensor nanmax(Arg x, Axes axes, KeepDims keep) {
  return extreme_without_nan("nanmax", Op::max, -kInfinity, x, axes, keep);
}
Tensor nanmin(Arg x, Axes axes, KeepDims keep) {
  return extreme_without_nan("nanmin", Op::min, kInfinity, x, axes, keep);
}

Tensor nanmean(Arg x, Axes axes, KeepDims keep) {
  return of_wide_float("nanmean", x,
                       [&](const Recorder& r, const Handle& h) { return counted(r, h, axes, keep).mean; });
}
Tensor nanvar(Arg x, Axes axes, KeepDims keep, double correction) {
  return of_wide_float("nanvar", x, [&](const Recorder& r, const Handle& h) {
    return variance_without_nan(r, h, axes, keep, correction);
  });
}
Tensor nanstd(Arg x, Axes axes, KeepDims keep, double correction) {
  return of_wide_float("nanstd", x, [&](const Recorder& r, const Handle& h) {
    return root(r, variance_without_nan(r, h, axes, keep, correction));
  });
}

Tensor ptp(Arg x, Axes axes, KeepDims keep) {
  const Recorder r{"ptp", x.site()};
  const Handle h = Operand(r.name, x).take();
  if (is_bool(h->dtype)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  const Handle high = r.reduce(Op::max, h, axes, keep);
  return r.tensor(r.op(Op::subtract, high, r.reduce(Op::min, h, axes, keep)));
}

Tensor average(Arg x, Arg weights, Axes axes, KeepDims keep) {
  const Recorder r{"average", x.site()};
  const DType t = float_type(common_type(r.name, {&x, &weights}));
  const Operand value(r.name, x, t), weight(r.name, weights, t);
  const Handle h = r.as(wide_float(t), value);
  Handle w = r.as(wide_float(t), weight);
  if (w->shape != h->shape) {
    const bool along = axes.size() == 1 && w->shape.size() == 1;
    const int a = along ? r.axis(axes[0], h) : 0;
    if (!along || h->shape[a] != w->shape[0])
      r.fail<ShapeError>("weights of shape " + to_string(w->shape) + " do not fit " + to_string(h->shape) +
                         " along axes " + to_string(axes));
    Shape shape(h->shape.size(), 1);
    shape[a] = w->shape[0];
    w = r.broadcast(r.reshape(w, shape), h->shape);
  }
  const Handle total = r.reduce(Op::sum, r.op(Op::multiply, h, w), axes, keep);
  return r.tensor(r.as(t, r.op(Op::divide, total, r.reduce(Op::sum, w, axes, keep))));
}

Tensor vector_norm(Arg x, double order, Axes axes, KeepDims keep) {
  return of_wide_float("vector_norm", x, [&](const Recorder& r, const Handle& h) {
    const auto sum = [&](const Handle& v) { return r.reduce(Op::sum, v, axes, keep); };
    if (order == 0) return sum(r.as(plane_type(h->dtype), r.op(Op::not_equal, h, 0)));
    if (order > 0 && order != 1 && order != kInfinity) return power_norm(r, h, order, axes, keep);
    const Handle size = r.op(Op::abs, h);
    if (order == kInfinity) return r.reduce(Op::max, size, axes, keep);
    if (order == -kInfinity) return r.reduce(Op::min, size, axes, keep);
    if (order == 1) return sum(size);
    return r.op(Op::power, sum(r.op(Op::power, size, order)), in_default_mode([&] { return 1 / order; }));
  });
}

Tensor cov(Arg x, double correction) {
  return of_wide_float("cov", x, [&](const Recorder& r, const Handle& h) {
    const Handle c = covariance(r, rows_of(r, h), correction);
    return c->shape[0] == 1 ? r.reshape(c, {}) : c;
  });
}

Tensor corrcoef(Arg x) {
  return of_wide_float("corrcoef", x, [&](const Recorder& r, const Handle& h) {
    const Handle c = covariance(r, rows_of(r, h), 1);
    const int64_t m = c->shape[0];
    // The variances are every element of the diagonal: m + 1 apart.
    const Handle variances = r.part(r.reshape(c, {m * m}), 0, 0, m, m + 1);
    const Handle deviation = r.op(Op::sqrt, variances);
    const Handle scaled =
        r.op(Op::divide, r.op(Op::divide, c, r.reshape(deviation, {m, 1})), r.reshape(deviation, {1, m}));
    const Handle bounded = r.op(Op::minimum, r.op(Op::maximum, scaled, -1), 1);
    return m == 1 ? r.reshape(bounded, {}) : bounded;
  });
}

namespace {
/// Sums the means of neighbours times the distances between them.
Handle integral(const Recorder& r, const Handle& y, int axis, const Handle& distances) {
  const int64_t gaps = std::max<int64_t>(y->shape[axis] - 1, 0);
  const Handle pairs = r.op(Op::add, r.part(y, axis, 1, gaps), r.part(y, axis, 0, gaps));
  const Handle areas = r.op(Op::multiply, r.op(Op::multiply, pairs, distances), 0.5);
  return r.reduce(Op::sum, areas, {axis});
}
}  // namespace

Tensor trapezoid(Arg y, double dx, IntegerArg axis) {
  return of_wide_float("trapezoid", y, [&](const Recorder& r, const Handle& h) {
    return integral(r, h, r.axis(axis, h), r.number(dx, h->dtype));
  });
}

Tensor trapezoid(Arg y, TensorArg x, IntegerArg axis) {
  const Recorder r{"trapezoid", y.site()};
  const DType t = float_type(common_type(r.name, {&y, &x}));
  const Operand values(r.name, y, t), points(r.name, x, t);
  const Handle h = r.as(wide_float(t), values);
  Handle p = r.as(wide_float(t), points);
  const int a = r.axis(axis, h);
  if (p->shape.size() == 1) {
    Shape shape(h->shape.size(), 1);
    shape[a] = p->shape[0];
    p = r.reshape(p, shape);
  }
  const int rank = p->shape.size(), own = a - (h->shape.size() - rank);
  if (own < 0 || p->shape[own] != h->shape[a] ||
      broadcast_shapes(r.name, p->shape, h->shape, r.site) != h->shape)
    r.fail<ShapeError>("points of shape " + to_string(p->shape) + " do not fit " + to_string(h->shape) +
                       " along axis " + std::to_string(a));
  const int64_t gaps = std::max<int64_t>(h->shape[a] - 1, 0);
  const Handle distances = r.op(Op::subtract, r.part(p, own, 1, gaps), r.part(p, own, 0, gaps));
  return r.tensor(r.as(t, integral(r, h, a, distances)));
}

Tensor isclose(Arg a, Arg b, double relative, double absolute, bool equal_nan) {
  const Recorder r{"isclose", a.site()};
  return r.tensor(close_to(r, a, b, relative, absolute, equal_nan));
}
Tensor allclose(Arg a, Arg b, double relative, double absolute, bool equal_nan) {
  const Recorder r{"allclose", a.site()};
  return r.tensor(r.reduce(Op::all, close_to(r, a, b, relative, absolute, equal_nan), {}));
}

Tensor array_equal(Arg a, Arg b, bool equal_nan) {
  const Recorder r{"array_equal", a.site()};
  const DType t = common_type(r.name, {&a, &b});
  const Operand x(r.name, a, t), y(r.name, b, t);
  if (x->shape != y->shape) return r.tensor(r.filled(false, bool_, {}, x));
  Handle same = r.op(Op::equal, x, y);
  if (equal_nan && has_nan(t)) same = r.either(same, r.both(r.op(Op::isnan, x), r.op(Op::isnan, y)));
  return r.tensor(r.reduce(Op::all, same, {}));
}

Tensor nan_to_num(Arg x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  const Recorder r{"nan_to_num", x.site()};
  const Operand given(r.name, x);
  if (!has_nan(given->dtype)) return r.tensor(given);
  const FInfo limits = finfo(given->dtype, r.site);
  const auto replaced = [&](const Handle& h) {
    Handle y = r.where(r.op(Op::isnan, h), nan, h);
    y = r.where(r.op(Op::equal, h, kInfinity), posinf.value_or(limits.max), y);
    return r.where(r.op(Op::equal, h, -kInfinity), neginf.value_or(limits.min), y);
  };
  if (!is_complex(given->dtype)) return r.tensor(replaced(given));
  const Planes p = planes_of(given);
  return r.tensor(jit::complex(replaced(p.re), replaced(p.im), r.site));
}

}  // namespace lazy
