#include "lazy/nn/functional/pooling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazy/core/memory_format.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/nn/functional/planes.hpp"
#include "lazy/nn/functional/pool.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the options of a pool whose image is seen with its channels last.
PoolOptions last(PoolOptions o) {
  o.layout = channels_last;
  return o;
}

/// Sees results of an image that was seen with its channels last in channels-last memory.
MaxPoolResult images_first(const MaxPoolResult& r, const Site& s) {
  return {image_first(r.values, s), image_first(r.indices, s)};
}

/// Returns n zeros; DeviceError where there is no memory for them.
template <class T>
std::vector<T> table(const char* op, Wide n, const Site& s) {
  try {
    if (n <= INT64_MAX / 16) return std::vector<T>(static_cast<size_t>(n), T(0));
  } catch (const std::bad_alloc&) {}
  fail<DeviceError>(op, "out of memory: a table of " + to_string(n) + " weights of windows", s);
}

/// Returns the first element, and the one past the last, that adaptive window `i` of `count` covers.
std::pair<int64_t, int64_t> covers(int64_t i, int64_t count, int64_t extent) {
  return {static_cast<int64_t>(Wide(i) * extent / count),
          static_cast<int64_t>((Wide(i + 1) * extent + count - 1) / count)};
}

/// Returns the weight of each of `extent` elements in each of `count` adaptive windows: (count, extent).
Handle weights_of(const char* name, int64_t extent, int64_t count, const Handle& like, const Site& s) {
  std::vector<double> weights = table<double>(name, Wide(extent) * count, s);
  for (int64_t i = 0; i < count; ++i) {
    const auto [from, to] = covers(i, count, extent);
    const double taps = static_cast<double>(to - from), weight = in_default_mode([&] { return 1 / taps; });
    for (int64_t j = from; j < to; ++j) weights[static_cast<size_t>(i * extent + j)] = weight;
  }
  return cast(values(weights.data(), float64, {count, extent}, like, s), like->dtype, s);
}

/// Reduces spatial axis `axis` of the image to `count` windows: each a weighted sum of the axis.
Handle averaged(const char* name, const Handle& image, int axis, int64_t count, const Site& s) {
  return multiplied(name, image, axis, weights_of(name, image->shape[axis], count, image, s), s);
}

/// Returns the elements of an axis beside each of `count` adaptive windows, (..., count, extent, ...), those
/// outside of the window being the lowest value.
Handle candidates(const char* name, const Handle& image, int axis, int64_t count, const Site& s) {
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
  return detail::where(name, chosen, detail::reshape(image, wide, s),
                       constant(lowest(image->dtype), image->dtype, {}, s), s);
}

