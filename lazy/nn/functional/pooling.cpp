#include "lazy/nn/functional/pooling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/nn/functional/spatial.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

// A window of up to so many elements is one expression, fused into its readers; a larger one is reduced.
constexpr int64_t kMostTaps = 64;

struct Pool {
  const char* name;
  Site site;
  Handle image;         // with its channels last
  Dims padding, extra;  // elements around, and the more of them after, each spatial axis
  Windows windows;
};

void check_image(const char* name, const Handle& x, const Site& s) {
  if (x->shape.size() < 3 || x->shape.size() > 5)
    fail<ShapeError>(name, "takes an image of 3 to 5 axes, not " + to_string(x->shape), s);
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
  return {name,    s,     image,
          padding, extra, Windows(name, image->shape, length, stride, padding, dilation, s, extra)};
}

Number lowest(DType t) {
  if (is_float(t)) return Number(-std::numeric_limits<double>::infinity());
  if (!is_signed_int(t)) return Number(0);
  return Number(std::numeric_limits<int64_t>::min() >> (64 - 8 * static_cast<int>(size_of(t))));
}

/// Returns n zeros; DeviceError where there is no memory for them.
template <class T>
std::vector<T> table(const char* op, Wide n, const Site& s) {
  try {
    if (n <= INT64_MAX / 16) return std::vector<T>(static_cast<size_t>(n), T(0));
  } catch (const std::bad_alloc&) {}
  fail<DeviceError>(op, "out of memory: a table of " + to_string(n) + " weights of windows", s);
}

