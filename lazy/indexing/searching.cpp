#include "lazy/indexing/searching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/indexing/gathering.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

// The most sorted values that are all compared with each value: a search reads elements one after the other.
constexpr int64_t kMostCompared = 16;

/// True where a comes before b in the order of sort(), in which NaN is last.
Handle before(const Recorder& r, const Handle& a, const Handle& b) {
  const Handle less = r.op(Op::less, a, b);
  if (!is_float(a->dtype)) return less;
  return r.either(less, r.both(r.op(Op::isnan, b), r.opposite(r.op(Op::isnan, a))));
}

/// True where a sorted element belongs before the place of a value.
Handle precedes(const Recorder& r, const Handle& element, const Handle& value, bool right) {
  return right ? r.opposite(before(r, value, element)) : before(r, element, value);
}

/// Returns the elements at positions of `of`, which broadcasts nowhere: every position is in range.
Handle read(const Recorder& r, const Handle& of, const Handle& position) {
  return take(r.arg(of), r.arg(position), 0, Bounds::clip).handle();
}

/// Returns the number of sorted elements that precede each value.
Handle places(const Recorder& r, const Handle& sorted, const Handle& values, bool right) {
  const int64_t n = sorted->shape[0];
  if (n <= kMostCompared && values->shape.size() < kMaxRank) {
    Shape shape = values->shape;
    shape.push_back(1);
    const Handle smaller = precedes(r, sorted, r.reshape(values, shape), right);
    return r.reduce(Op::sum, r.as(int64, smaller), {-1});
  }
  // Invariant: the elements before `place` precede the value. Steps of descending powers of 2 find the
  // largest such place.
  int64_t step = 1;
  while (step <= n / 2) step *= 2;
  Handle place = r.filled(0, int64, values->shape, values);
  for (; step > 0 && n > 0; step /= 2) {
    const Handle last = r.op(Op::add, place, step - 1);
    const Handle fits = r.both(r.op(Op::less, last, n), precedes(r, read(r, sorted, last), values, right));
    place = r.where(fits, r.op(Op::add, place, step), place);
  }
  return place;
}

Tensor searched(const char* name, Arg& sorted, Arg& values, bool right, const Site& s) {
  const Recorder r{name, s};
  const DType t = common_type(name, {&sorted, &values});
  const Operand from(name, sorted, t), of(name, values, t);
  if (from->shape.size() != 1)
    r.fail<ShapeError>("the sorted values have one dimension, not " + to_string(from->shape));
  return r.tensor(places(r, from, of, right));
}

/// Returns the number of counts: reads the largest element.
int64_t length_of(const Recorder& r, const Handle& h, IntegerArg minlength) {
  if (!is_int(h->dtype)) r.fail<DtypeError>(std::string("takes integers, not ") + name_of(h->dtype));
  if (h->shape.size() != 1) r.fail<ShapeError>("takes one dimension, not " + to_string(h->shape));
  if (minlength < 0) r.fail<IndexError>("a length can't be negative: " + std::to_string(minlength.value));
  int64_t length = minlength;
  if (h->shape[0] > 0) {
    uint64_t last = 0;
    if (is_signed_int(h->dtype)) {
      const Tensor low = r.tensor(r.reduce(Op::min, h, {})), high = r.tensor(r.reduce(Op::max, h, {}));
      const std::vector<int64_t> ends = stack({low, high}, 0, r.site).to_vector<int64_t>(r.site);
      if (ends[0] < 0) r.fail<IndexError>("can't count a negative element: " + std::to_string(ends[0]));
      last = static_cast<uint64_t>(ends[1]);
    } else {
      last = r.tensor(r.reduce(Op::max, h, {})).item<uint64_t>(r.site);
    }
    length = std::max(length, detail::narrow(r.name, "an element of", Wide(last) + 1, r.site));
  }
  check_countable(r.name, {length}, r.site);
  return length;
}

Tensor added_up(const Recorder& r, const Handle& at, const Handle& values, int64_t length) {
  const Handle zero = r.filled(0, values->dtype, {length}, at);
  if (length == 0) return r.tensor(zero);
  return put_along_axis(r.arg(zero), r.arg(at), r.arg(values), 0, Combine::add, Bounds::mask);
}

/// Counts the elements in bins between `low` and `high`, 0-d tensors of the elements' dtype.
HistogramResult counted(const Recorder& r, const Handle& x, int64_t bins, const Handle& low,
                        const Handle& high) {
  const Handle flat = r.reshape(x, {numel(x->shape)});
  const DType t = flat->dtype;
  const Handle width = r.op(Op::subtract, high, low),
               step = r.op(Op::divide, width, static_cast<double>(bins));
  const auto edge = [&](const Handle& i) {
    const Handle inner = r.op(Op::add, r.op(Op::multiply, r.as(t, i), step), low);
    return r.where(r.op(Op::equal, i, bins), high, inner);
  };
  // The quotient may be one bin off: the edges decide.
  const Handle share = r.op(Op::divide, r.op(Op::subtract, flat, low), width);
  Handle bin = r.as(int64, r.op(Op::multiply, share, static_cast<double>(bins)));
  bin = r.op(Op::minimum, r.op(Op::maximum, bin, 0), bins - 1);
  bin = r.op(Op::subtract, bin, r.as(int64, r.op(Op::less, flat, edge(bin))));
  const Handle next = r.op(Op::add, bin, 1);
  const Handle above = r.both(r.op(Op::greater_equal, flat, edge(next)), r.op(Op::less, next, bins));
  bin = r.op(Op::add, bin, r.as(int64, above));
  const Handle inside = r.both(r.op(Op::greater_equal, flat, low), r.op(Op::less_equal, flat, high));
  const Handle at = r.where(inside, bin, -1);
  return {added_up(r, at, r.filled(1, int64, at->shape, x), bins), r.tensor(edge(r.index(0, {bins + 1}, x)))};
}