/// Reduces likewise to the largest element of each window.
Handle largest(const char* name, const Handle& image, int axis, int64_t count, const Site& s) {
  return reduce(name, Op::max, candidates(name, image, axis, count, s), {axis + 1}, dropdims, s);
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

/// Holds the largest element of each window of an image with its channels last, and its number in the window.
struct Winners {
  Handle values, taps;
};

Winners winners(const Pool& p, const Formula& f, const Handle& image) {
  const Windows& w = p.windows;
  if (w.taps > kMostPooledTaps) {
    const Handle view = w.view(image, p.site);
    Shape flat = view->shape;
    flat.resize(w.spatial() + 2);
    flat.push_back(w.taps);
    const Handle lanes = f.reshape(view, flat);
    return {f.reduce(Op::max, lanes, {-1}), f.reduce(Op::argmax, lanes, {-1})};
  }
  Dims position(w.spatial(), 0);
  Winners best;
  int64_t tap = 0;
  do {
    const Handle element = w.tap(image, position, p.site);
    if (!best.values) {
      best = {element, f.filled(0, int64, element->shape, element)};
      continue;
    }
    Handle better = f.op(Op::greater, element, best.values);
    if (is_float(image->dtype))
      better = f.either(better, f.both(f.op(Op::isnan, element), f.opposite(f.op(Op::isnan, best.values))));
    best = {f.where(better, element, best.values), f.where(better, ++tap, best.taps)};
  } while (w.next(position));
  return best;
}

/// Returns the shape of an image with its channels moved from the last axis to the second.
Shape channels_second(const Shape& last) {
  Shape r{last[0], last.back()};
  for (int i = 1; i + 1 < last.size(); ++i) r.push_back(last[i]);
  return r;
}

/// Moves an image's channels from the user's layout to the second axis, and flattens its spatial axes.
Handle flattened(const Formula& f, const Handle& h, ChannelLayout layout) {
  const Handle last = channels_to_last(h, layout, f.site);
  const Handle first = channels_from_last(last, channels_first, f.site);
  const Shape& s = first->shape;
  Wide n = 1;
  for (int i = 2; i < s.size(); ++i) n *= s[i];
  return f.reshape(first, {s[0], s[1], static_cast<int64_t>(n)});
}

/// Moves channels from the second axis to the user's layout.
Tensor laid_out(const Formula& f, const Handle& first, ChannelLayout layout) {
  return f.tensor(channels_from_last(channels_to_last(first, channels_first, f.site), layout, f.site));
}

/// Puts values, or adds them, at positions of planes of the extents.
Tensor scattered(const Formula& f, const Handle& x, const Handle& indices, const Dims& extents,
                 ChannelLayout layout, Combine combine) {
  if (!is_int(indices->dtype))
    f.fail<DtypeError>(std::string("indices are integers, not ") + name_of(indices->dtype));
  if (x->shape != indices->shape)
    f.fail<ShapeError>("values " + to_string(x->shape) + " and indices " + to_string(indices->shape) +
                       " differ in shape");
  const Handle v = flattened(f, x, layout), at = flattened(f, indices, layout);
  Shape image{v->shape[0], v->shape[1]};
  for (const int64_t e : extents) image.push_back(e);
  if (numel(image) == 0 && numel(v->shape) > 0) f.fail<IndexError>("no index is in range of no elements");
  return laid_out(f, put_in_planes(f, v, at, image, combine, Bounds::check), layout);
}

Dims spatial_extents(const Shape& image, ChannelLayout layout) {
  Dims r;
  for (int i = 0; i < image.size() - 2; ++i) r.push_back(image[i + (layout == channels_first ? 2 : 1)]);
  return r;
}

/// Returns the derivative of what has the largest element of each window.
Derivative largest_derivative(const Axes& window, const PoolOptions& options) {
  return [window, options](const Differentiated& d) {
    return std::vector{
        max_pool_gradient(pool("max_pool", d.operands[0], window, options, d.site), d.gradient)};
  };
}

/// Returns the derivative of what has the largest element of each adaptive window: the first of them has it.
Derivative adaptive_derivative(const Axes& extents, ChannelLayout layout) {
  return [extents, layout](const Differentiated& d) {
    const Recorder r{"adaptive_max_pool", d.site};
    const Handle at = adaptive_max_pool_with_indices(r.arg(d.operands[0]), extents, layout).indices.handle();
    return std::vector{
        max_pool_backward(r.arg(d.gradient), r.arg(d.operands[0]), r.arg(at), layout).handle()};
  };
}

}  // namespace

MaxPoolResult max_pool_with_indices(Arg x, Axes window, const PoolOptions& options) {
  if (lies_last(x, options.layout))
    return images_first(max_pool_with_indices(arg_last(x), window, last(options)), x.site());
  const Formula f("max_pool_with_indices", x.site());
  const Handle h = Operand(f.name, x).take();
  if (is_bool(h->dtype)) f.fail<DtypeError>("takes numbers, not bool: convert with astype");
  const Pool p = pool(f.name, h, window, options, f.site);
  Composite whole(f.name, {&h}, f.site);
  const Winners best = winners(p, f, framed_image(p, lowest(h->dtype)));
  const Plane plane(f, channels_second(p.image->shape), p.windows.length, p.windows.stride, p.padding,
                    p.windows.dilation, p.extra);
  const Handle at = plane.positions(best.taps, best.taps->shape, 1, true);
  return {f.tensor(whole.result(channels_from_last(best.values, options.layout, f.site),
                                largest_derivative(window, options))),
          f.tensor(channels_from_last(at, options.layout, f.site))};
}

Tensor max_unpool(Arg x, Arg indices, Axes window, const PoolOptions& o, Axes extents) {
  const Formula f("max_unpool", x.site());
  const Handle h = Operand(f.name, x).take(), at = Operand(f.name, indices).take();
  check_image(f.name, h, f.site);
  const int n = h->shape.size() - 2;
  const Dims length = per_axis(f.name, "window", window, n, 1, f.site);
  const Dims stride = o.stride.empty() ? length : per_axis(f.name, "stride", o.stride, n, 1, f.site);
  const Dims padding = per_axis(f.name, "padding", o.padding, n, 0, f.site);
  Dims to = spatial_extents(h->shape, o.layout);
  if (!extents.empty()) {
    to = per_axis(f.name, "extents", extents, n, 0, f.site);
  } else {
    for (int i = 0; i < n; ++i)
      to[i] = lazy::detail::narrow(f.name, "an extent of",
                                   (Wide(to[i]) - 1) * stride[i] - Wide(padding[i]) * 2 + length[i], f.site);
  }
  check_extents(f.name, to, f.site);
  return scattered(f, h, at, to, o.layout, Combine::set);
}

