#include "lazy/ops/ordering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds the elements of the reduced axes, sorted along a last axis, and the shape that a result has.
struct Ordered {
  Handle sorted;
  Shape rest, result;  // without the reduced axes; as the user asked
  int64_t count;
};

Ordered ordered(const Recorder& r, Handle h, const Axes& axes, KeepDims keep) {
  const DType t = float_type(h->dtype);
  h = r.as(wide_float(t), h);
  const Dims reduced = normal_axes(r.name, axes, h->shape.size(), r.site);
  Ordered o{{}, {}, {}, 1};
  Dims order;
  for (int i = 0; i < h->shape.size(); ++i) {
    const bool gone = std::find(reduced.begin(), reduced.end(), i) != reduced.end();
    if (gone) o.count *= h->shape[i];
    else order.push_back(i), o.rest.push_back(h->shape[i]);
    if (!gone || keep.value) o.result.push_back(gone ? 1 : h->shape[i]);
  }
  if (o.count == 0)
    r.fail<ShapeError>("no elements along axes " + to_string(reduced) + " of " + to_string(h->shape));
  for (const int64_t a : reduced) order.push_back(a);
  Shape joined = o.rest;
  joined.push_back(o.count);
  h = r.reshape(r.permute(h, order), joined);
  o.sorted = sort(r.arg(h)).values.handle();
  return o;
}

/// Returns the elements at a place of the sorted ones.
Handle at(const Recorder& r, const Ordered& o, int64_t place) {
  return r.reshape(r.part(o.sorted, o.rest.size(), place, 1), o.result);
}

/// Returns the value, or NaN where the last of the sorted elements is.
Handle unless_nan(const Recorder& r, const Ordered& o, const Handle& value) {
  const Handle last = at(r, o, o.count - 1);
  return r.where(r.op(Op::isnan, last), last, value);
}

/// Returns the quantile q, in the dtype that it is computed in. Which two elements it lies between, and
/// where, are arguments of the program.
Handle quantile_of(const Recorder& r, const Ordered& o, double q) {
  int64_t low = 0, high = 0;
  double share = 0;
  in_default_mode([&] {
    const double place = q * static_cast<double>(o.count - 1);
    low = std::min(static_cast<int64_t>(place), o.count - 1);
    share = place - static_cast<double>(low);
    high = share > 0 ? std::min(low + 1, o.count - 1) : low;
    return 0;
  });
  const Handle a = at(r, o, low), b = at(r, o, high), d = r.op(Op::subtract, b, a);
  const Handle part = r.number(share, a->dtype);
  const Handle up = r.op(Op::add, a, r.op(Op::multiply, d, part));
  const Handle down = r.op(Op::subtract, b, r.op(Op::multiply, d, r.op(Op::subtract, 1, part)));
  const Handle between = r.where(r.op(Op::less, part, 0.5), up, down);
  // Two equal infinities have no difference.
  return unless_nan(r, o, r.where(r.op(Op::equal, a, b), a, between));
}

void check_share(const Recorder& r, double q, double whole) {
  if (!(q >= 0 && q <= whole)) r.fail<Error>("q is in [0, " + std::to_string(static_cast<int>(whole)) + "]");
}

Tensor one_quantile(const char* name, Arg& x, double q, double whole, const Axes& axes, KeepDims keep) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  check_share(r, q, whole);
  const DType t = float_type(h->dtype);
  return r.tensor(
      r.as(t, quantile_of(r, ordered(r, h, axes, keep), in_default_mode([&] { return q / whole; }))));
}

Tensor quantiles(const char* name, Arg& x, const std::vector<double>& q, double whole, const Axes& axes,
                 KeepDims keep) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const DType t = float_type(h->dtype);
  if (q.empty()) r.fail<ShapeError>("no quantile is asked for");
  const Ordered o = ordered(r, h, axes, keep);
  if (o.result.size() == kMaxRank)
    r.fail<ShapeError>(to_string(o.result) + " has the most dimensions possible");
  std::vector<Tensor> each;
  for (const double v : q) {
    check_share(r, v, whole);
    each.push_back(r.tensor(r.as(t, quantile_of(r, o, in_default_mode([&] { return v / whole; })))));
  }
  return stack(each, 0, r.site);
}

/// Sorts along an axis and takes `length` elements from `start` on of both results.
Sorted taken(const Recorder& r, const Handle& h, int axis, bool descending, int64_t start, int64_t length) {
  const Sorted all = sort(r.arg(h), axis, descending);
  return {r.tensor(r.part(all.values.handle(), axis, start, length)),
          r.tensor(r.part(all.indices.handle(), axis, start, length))};
}

}  // namespace

Sorted topk(Arg x, Integer k, Integer axis, bool largest, bool /*sorted*/) {
  const Recorder r{"topk", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = r.axis(axis, h);
  if (k < 0 || k > h->shape[a])
    r.fail<ShapeError>(std::to_string(k.value) + " elements of an axis of " + std::to_string(h->shape[a]));
  return taken(r, h, a, largest, 0, k);
}

Sorted kthvalue(Arg x, Integer k, Integer axis, KeepDims keep) {
  const Recorder r{"kthvalue", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = r.axis(axis, h);
  if (k < 1 || k > h->shape[a])
    r.fail<ShapeError>("element " + std::to_string(k.value) + " of an axis of " +
                       std::to_string(h->shape[a]));
  const Sorted one = taken(r, h, a, false, k - 1, 1);
  if (keep.value) return one;
  Shape without;
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != a) without.push_back(h->shape[i]);
  return {r.tensor(r.reshape(one.values.handle(), without)),
          r.tensor(r.reshape(one.indices.handle(), without))};
}

Tensor median(Arg x, Axes axes, KeepDims keep) {
  const Recorder r{"median", x.site()};
  const Handle h = Operand(r.name, x).take();
  const DType t = float_type(h->dtype);
  const Ordered o = ordered(r, h, axes, keep);
  const Handle low = at(r, o, (o.count - 1) / 2), high = at(r, o, o.count / 2);
  const Handle middle = r.op(Op::add, r.op(Op::multiply, low, 0.5), r.op(Op::multiply, high, 0.5));
  return r.tensor(r.as(t, unless_nan(r, o, middle)));
}

Tensor quantile(Arg x, double q, Axes axes, KeepDims keep) {
  return one_quantile("quantile", x, q, 1, axes, keep);
}
Tensor quantile(Arg x, const std::vector<double>& q, Axes axes, KeepDims keep) {
  return quantiles("quantile", x, q, 1, axes, keep);
}
Tensor quantile(Arg x, std::initializer_list<double> q, Axes axes, KeepDims keep) {
  return quantiles("quantile", x, std::vector<double>(q), 1, axes, keep);
}
Tensor percentile(Arg x, double q, Axes axes, KeepDims keep) {
  return one_quantile("percentile", x, q, 100, axes, keep);
}
Tensor percentile(Arg x, const std::vector<double>& q, Axes axes, KeepDims keep) {
  return quantiles("percentile", x, q, 100, axes, keep);
}
Tensor percentile(Arg x, std::initializer_list<double> q, Axes axes, KeepDims keep) {
  return quantiles("percentile", x, std::vector<double>(q), 100, axes, keep);
}

}  // namespace lazy
