#include "lazy/ops/ordering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/built_in/select.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/reductions.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the elements at places of the sorted axis, and where they were: the axis has as many as there are
/// places.
Sorted selected(const Recorder& r, Handle h, int axis, bool descending, const Handle& places) {
  need_real(r.name, h->dtype, r.site);
  const Dims order = with_last(axis, h->shape.size());
  const bool last = axis == h->shape.size() - 1;
  if (!last) h = r.permute(h, order);
  const jit::CallSpec& spec =
      jit::intern_call(jit::calls::kSelect, jit::calls::SelectAttributes{static_cast<uint8_t>(descending)});
  const Handle* operands[] = {&h, &places};
  std::vector<Handle> out = detail::record_call(spec, operands, r.site);
  if (!last)
    for (Handle& o : out) o = r.permute(o, order);
  return {r.tensor(out[0]), r.tensor(out[1])};
}

/// Holds the elements of the reduced axes, along a last axis, and the shape that a result has.
struct Joined {
  Handle elements;
  Shape rest, result;  // without the reduced axes; as the user asked
  int64_t count;
};

Joined joined(const Recorder& r, Handle h, const Axes& axes, KeepDims keep) {
  const DType t = float_type(h->dtype);
  h = r.as(wide_float(t), h);
  const Dims reduced = normal_axes(r.name, axes, h->shape.size(), r.site);
  Joined j{{}, {}, {}, 1};
  Dims order;
  for (int i = 0; i < h->shape.size(); ++i) {
    const bool gone = std::find(reduced.begin(), reduced.end(), i) != reduced.end();
    if (gone) j.count *= h->shape[i];
    else order.push_back(i), j.rest.push_back(h->shape[i]);
    if (!gone || keep.value) j.result.push_back(gone ? 1 : h->shape[i]);
  }
  if (j.count == 0)
    r.fail<ShapeError>("no elements along axes " + to_string(reduced) + " of " + to_string(h->shape));
  for (const int64_t a : reduced) order.push_back(a);
  Shape shape = j.rest;
  shape.push_back(j.count);
  j.elements = r.reshape(r.permute(h, order), shape);
  return j;
}

/// Returns the elements at each of the places of the sorted ones; NaN where one of them is NaN.
std::vector<Handle> at(const Recorder& r, const Joined& j, const std::vector<int64_t>& places) {
  const int axis = j.rest.size();
  const auto count = static_cast<int64_t>(places.size());
  const Handle where = values(places.data(), int64, {count}, j.elements, r.site);
  const Handle found = selected(r, j.elements, axis, false, where).values.handle();
  const Handle top = r.reduce(Op::max, j.elements, {axis}, keepdims);  // NaN if an element is
  std::vector<Handle> each;
  for (int64_t i = 0; i < count; ++i) {
    const Handle one = r.part(found, axis, i, 1);
    each.push_back(r.reshape(r.where(r.op(Op::isnan, top), top, one), j.result));
  }
  return each;
}

/// Says between which two places of the sorted elements a quantile lies, and where.
struct Between {
  int64_t low, high;
  double share;
};

Between between(double q, int64_t count) {
  Between b{};
  in_default_mode([&] {
    const double place = q * static_cast<double>(count - 1);
    b.low = std::min(static_cast<int64_t>(place), count - 1);
    b.share = place - static_cast<double>(b.low);
    b.high = b.share > 0 ? std::min(b.low + 1, count - 1) : b.low;
    return 0;
  });
  return b;
}

/// Returns the point between two elements, in the dtype that it is computed in.
Handle interpolated(const Recorder& r, const Handle& a, const Handle& b, double share) {
  const Handle d = r.op(Op::subtract, b, a), part = r.number(share, a->dtype);
  const Handle up = r.op(Op::add, a, r.op(Op::multiply, d, part));
  const Handle down = r.op(Op::subtract, b, r.op(Op::multiply, d, r.op(Op::subtract, 1, part)));
  // Two equal infinities have no difference.
  return r.where(r.op(Op::equal, a, b), a, r.where(r.op(Op::less, part, 0.5), up, down));
}