Tensor lp_pool(Arg x, double p, Axes window, const PoolOptions& options) {
  if (lies_last(x, options.layout))
    return image_first(lp_pool(arg_last(x), p, window, last(options)), x.site());
  const Formula f("lp_pool", {&x});
  const Term v = f.term(x);
  if (p == 0 || std::isnan(p)) f.fail<Error>("p is 0, or NaN");
  check_image(f.name, v.handle(), f.site);
  const int n = v.rank() - 2;
  for (const int64_t e : per_axis(f.name, "padding", options.padding, n, 0, f.site))
    if (e != 0) f.fail<Error>("has no padding");
  const Pool checked = pool(f.name, v.handle(), window, options, f.site);
  Composite whole(f.name, {&v.handle()}, f.site);
  if (std::isinf(p)) return f.finish(whole, f.term(max_pool(f.arg(v.handle()), window, options).handle()));
  const Term powers = power(v, p);
  const Term means = f.term(avg_pool(f.arg(powers.handle()), window, options).handle());
  const Term sums = means * static_cast<double>(checked.windows.taps);
  const double root = in_default_mode([&] { return 1 / p; });
  if (p < 0) return f.finish(whole, power(sums, root));
  // A window of zeros has no gradient, though the root's is infinite there.
  const Term none = sums == 0.0;
  return f.finish(whole, where(none, 0.0, power(where(none, 1.0, sums), root)));
}

MaxPoolResult adaptive_max_pool_with_indices(Arg x, Axes extents, ChannelLayout layout) {
  if (lies_last(x, layout))
    return images_first(adaptive_max_pool_with_indices(arg_last(x), extents, channels_last), x.site());
  const Formula f("adaptive_max_pool_with_indices", x.site());
  const Handle h = Operand(f.name, x).take();
  if (is_bool(h->dtype)) f.fail<DtypeError>("takes numbers, not bool: convert with astype");
  check_image(f.name, h, f.site);
  const int n = h->shape.size() - 2;
  const Dims count = per_axis(f.name, "extents", extents, n, 1, f.site);
  Composite whole(f.name, {&h}, f.site);
  Handle y = channels_to_last(h, layout, f.site), at;
  int64_t pitch = 1;
  // From the last axis on: so the first of equal elements in row-major order wins.
  for (int i = n; i >= 1; --i) {
    const int64_t extent = y->shape[i];
    if (extent == 0) f.fail<ShapeError>("an image without elements: " + to_string(h->shape));
    const Handle lanes = candidates(f.name, y, i, count[i - 1], f.site);
    const Handle winner = f.reduce(Op::argmax, lanes, {i + 1});
    if (at) at = take_along_axis(f.arg(at), f.arg(winner), i).handle();
    const Handle step = f.op(Op::multiply, winner, pitch);
    at = at ? f.op(Op::add, at, step) : step;
    y = f.reduce(Op::max, lanes, {i + 1});
    pitch *= extent;
  }
  return {f.tensor(whole.result(channels_from_last(y, layout, f.site), adaptive_derivative(extents, layout))),
          f.tensor(channels_from_last(at, layout, f.site))};
}

Tensor avg_pool_backward(Arg grad, Arg x, Axes window, const PoolOptions& o) {
  const Formula f("avg_pool_backward", {&grad, &x});
  const Term g = f.term(grad), v = f.term(x);
  const Pool p = pool(f.name, v.handle(), window, o, f.site);
  const Handle last = channels_to_last(g.handle(), o.layout, f.site);
  Shape expected = p.image->shape;
  for (int i = 0; i < p.windows.spatial(); ++i) expected[i + 1] = p.windows.count[i];
  if (last->shape != expected || g.rank() != v.rank())
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " for an image " + to_string(v.shape()));
  return f.tensor(f.as(f.result, avg_pool_gradient(p, o, g.handle())));
}

