#include "lazy/indexing/counting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/searching.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/statistics.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds the elements of several axes side by side along the last one, sorted, and the shapes of results.
struct Lanes {
  Recorder r;
  DType dtype, work;
  Handle sorted;
  Handle count;  // (..., 1): how many are not NaN, in the dtype of computation
  Shape result;

  Lanes(const char* name, Arg& x, const Axes& axes, KeepDims keep) : r{name, x.site()} {
    const Handle h = Operand(name, x).take();
    dtype = float_type(h->dtype), work = wide_float(dtype);
    const Dims along = normal_axes(name, axes, h->shape.size(), r.site);
    Dims order;
    Shape rows;
    int64_t n = 1;
    for (int i = 0; i < h->shape.size(); ++i) {
      const bool reduced = std::find(along.begin(), along.end(), i) != along.end();
      if (reduced) n *= h->shape[i];
      else order.push_back(i), rows.push_back(h->shape[i]);
      if (!reduced) result.push_back(h->shape[i]);
      else if (keep.value) result.push_back(1);
    }
    for (const int64_t a : along) order.push_back(a);
    if (n == 0) r.fail<ShapeError>("no elements along the axes of " + to_string(h->shape));
    rows.push_back(n);
    const Handle lanes = r.reshape(r.permute(r.as(work, h), order), rows);
    sorted = sort(r.arg(lanes), -1).values.handle();
    const Handle numbers = r.as(work, r.opposite(r.op(Op::isnan, lanes)));
    count = r.reduce(Op::sum, numbers, {-1}, keepdims);
  }

  Handle at(const Handle& place) const {
    return take_along_axis(r.arg(sorted), r.arg(r.as(int64, place)), -1, Bounds::clip).handle();
  }
  /// Returns the element at place q (count - 1), the mean of two if that is in the `middle` of them.
  Handle quantile(double q, bool middle = false) const {
    if (!(q >= 0 && q <= 1)) r.fail<Error>("q is " + std::to_string(q) + ", not in [0, 1]");
    const Handle last = r.op(Op::maximum, r.op(Op::subtract, count, 1), 0);
    const Handle place = r.op(Op::multiply, last, q), low = r.op(Op::floor, place);
    const Handle a = at(low), b = at(r.op(Op::minimum, r.op(Op::add, low, 1), last));
    const Handle t = r.op(Op::subtract, place, low), gap = r.op(Op::subtract, b, a);
    const Handle up = r.op(Op::add, a, r.op(Op::multiply, gap, t));
    const Handle down = r.op(Op::subtract, b, r.op(Op::multiply, gap, r.op(Op::subtract, 1, t)));
    const Handle mean = r.op(Op::add, r.op(Op::multiply, a, 0.5), r.op(Op::multiply, b, 0.5));
    const Handle between = middle ? mean : r.where(r.op(Op::less, t, 0.5), up, down);
    const Handle same = r.either(r.op(Op::equal, a, b), r.op(Op::equal, t, 0));
    return r.reshape(r.where(same, a, between), result);
  }
  Tensor finish(const Handle& h) const { return r.tensor(r.as(dtype, h)); }
};

Tensor quantiles(const char* name, Arg& x, const std::vector<double>& q, const Axes& axes, KeepDims keep) {
  const Lanes lanes(name, x, axes, keep);
  const Recorder& r = lanes.r;
  if (q.empty()) r.fail<Error>("expected at least one quantile");
  Shape one{1}, whole{static_cast<int64_t>(q.size())};
  for (const int64_t n : lanes.result) one.push_back(n), whole.push_back(n);
  check_countable(name, whole, r.site);
  Handle all = r.filled(0, lanes.work, whole, lanes.sorted);
  for (size_t i = 0; i < q.size(); ++i)
    all = r.replaced(all, r.reshape(lanes.quantile(q[i]), one), 0, static_cast<int64_t>(i));
  return lanes.finish(all);
}