/// Returns each quantile. Which elements it lies between, and where, are arguments of the program.
std::vector<Handle> quantiles_of(const Recorder& r, const Joined& j, const std::vector<double>& q, DType t) {
  std::vector<int64_t> places;
  for (const double v : q)
    for (const Between b = between(v, j.count); const int64_t place : {b.low, b.high})
      places.push_back(place);
  const std::vector<Handle> found = at(r, j, places);
  std::vector<Handle> each;
  for (size_t i = 0; i < q.size(); ++i)
    each.push_back(r.as(t, interpolated(r, found[2 * i], found[2 * i + 1], between(q[i], j.count).share)));
  return each;
}

void check_share(const Recorder& r, double q, double whole) {
  if (!(q >= 0 && q <= whole))
    r.fail<Error>("q is in 0 to " + std::to_string(static_cast<int>(whole)) + ", not " + text(q));
}

Tensor one_quantile(const char* name, Arg& x, double q, double whole, const Axes& axes, KeepDims keep) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  check_share(r, q, whole);
  const double share = in_default_mode([&] { return q / whole; });
  return r.tensor(quantiles_of(r, joined(r, h, axes, keep), {share}, float_type(h->dtype))[0]);
}

Tensor quantiles(const char* name, Arg& x, std::vector<double> q, double whole, const Axes& axes,
                 KeepDims keep) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  if (q.empty()) r.fail<ShapeError>("no quantile is asked for");
  const Joined j = joined(r, h, axes, keep);
  if (j.result.size() == kMaxRank)
    r.fail<ShapeError>(to_string(j.result) + " has the most dimensions possible");
  for (double& v : q) {
    check_share(r, v, whole);
    v = in_default_mode([&] { return v / whole; });
  }
  std::vector<Tensor> each;
  for (const Handle& one : quantiles_of(r, j, q, float_type(h->dtype))) each.push_back(r.tensor(one));
  return stack(each, 0, r.site);
}

}  // namespace

Sorted topk(Arg x, IntegerArg k, IntegerArg axis, bool largest, bool /*sorted*/) {
  const Recorder r{"topk", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = r.axis(axis, h);
  if (k < 0 || k > h->shape[a])
    r.fail<ShapeError>(std::to_string(k.value) + " elements of an axis of " + std::to_string(h->shape[a]));
  return selected(r, h, a, largest, r.index(0, {k}, h));
}

Sorted kthvalue(Arg x, IntegerArg k, IntegerArg axis, KeepDims keep) {
  const Recorder r{"kthvalue", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = r.axis(axis, h);
  if (k < 1 || k > h->shape[a])
    r.fail<ShapeError>("element " + std::to_string(k.value) + " of an axis of " +
                       std::to_string(h->shape[a]));
  const Sorted one = selected(r, h, a, false, r.filled(k - 1, int64, {1}, h));
  if (keep.value) return one;
  Shape without;
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != a) without.push_back(h->shape[i]);
  return {r.tensor(r.reshape(one.values.handle(), without)),
          r.tensor(r.reshape(one.indices.handle(), without))};
}

namespace {
/// Returns the value that a reduction finds along one axis, and where argmax() or argmin() find it.
Sorted extreme(const char* name, Arg& x, IntegerArg axis, KeepDims keep, Tensor (*value)(Arg, Axes, KeepDims),
               Tensor (*place)(Arg, Axes, KeepDims)) {
  const Recorder r{name, x.site()};
  const Handle h = Operand(name, x).take();
  const int a = r.axis(axis, h);
  if (h->shape[a] == 0)
    r.fail<ShapeError>("no elements along axis " + std::to_string(a) + " of " + to_string(h->shape));
  const jit::Purpose purpose(name);
  return {value(r.arg(h), a, keep), place(r.arg(h), a, keep)};
}
}  // namespace

Sorted max_with_indices(Arg x, IntegerArg axis, KeepDims keep) {
  return extreme("max_with_indices", x, axis, keep, max, argmax);
}

Sorted min_with_indices(Arg x, IntegerArg axis, KeepDims keep) {
  return extreme("min_with_indices", x, axis, keep, min, argmin);
}

Tensor median(Arg x, Axes axes, KeepDims keep) {
  const Recorder r{"median", x.site()};
  const Handle h = Operand(r.name, x).take();
  const Joined j = joined(r, h, axes, keep);
  const std::vector<Handle> two = at(r, j, {(j.count - 1) / 2, j.count / 2});
  const Handle middle = r.op(Op::add, r.op(Op::multiply, two[0], 0.5), r.op(Op::multiply, two[1], 0.5));
  return r.tensor(r.as(float_type(h->dtype), middle));
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