Tensor adaptive_avg_pool_backward(Arg grad, Arg x, ChannelLayout layout) {
  const Formula f("adaptive_avg_pool_backward", {&grad, &x});
  const Term g = f.term(grad), v = f.term(x);
  check_image(f.name, v.handle(), f.site);
  Handle h = channels_to_last(g.handle(), layout, f.site);
  const Handle image = channels_to_last(v.handle(), layout, f.site);
  const int n = v.rank() - 2;
  if (g.rank() != v.rank() || h->shape[0] != image->shape[0] || h->shape.back() != image->shape.back())
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " for an image " + to_string(v.shape()));
  for (int i = 1; i <= n; ++i) {
    if (h->shape[i] == 0 || image->shape[i] == 0)
      f.fail<ShapeError>("images without elements: " + to_string(g.shape()) + " and " + to_string(v.shape()));
    if (h->shape[i] == image->shape[i]) continue;
    const Handle weights = weights_of(f.name, image->shape[i], h->shape[i], h, f.site);
    h = multiplied(f.name, h, i, matrix_transpose(weights, f.site), f.site);
  }
  return f.tensor(f.as(f.result, channels_from_last(h, layout, f.site)));
}

Tensor max_pool_backward(Arg grad, Arg x, Arg indices, ChannelLayout layout) {
  const Formula f("max_pool_backward", {&grad, &x});
  const Term g = f.term(grad), v = f.term(x);
  const Handle at = Operand(f.name, indices).take();
  check_image(f.name, v.handle(), f.site);
  const int c = layout == channels_first ? 1 : v.rank() - 1;
  if (g.rank() != v.rank() || g.extent(0) != v.extent(0) || g.extent(c) != v.extent(c))
    f.fail<ShapeError>("a gradient " + to_string(g.shape()) + " for an image " + to_string(v.shape()));
  const Tensor y = scattered(f, g.handle(), at, spatial_extents(v.shape(), layout), layout, Combine::add);
  return f.tensor(f.as(f.result, y.handle()));
}

Tensor max_pool(Arg x, Axes window, const PoolOptions& options) {
  if (lies_last(x, options.layout))
    return image_first(max_pool(arg_last(x), window, last(options)), x.site());
  constexpr const char* name = "max_pool";
  const Handle h = Operand(name, x).take();
  if (is_bool(h->dtype)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", x.site());
  const Pool p = pool(name, h, window, options, x.site());
  Composite whole(name, {&h}, p.site);
  const Handle y = combined(p, Op::maximum, framed_image(p, lowest(h->dtype)));
  return Tensor(
      whole.result(channels_from_last(y, options.layout, p.site), largest_derivative(window, options)));
}

Tensor avg_pool(Arg x, Axes window, const PoolOptions& options) {
  if (lies_last(x, options.layout))
    return image_first(avg_pool(arg_last(x), window, last(options)), x.site());
  constexpr const char* name = "avg_pool";
  const Handle given = Operand(name, x).take();
  const DType t = float_type(given->dtype), work = is_half(t) ? float32 : t;
  Composite whole(name, {&given}, x.site());
  const Pool p = pool(name, cast(given, work, x.site()), window, options, x.site());
  const Handle total = combined(p, Op::add, framed_image(p, 0));
  const Handle y = cast(binary(name, Op::divide, total, divisors(p, options, work), p.site), t, p.site);
  return Tensor(
      whole.result(channels_from_last(y, options.layout, p.site), [window, options](const Differentiated& d) {
        const Pool again = pool(name, d.operands[0], window, options, d.site);
        return std::vector{avg_pool_gradient(again, options, d.gradient)};
      }));
}

Tensor adaptive_avg_pool(Arg x, Axes extents, ChannelLayout layout) {
  if (lies_last(x, layout))
    return image_first(adaptive_avg_pool(arg_last(x), extents, channels_last), x.site());
  constexpr const char* name = "adaptive_avg_pool";
  const Operand given(name, x);
  const DType t = float_type(given->dtype), work = is_half(t) ? float32 : t;
  const Handle y = adaptive(name, cast(given, work, x.site()), extents, layout, x.site(), averaged);
  return Tensor(cast(y, t, x.site()));
}

Tensor adaptive_max_pool(Arg x, Axes extents, ChannelLayout layout) {
  if (lies_last(x, layout))
    return image_first(adaptive_max_pool(arg_last(x), extents, channels_last), x.site());
  constexpr const char* name = "adaptive_max_pool";
  const Handle h = Operand(name, x).take();
  if (is_bool(h->dtype)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", x.site());
  Composite whole(name, {&h}, x.site());
  return Tensor(whole.result(adaptive(name, h, extents, layout, x.site(), largest),
                             adaptive_derivative(extents, layout)));
}

}  // namespace lazy
