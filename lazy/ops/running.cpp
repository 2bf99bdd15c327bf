#include "lazy/ops/running.hpp"

#include <optional>

#include "lazy/core/promotion.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Records a scan along an axis.
Handle scan(const Recorder& r, Op op, const Handle& h, int axis) {
  if (h->shape[axis] <= 1) return h;
  return detail::record(op, {&h}, h->dtype, h->shape, r.site, jit::Attributes::along(axis), 0, r.name);
}

/// Returns the axis along which something runs. Without one the tensor is flattened.
int running_axis(const Recorder& r, Handle& h, const Axes& axis) {
  if (axis.size() > 1) r.fail<ShapeError>("works along one axis, not " + to_string(axis));
  if (axis.empty()) h = r.reshape(h, {numel(h->shape)});
  return r.axis(axis.empty() ? 0 : axis[0], h);
}

/// Sums or multiplies, from `initial` on if that is to be shown.
Tensor accumulated(const Recorder& r, Op op, const Arg& x, Handle h, const Axes& axis, MaybeDType dtype,
                   std::optional<int> initial) {
  const DType own = h->dtype;
  const DType t = dtype.or_else(is_float(own) || is_complex(own) ? own
                                : is_unsigned_int(own)           ? uint64
                                                                 : int64);
  if (is_bool(t)) r.fail<DtypeError>("does not accumulate in bool");
  const int a = running_axis(r, h, axis);
  h = scan(r, op, r.as(t, h), a);
  if (!initial) return r.tensor(h, x);
  Shape shape = h->shape;
  if (++shape[a]; shape[a] == 1) return r.tensor(r.filled(*initial, t, shape, h));
  check_countable(r.name, shape, r.site);
  return r.tensor(r.replaced(r.filled(*initial, t, shape, h), h, a, 1));
}

Tensor cumulative(const char* name, Op op, Arg& x, const Axes& axis, MaybeDType dtype,
                  std::optional<int> initial) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(r.name, x).take();
  if (axis.empty() && h->shape.size() != 1)
    r.fail<ShapeError>("an axis is needed for shape " + to_string(h->shape));
  return accumulated(r, op, x, h, axis, dtype, initial);
}

/// Returns running extremes, and the last positions at which an element was one.
Sorted running_extreme(const char* name, Op op, Arg& x, const Axes& axis) {
  const Recorder r{name, x.site()};
  Handle h = Operand(r.name, x).take();
  const int a = running_axis(r, h, axis);
  const DType own = h->dtype;
  if (is_bool(own)) h = r.as(uint8, h);
  const Handle best = scan(r, op, h, a);
  const Handle found = r.either(r.op(Op::equal, h, best), r.is_nan(h));
  const Handle at = r.where(found, r.index(a, h->shape, h), 0);
  return {r.tensor(r.as(own, best), x), r.tensor(scan(r, Op::cummax, at, a))};
}

}  // namespace

Tensor cumsum(Arg x, Axes axis, MaybeDType dtype) {
  const Recorder r{"cumsum", x.site()};
  return accumulated(r, Op::cumsum, x, Operand(r.name, x).take(), axis, dtype, {});
}
Tensor cumprod(Arg x, Axes axis, MaybeDType dtype) {
  const Recorder r{"cumprod", x.site()};
  return accumulated(r, Op::cumprod, x, Operand(r.name, x).take(), axis, dtype, {});
}
Tensor cumulative_sum(Arg x, Axes axis, MaybeDType dtype, bool include_initial) {
  return cumulative("cumulative_sum", Op::cumsum, x, axis, dtype,
                    include_initial ? std::optional(0) : std::nullopt);
}
Tensor cumulative_prod(Arg x, Axes axis, MaybeDType dtype, bool include_initial) {
  return cumulative("cumulative_prod", Op::cumprod, x, axis, dtype,
                    include_initial ? std::optional(1) : std::nullopt);
}
Sorted cummax(Arg x, Axes axis) { return running_extreme("cummax", Op::cummax, x, axis); }
Sorted cummin(Arg x, Axes axis) { return running_extreme("cummin", Op::cummin, x, axis); }

// A pass combines elements `gap` apart: after k passes each is combined with the 2^k - 1 before it.
Tensor logcumsumexp(Arg x, Axes axis) {
  const Recorder r{"logcumsumexp", x.site()};
  Handle h = Operand(r.name, x).take();
  const DType t = float_type(h->dtype);
  h = r.as(wide_float(t), h);
  const int a = running_axis(r, h, axis);
  const int64_t n = numel(h->shape) == 0 ? 0 : h->shape[a];
  for (int64_t gap = 1; gap < n; gap *= 2) {
    const Handle before = r.part(h, a, 0, n - gap), here = r.part(h, a, gap, n - gap);
    h = r.replaced(h, logaddexp(r.arg(before), r.arg(here)).handle(), a, gap);
  }
  return r.tensor(r.as(t, h), x);
}

}  // namespace lazy