double hundredth(double q) {
  return in_default_mode([&] { return q / 100; });
}

/// Returns how often each element of sorted lanes has occurred up to it: (..., n), int64.
Handle occurrences(const Recorder& r, const Handle& sorted) {
  const int axis = sorted->shape.size() - 1;
  const int64_t n = sorted->shape[axis];
  const Handle index = r.index(axis, sorted->shape, sorted);
  const Handle before = r.part(sorted, axis, 0, n - 1), here = r.part(sorted, axis, 1, n - 1);
  const Handle same = r.either(r.op(Op::equal, before, here), r.both(r.is_nan(before), r.is_nan(here)));
  const Handle begins = r.where(same, 0, r.part(index, axis, 1, n - 1));
  const Handle starts = r.replaced(r.filled(0, int64, sorted->shape, sorted), begins, axis, 1);
  return r.op(Op::subtract, index, cummax(r.arg(starts), axis).values.handle());
}

/// Moves on to the next ascending choice of positions below n; false after the last.
bool next_choice(std::vector<int64_t>& at, int64_t n, bool repeats) {
  const auto k = static_cast<int64_t>(at.size());
  for (int64_t i = k - 1; i >= 0; --i) {
    const auto p = static_cast<size_t>(i);
    if (at[p] >= (repeats ? n - 1 : n - k + i)) continue;
    const int64_t v = ++at[p];
    for (int64_t j = i + 1; j < k; ++j) at[static_cast<size_t>(j)] = repeats ? v : v + j - i;
    return true;
  }
  return false;
}

/// Returns the number of choices of k of n.
Wide binomial(const Recorder& r, int64_t n, int64_t k) {
  if (k > n) return 0;
  Wide c = 1;
  for (int64_t i = 1; i <= k; ++i) {
    c = c * (n - k + i) / i;
    if (c > (Wide(1) << 40)) r.fail<ShapeError>("more combinations than can be listed");
  }
  return c;
}

}  // namespace

Sorted mode(Arg x, IntegerArg axis, KeepDims keep) {
  const Recorder r{"mode", x.site()};
  const Handle given = Operand(r.name, x).take();
  if (given->shape.empty()) r.fail<ShapeError>("a 0-d tensor has no axis");
  const int a = r.axis(axis, given), last = given->shape.size() - 1;
  if (given->shape[a] == 0)
    r.fail<ShapeError>("no elements along axis " + std::to_string(a) + " of " + to_string(given->shape));
  Dims order = axes_in_order(last + 1);
  std::swap(order[a], order[last]);
  const Handle h = r.permute(given, order);
  const Sorted s = sort(r.arg(h), -1);
  const Handle counts = occurrences(r, s.values.handle());
  // The first end of a longest run, that is its largest count.
  const Handle place = r.reduce(Op::argmax, counts, {-1}, keepdims);
  const auto chosen = [&](const Tensor& t) {
    const Handle one = r.permute(take_along_axis(r.arg(t.handle()), r.arg(place), -1).handle(), order);
    if (keep.value) return r.tensor(one);
    Shape shape;
    for (int i = 0; i <= last; ++i)
      if (i != a) shape.push_back(given->shape[i]);
    return r.tensor(r.reshape(one, shape));
  };
  return {chosen(s.values), chosen(s.indices)};
}

Tensor nanmedian(Arg x, Axes axes, KeepDims keep) {
  const Lanes lanes("nanmedian", x, axes, keep);
  return lanes.finish(lanes.quantile(0.5, true));
}
Tensor nanquantile(Arg x, double q, Axes axes, KeepDims keep) {
  const Lanes lanes("nanquantile", x, axes, keep);
  return lanes.finish(lanes.quantile(q));
}
Tensor nanquantile(Arg x, const std::vector<double>& q, Axes axes, KeepDims keep) {
  return quantiles("nanquantile", x, q, axes, keep);
}
Tensor nanpercentile(Arg x, double q, Axes axes, KeepDims keep) {
  const Lanes lanes("nanpercentile", x, axes, keep);
  return lanes.finish(lanes.quantile(hundredth(q)));
}
Tensor nanpercentile(Arg x, const std::vector<double>& q, Axes axes, KeepDims keep) {
  std::vector<double> parts;
  for (const double v : q) parts.push_back(hundredth(v));
  return quantiles("nanpercentile", x, parts, axes, keep);
}