Handle checked(const Recorder& r, Arg& x, IntegerArg bins) {
  const Handle h = Operand(r.name, x).take();
  if (bins < 1) r.fail<ShapeError>("the number of bins must be positive, not " + std::to_string(bins.value));
  check_countable(r.name, {detail::narrow(r.name, "a number of edges of", Wide(bins.value) + 1, r.site)},
                  r.site);
  return r.as(wide_float(h->dtype), h);
}

}  // namespace

Tensor searchsorted(Arg sorted, Arg values, bool right) {
  return searched("searchsorted", sorted, values, right, sorted.site());
}
Tensor digitize(Arg values, Arg edges, bool right) {
  return searched("digitize", edges, values, !right, values.site());
}
Tensor bucketize(Arg values, Arg boundaries, bool right) {
  return searched("bucketize", boundaries, values, right, values.site());
}

Tensor interp(Arg x, Arg xp, Arg fp) {
  const Recorder r{"interp", x.site()};
  const DType t = float_type(common_type(r.name, {&x, &xp, &fp})), work = wide_float(t);
  const Operand at(r.name, x, t), from(r.name, xp, t), to(r.name, fp, t);
  if (from->shape.size() != 1 || from->shape != to->shape || from->shape[0] == 0)
    r.fail<ShapeError>("the points " + to_string(from->shape) + " and " + to_string(to->shape) +
                       " have one dimension, of one extent that is not 0");
  const Handle h = r.as(work, at), px = r.as(work, from), py = r.as(work, to);
  const int64_t n = px->shape[0];
  const Handle place = places(r, px, h, true);
  const Handle i = r.op(Op::maximum, r.op(Op::minimum, r.op(Op::subtract, place, 1), n - 2), 0);
  const Handle next = r.op(Op::minimum, r.op(Op::add, i, 1), n - 1);
  const Handle x0 = read(r, px, i), y0 = read(r, py, i), x1 = read(r, px, next), y1 = read(r, py, next);
  const Handle slope = r.op(Op::divide, r.op(Op::subtract, y1, y0), r.op(Op::subtract, x1, x0));
  Handle y = r.op(Op::add, r.op(Op::multiply, slope, r.op(Op::subtract, h, x0)), y0);
  y = r.where(r.op(Op::equal, h, x0), y0, y);
  y = r.where(r.op(Op::less, h, r.reshape(r.part(px, 0, 0, 1), {})), r.reshape(r.part(py, 0, 0, 1), {}), y);
  y = r.where(r.op(Op::greater_equal, h, r.reshape(r.part(px, 0, n - 1, 1), {})),
              r.reshape(r.part(py, 0, n - 1, 1), {}), y);
  return r.tensor(r.as(t, r.where(r.op(Op::isnan, h), h, y)));
}

Tensor bincount(Arg x, IntegerArg minlength) {
  const Recorder r{"bincount", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int64_t length = length_of(r, h, minlength);
  return added_up(r, h, r.filled(1, int64, h->shape, h), length);
}

Tensor bincount(Arg x, TensorArg weights, IntegerArg minlength) {
  const Recorder r{"bincount", x.site()};
  const Handle h = Operand(r.name, x).take(), w = Operand(r.name, weights).take();
  if (w->shape != h->shape)
    r.fail<ShapeError>("weights of shape " + to_string(w->shape) + " for " + to_string(h->shape));
  const int64_t length = length_of(r, h, minlength);
  return added_up(r, h, r.as(float_type(w->dtype), w), length);
}

HistogramResult histogram(Arg x, IntegerArg bins) {
  const Recorder r{"histogram", x.site()};
  const Handle h = checked(r, x, bins);
  if (numel(h->shape) == 0)
    return counted(r, h, bins, r.filled(0, h->dtype, {}, h), r.filled(1, h->dtype, {}, h));
  const Handle low = r.reduce(Op::min, h, {}), high = r.reduce(Op::max, h, {});
  const Handle half = r.where(r.op(Op::equal, low, high), r.number(0.5, h->dtype), 0);
  return counted(r, h, bins, r.op(Op::subtract, low, half), r.op(Op::add, high, half));
}

HistogramResult histogram(Arg x, IntegerArg bins, double low, double high) {
  const Recorder r{"histogram", x.site()};
  const Handle h = checked(r, x, bins);
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    r.fail<Error>("the range is finite and ascends: " + std::to_string(low) + ", " + std::to_string(high));
  const double half = low == high ? 0.5 : 0;
  return counted(r, h, bins, r.filled(in_default_mode([&] { return low - half; }), h->dtype, {}, h),
                 r.filled(in_default_mode([&] { return high + half; }), h->dtype, {}, h));
}

}  // namespace lazy