/// Combines the elements of each window by `op`, in ascending order.
Handle combined(const Pool& p, Op op, const Handle& image) {
  const Windows& w = p.windows;
  if (w.taps > kMostTaps) {
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

/// Counts how many elements of each window lie in the image, or in it and its padding: (count..., 1), as `t`.
Handle covered(const Pool& p, bool with_padding, DType t) {
  const Windows& w = p.windows;
  Handle all;
  for (int i = 0; i < w.spatial(); ++i) {
    std::vector<double> n = table<double>(p.name, w.count[i], p.site);
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

/// Returns the first element, and the one past the last, that adaptive window `i` of `count` covers.
std::pair<int64_t, int64_t> covers(int64_t i, int64_t count, int64_t extent) {
  return {static_cast<int64_t>(Wide(i) * extent / count),
          static_cast<int64_t>((Wide(i + 1) * extent + count - 1) / count)};
}

/// Reduces spatial axis `axis` of the image to `count` windows: each a weighted sum of the axis.
Handle averaged(const char* name, const Handle& image, int axis, int64_t count, const Site& s) {
  const int64_t extent = image->shape[axis];
  std::vector<double> weights = table<double>(name, Wide(extent) * count, s);
  for (int64_t i = 0; i < count; ++i) {
    const auto [from, to] = covers(i, count, extent);
    const double taps = static_cast<double>(to - from), weight = in_default_mode([&] { return 1 / taps; });
    for (int64_t j = from; j < to; ++j) weights[static_cast<size_t>(i * extent + j)] = weight;
  }
  const Handle matrix = cast(values(weights.data(), float64, {count, extent}, image, s), image->dtype, s);
  Dims axes;
  for (int i = 0; i < image->shape.size(); ++i)
    if (i != axis && i != image->shape.size() - 1) axes.push_back(i);
  axes.push_back(axis);
  axes.push_back(image->shape.size() - 1);
  const Handle y = detail::matmul(name, matrix, detail::permute(image, axes, s), s);
  Dims back(axes.size(), 0);
  for (int i = 0; i < axes.size(); ++i) back[static_cast<int>(axes[i])] = i;
  return detail::permute(y, back, s);
}

/// Reduces likewise to the largest element of each window: elements outside count as the lowest value.
Handle largest(const char* name, const Handle& image, int axis, int64_t count, const Site& s) {
  const int64_t extent = image->shape[axis];
  const int rank = image->shape.size();
  std::vector<uint8_t> inside = table<uint8_t>(name, Wide(extent) * count, s);
  for (int64_t i = 0; i < count; ++i) {
    const auto [from, to] = covers(i, count, extent);
    for (int64_t j = from; j < to; ++j) inside[static_cast<size_t>(i * extent + j)] = 1;
  }
  Shape mask(rank + 1, 1), wide = image->shape;
  mask[axis] = count, mask[axis + 1] = extent;
  wide.push_back(0);
  for (int i = rank; i > axis; --i) wide[i] = wide[i - 1];
  wide[axis] = 1;
  const Handle chosen = cast(values(inside.data(), uint8, mask, image, s), bool_, s);
  const Handle candidates = detail::where(name, chosen, detail::reshape(image, wide, s),
                                          constant(lowest(image->dtype), image->dtype, {}, s), s);
  return reduce(name, Op::max, candidates, {axis + 1}, dropdims, s);
}

template <class F>
Handle adaptive(const char* name, const Handle& x, const Axes& extents, ChannelLayout layout, const Site& s,
                F reduce) {
  check_image(name, x, s);
  const int n = x->shape.size() - 2;
  const Dims count = per_axis(name, "extents", extents, n, 1, s);
  Handle h = channels_to_last(x, layout, s);
  for (int i = 0; i < n; ++i) {
    if (h->shape[i + 1] == 0) fail<ShapeError>(name, "an image without elements: " + to_string(x->shape), s);
    if (h->shape[i + 1] != count[i]) h = reduce(name, h, i + 1, count[i], s);
  }
  return channels_from_last(h, layout, s);
}

}  // namespace

Tensor max_pool(Arg x, Axes window, const PoolOptions& options) {
  constexpr const char* name = "max_pool";
  const Operand h(name, x);
  if (is_bool(h->dtype)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", x.site());
  const Pool p = pool(name, h, window, options, x.site());
  const Handle y =
      combined(p, Op::maximum, padded(p.name, p.image, p.padding, lowest(h->dtype), p.site, false, p.extra));
  return Tensor(channels_from_last(y, options.layout, p.site));
}

Tensor avg_pool(Arg x, Axes window, const PoolOptions& options) {
  constexpr const char* name = "avg_pool";
  const Operand given(name, x);
  const DType t = float_type(given->dtype), work = is_half(t) ? float32 : t;
  const Pool p = pool(name, cast(given, work, x.site()), window, options, x.site());
  const auto some = [](const Dims& n) {
    return std::any_of(n.begin(), n.end(), [](int64_t v) { return v != 0; });
  };
  const bool pads = some(p.padding), reaches = some(p.extra);
  const Handle total = combined(p, Op::add, padded(p.name, p.image, p.padding, 0, p.site, false, p.extra));
  const int64_t divisor = options.divisor_override;
  const Handle count =
      divisor == 0 && (reaches || (pads && !options.count_padding))
          ? covered(p, options.count_padding, work)
          : constant(static_cast<double>(divisor ? divisor : p.windows.taps), work, {}, p.site);
  const Handle y = cast(binary(name, Op::divide, total, count, p.site), t, p.site);
  return Tensor(channels_from_last(y, options.layout, p.site));
}

Tensor adaptive_avg_pool(Arg x, Axes extents, ChannelLayout layout) {
  constexpr const char* name = "adaptive_avg_pool";
  const Operand given(name, x);
  const DType t = float_type(given->dtype), work = is_half(t) ? float32 : t;
  const Handle y = adaptive(name, cast(given, work, x.site()), extents, layout, x.site(), averaged);
  return Tensor(cast(y, t, x.site()));
}

Tensor adaptive_max_pool(Arg x, Axes extents, ChannelLayout layout) {
  constexpr const char* name = "adaptive_max_pool";
  const Operand h(name, x);
  if (is_bool(h->dtype)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", x.site());
  return Tensor(adaptive(name, h, extents, layout, x.site(), largest));
}

}  // namespace lazy