Tensor repeat(Arg x, TensorArg counts, Axes axis, IntegerArg total) {
  const Recorder r{"repeat", x.site()};
  Handle h = Operand(r.name, x).take(), n = Operand(r.name, counts).take();
  if (!is_int(n->dtype)) r.fail<DtypeError>(std::string("counts are integers, not ") + name_of(n->dtype));
  if (axis.size() > 1) r.fail<IndexError>("works along one axis, not " + to_string(axis));
  if (axis.empty()) h = r.reshape(h, {numel(h->shape)});
  const int a = r.axis(axis.empty() ? 0 : axis[0], h);
  const int64_t extent = h->shape[a];
  if (n->shape.size() > 1 || (numel(n->shape) != 1 && numel(n->shape) != extent))
    r.fail<ShapeError>("counts " + to_string(n->shape) + " for axis " + std::to_string(a) + " of " +
                       to_string(h->shape));
  n = r.broadcast(r.reshape(r.as(int64, n), {numel(n->shape)}), {extent});
  int64_t length = total;
  if (extent == 0) length = 0;
  if (length < 0) {
    const Tensor least = r.tensor(r.reduce(Op::min, n, {})), sum = r.tensor(r.reduce(Op::sum, n, {}));
    eval({LocatedTensor(least, r.site), LocatedTensor(sum, r.site)});
    if (least.item<int64_t>(r.site) < 0)
      r.fail<Error>("a count is negative: " + std::to_string(least.item<int64_t>(r.site)));
    length = sum.item<int64_t>(r.site);
  }
  Shape whole = h->shape;
  whole[a] = length;
  check_countable(r.name, whole, r.site);
  if (numel(whole) == 0) return r.tensor(r.filled(0, h->dtype, whole, h));
  const Tensor ends = cumsum(r.arg(n), 0);
  const Handle index = r.index(0, {length}, h);
  return take(r.arg(h), r.arg(searchsorted(r.arg(ends.handle()), r.arg(index), true).handle()), a);
}

Tensor combinations(Arg x, IntegerArg length, bool with_replacement) {
  const Recorder r{"combinations", x.site()};
  const Handle h = Operand(r.name, x).take();
  if (h->shape.size() != 1) r.fail<ShapeError>("takes a vector, not " + to_string(h->shape));
  if (length < 0) r.fail<ShapeError>("the length can't be negative: " + std::to_string(length.value));
  const int64_t n = h->shape[0], k = length;
  const int64_t from = with_replacement && k > 0 ? std::max<int64_t>(n + k - 1, 0) : n;
  const auto number = static_cast<int64_t>(with_replacement && n == 0 && k > 0 ? 0 : binomial(r, from, k));
  const Shape whole{number, k};
  if (k == 0) return r.tensor(r.filled(0, h->dtype, whole, h));  // one choice, of nothing
  check_countable(r.name, whole, r.site);
  if (number == 0) return r.tensor(r.filled(0, h->dtype, whole, h));
  std::vector<int64_t> table, at(static_cast<size_t>(k));
  for (size_t i = 0; !with_replacement && i < at.size(); ++i) at[i] = static_cast<int64_t>(i);
  table.reserve(static_cast<size_t>(number * k));
  do table.insert(table.end(), at.begin(), at.end());
  while (next_choice(at, n, with_replacement));
  const Handle index = values(table.data(), int64, whole, h, r.site);
  return take(r.arg(h), r.arg(index), 0);
}

}  // namespace lazy
