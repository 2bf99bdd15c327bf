#include "lazy/nn/functional/pool.hpp"

#include <algorithm>
#include <limits>

#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/phases.hpp"

namespace lazy::detail {
namespace {

/// Returns n zeros; DeviceError where there is no memory for them.
std::vector<double> table_of(const char* op, int64_t n, const Site& s) {
  try {
    if (n <= INT64_MAX / 16) return std::vector<double>(static_cast<size_t>(n), 0.0);
  } catch (const std::bad_alloc&) {}
  fail<DeviceError>(op, "out of memory: a table of " + std::to_string(n) + " numbers of elements", s);
}

bool some(const Dims& n) {
  return std::any_of(n.begin(), n.end(), [](int64_t v) { return v != 0; });
}

/// Returns how many elements the last window reads beyond the padding, if it begins in the image or before.
int64_t beyond(const char* name, int64_t extent, int64_t padding, int64_t length, int64_t stride,
               int64_t dilation, const Site& s) {
  const Wide span = span_of(length, dilation), all = Wide(extent) + Wide(padding) * 2;
  const Wide rest = all - span;
  if (rest < 0 && -rest >= stride) return 0;  // no window begins early enough
  Wide last = rest > 0 ? (rest + stride - 1) / stride * stride : 0;
  if (last >= Wide(extent) + padding) last -= stride;
  return last < 0 || last + span <= all ? 0 : narrow(name, "a padded extent of", last + span - all, s);
}

/// Counts how many elements of each window lie in the image, or in it and its padding: (count..., 1), as `t`.
Handle covered(const Pool& p, bool with_padding, DType t) {
  const Windows& w = p.windows;
  Handle all;
  for (int i = 0; i < w.spatial(); ++i) {
    std::vector<double> n = table_of(p.name, w.count[i], p.site);
    for (int64_t k = 0; k < w.count[i]; ++k)
      for (int64_t j = 0; j < w.length[i]; ++j) {
        const int64_t at = k * w.stride[i] + j * w.dilation[i] - p.padding[i];
        const int64_t around = with_padding ? p.padding[i] : 0;
        n[static_cast<size_t>(k)] += at >= -around && at < p.image->shape[i + 1] + around;
      }
    Shape shape(w.spatial() + 1, 1);
    shape[i] = w.count[i];
    const Handle one = cast(values(n.data(), float64, shape, p.image, p.site), t, p.site);
    all = all ? binary(p.name, Op::multiply, all, one, p.site) : one;
  }
  return all;
}

}  // namespace

void check_image(const char* name, const Handle& x, const Site& s) {
  if (x->shape.size() < 3 || x->shape.size() > 5)
    fail<ShapeError>(name, "takes an image of 3 to 5 axes, not " + to_string(x->shape), s);
}

Pool pool(const char* name, const Handle& x, const Axes& window, const PoolOptions& o, const Site& s) {
  check_image(name, x, s);
  const int n = x->shape.size() - 2;
  const Dims length = per_axis(name, "window", window, n, 1, s);
  const Dims stride = o.stride.empty() ? length : per_axis(name, "stride", o.stride, n, 1, s);
  const Dims padding = per_axis(name, "padding", o.padding, n, 0, s),
             dilation = per_axis(name, "dilation", o.dilation, n, 1, s);
  for (int i = 0; i < n; ++i)
    if (Wide(padding[i]) * 2 > span_of(length[i], dilation[i]))
      fail<ShapeError>(
          name, "padding " + to_string(padding) + " is more than half of window " + to_string(length), s);
  Dims extra(n, 0);
  const Handle image = channels_to_last(x, o.layout, s);
  for (int i = 0; o.ceil_mode && i < n; ++i)
    extra[i] = beyond(name, image->shape[i + 1], padding[i], length[i], stride[i], dilation[i], s);
  return {name,  s,       o.layout, x,
          image, padding, extra,    Windows(name, image->shape, length, stride, padding, dilation, s, extra)};
}

ScalarNumber lowest(DType t) {
  if (is_float(t)) return ScalarNumber(-std::numeric_limits<double>::infinity());
  if (!is_signed_int(t)) return ScalarNumber(0);
  return ScalarNumber(std::numeric_limits<int64_t>::min() >> (64 - 8 * static_cast<int>(size_of(t))));
}

Handle framed_image(const Pool& p, const ScalarNumber& value) {
  if (!some(p.padding) && !some(p.extra)) return p.image;
  Dims from, extents;
  for (int i = 0; i < p.windows.spatial(); ++i) {
    from.push_back(-p.padding[i]);
    extents.push_back(with_padding(p.name, p.image->shape[i + 1], p.padding[i], p.site) + p.extra[i]);
  }
  return channels_to_last(framed(p.name, p.given, p.first(), from, extents, value, p.site), p.layout, p.site);
}

/// Combines the elements of each window by `op`, in ascending order.
Handle combined(const Pool& p, Op op, const Handle& image) {
  const Windows& w = p.windows;
  if (w.taps > kMostPooledTaps) {
    const Handle view = w.view(image, p.site);
    Dims last;
    for (int i = 0; i < w.spatial(); ++i) last.push_back(-1 - i);
    return reduce(p.name, op == Op::maximum ? Op::max : Op::sum, view, last, dropdims, p.site);
  }
  Dims position(w.spatial(), 0);
  Handle r;
  do {
    const Handle element = w.tap(image, position, p.site);
    r = r ? binary(p.name, op, r, element, p.site) : element;
  } while (w.next(position));
  return r;
}

Handle divisors(const Pool& p, const PoolOptions& o, DType t) {
  const int64_t divisor = o.divisor_override;
  if (divisor == 0 && (some(p.extra) || (some(p.padding) && !o.count_padding)))
    return covered(p, o.count_padding, t);
  return constant(static_cast<double>(divisor ? divisor : p.windows.taps), t, {}, p.site);
}

namespace {

SlidingWindows sliding(const Pool& p) {
  return {p.first(), p.windows.length, p.windows.stride, p.padding, p.windows.dilation};
}

/// Returns which element of each window is the first of the largest, as a number of the image's dtype.
Handle winning_taps(const Pool& p, const Recorder& r) {
  const Handle image = framed_image(p, lowest(p.image->dtype));
  Dims position(p.windows.spatial(), 0);
  Handle largest, tap;
  int64_t k = 0;
  do {
    const Handle element = p.windows.tap(image, position, p.site);
    if (!largest) {
      largest = element;
      tap = r.filled(0, image->dtype, element->shape, element);
      continue;
    }
    // NaN wins, the last one of several.
    const Handle better = r.either(r.op(Op::greater, element, largest), r.is_nan(element));
    largest = r.where(better, element, largest);
    tap = r.where(better, ++k, tap);
  } while (p.windows.next(position));
  return channels_from_last(tap, p.layout, p.site);
}

/// Returns a matrix (extent, windows) that has 1 where element j of an axis is in window o: at a multiple of
/// the dilation from its beginning, which is at o stride - padding.
Handle memberships(const Pool& p, int axis, DType t, const Recorder& r) {
  const Windows& w = p.windows;
  const Shape shape{p.image->shape[axis + 1], w.count[axis]};
  const Handle begin = r.op(Op::subtract, r.op(Op::multiply, r.index(1, shape, p.image), w.stride[axis]),
                            p.padding[axis]),
               into = r.op(Op::subtract, r.index(0, shape, p.image), begin);
  const Handle within = r.both(r.op(Op::greater_equal, into, 0),
                               r.op(Op::less_equal, into, (w.length[axis] - 1) * w.dilation[axis]));
  return r.as(t, r.both(within, r.op(Op::equal, r.op(Op::remainder, into, w.dilation[axis]), 0)));
}

}  // namespace

Handle max_pool_gradient(const Pool& p, const Handle& g) {
  const Recorder r{p.name, p.site};
  const DType t = p.given->dtype, work = is_half(t) ? float32 : t;
  if (p.windows.taps > kMostPooledTaps) {
    PoolOptions o;
    o.stride = Axes(p.windows.stride), o.padding = Axes(p.padding), o.dilation = Axes(p.windows.dilation);
    o.layout = p.layout, o.ceil_mode = some(p.extra);
    const MaxPoolResult found = max_pool_with_indices(r.arg(p.given), Axes(p.windows.length), o);
    return r.as(
        t, max_pool_backward(r.arg(g), r.arg(p.given), r.arg(found.indices.handle()), p.layout).handle());
  }
  if (numel(g->shape) == 0) return r.filled(0, t, p.given->shape, p.given);
  return r.as(t, summed_over_windows(
                     p.name, sliding(p), {r.as(work, g), winning_taps(p, r)}, p.given->shape, work,
                     [&](int64_t k, const std::vector<Handle>& read) {
                       return r.where(r.op(Op::equal, read[1], static_cast<double>(k)), read[0], 0.0);
                     },
                     p.site));
}

Handle avg_pool_gradient(const Pool& p, const PoolOptions& o, const Handle& g) {
  const Recorder r{p.name, p.site};
  const DType t = p.given->dtype, work = is_half(t) ? float32 : t;
  Handle share = r.op(Op::divide, channels_to_last(r.as(work, g), p.layout, p.site), divisors(p, o, work));
  if (p.windows.taps <= kMostPooledTaps)
    return r.as(t, summed_over_windows(
                       p.name, sliding(p), {channels_from_last(share, p.layout, p.site)}, p.given->shape,
                       work, [](int64_t, const std::vector<Handle>& read) { return read[0]; }, p.site));
  for (int i = 0; i < p.windows.spatial(); ++i)
    share = multiplied(p.name, share, i + 1, memberships(p, i, work, r), p.site);
  return r.as(t, channels_from_last(share, p.layout, p.site));
}

}  // namespace lazy::detail
