#include <algorithm>

#include "lazy/core/memory_format.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/nn/functional/complex_products.hpp"
#include "lazy/nn/functional/conv_problem.hpp"
#include "lazy/nn/functional/phases.hpp"

namespace lazy {
namespace detail {
namespace {

constexpr const char *kImage = "gradient of a convolved image",
                     *kWeights = "gradient of a convolution's weights", *kResult = "conv";

// More convolutions than this take longer than one of an image spread among zeros.
constexpr int64_t kMostPhases = 64;

// Gradients of a depthwise convolution's weights with no more elements in a window than this are computed
// side by side where channels are last: a vector of results is then loaded once for all of them.
constexpr int64_t kFewTaps = 9;

// With fewer gradients to sum for each result channel than this, a product gives weights in their own order.
constexpr int64_t kShortSums = 6;

bool all_of(const Dims& d, int64_t v) {
  return std::all_of(d.begin(), d.end(), [&](int64_t e) { return e == v; });
}

/// Returns how a composite's part is recorded again: an array of handles from what is wanted.
template <class A, class B>
auto bilinear(A&& first, B&& second) {
  return [first, second](const Differentiated& d) {
    std::vector<Handle> g(2);
    if (d.wants(0)) g[0] = first(d.gradient, d.operands[1], d.operands[0]->shape, d.site);
    if (d.wants(1)) g[1] = second(d.gradient, d.operands[0], d.operands[1]->shape, d.site);
    return g;
  };
}

/// Returns weights as a convolution of results takes them to give images: with O and C / groups exchanged
/// within each group.
Handle exchanged(const ConvLayer& c, const Handle& w, const Site& s) {
  const int n = c.spatial();
  const int64_t groups = c.groups;
  const bool first = c.layout == channels_first;
  const Shape& k = w->shape;
  const Dims axes = first ? range(2, n + 2) : range(0, n);
  if (groups == 1) return detail::permute(w, first ? joined({{1, 0}, axes}) : joined({axes, {n + 1, n}}), s);
  Shape split, result;
  if (first) {  // (G, O / G, C / G, K...) -> (G, C / G, O / G, K...)
    split = {groups, k[0] / groups, k[1]}, result = {groups * k[1], k[0] / groups};
    for (int i = 2; i < k.size(); ++i) split.push_back(k[i]), result.push_back(k[i]);
    return detail::reshape(
        detail::permute(detail::reshape(w, split, s), joined({{0, 2, 1}, range(3, n + 3)}), s), result, s);
  }
  // (K..., C / G, G, O / G) -> (K..., O / G, G, C / G)
  for (int i = 0; i < n; ++i) split.push_back(k[i]), result.push_back(k[i]);
  for (int64_t e : {k[n], groups, k[n + 1] / groups}) split.push_back(e);
  for (int64_t e : {k[n + 1] / groups, groups * k[n]}) result.push_back(e);
  return detail::reshape(detail::permute(detail::reshape(w, split, s), joined({axes, {n + 2, n + 1, n}}), s),
                         result, s);
}

/// Computes the elements of each phase by a convolution without stride, of what its elements read.
Handle by_phases(const ConvLayer& c, const Handle& g, const Handle& w, const Phases& axes, const Shape& image,
                 const Site& s) {
  const int n = c.spatial(), first = c.first(), kernel = c.kernel(), rank = n + 2;
  Handle all = covers_all(axes, image, first) ? overwritten(g->dtype, image, g->device, s)
                                              : constant(0, g->dtype, image, g, s);
  each_phase(axes, [&](const std::vector<Phase>& phase) {
    Dims start(rank, 0), step(rank, 1), from(n, 0), extents(n, 0), gaps(n, 1), at(rank, 0), apart(rank, 1);
    Shape taps = w->shape;
    for (int i = 0; i < n; ++i) {
      const Phase& p = phase[static_cast<size_t>(i)];
      const int64_t last = p.tap + (p.taps - 1) * p.skip;  // the window's elements in reverse
      start[kernel + i] = last;
      if (p.taps > 1) step[kernel + i] = -p.skip;
      taps[kernel + i] = p.taps;
      gaps[i] = p.gap;
      const Wide reach = span_of(p.taps, p.gap) - 1;
      from[i] = narrow(kImage, "a position of", p.reach - reach, s);
      extents[i] = narrow(kImage, "an extent of", p.count + reach, s);
      at[first + i] = p.phase;
      if (p.count > 1) apart[first + i] = c.stride[i];
    }
    const Handle weights = exchanged(c, detail::slice(w, start, step, taps, s), s);
    // The padding lies symmetrically around g.
    Dims padding(n, 0);
    bool symmetric = true;
    for (int i = 0; i < n; ++i) {
      padding[i] = -from[i];
      symmetric = symmetric && from[i] <= 0 && extents[i] == g->shape[first + i] + 2 * padding[i];
    }
    if (!symmetric) padding = Dims(n, 0);
    const Handle read = symmetric ? g : framed(kImage, g, first, from, extents, 0, s);
    const ConvLayer dense{Dims(n, 1), padding, gaps, c.groups, c.layout};
    const Handle one = conv(Arg(read, s), Arg(weights, s), dense.options()).handle();
    all = one->shape == image ? one : slice_update(kImage, all, one, at, apart, s);
  });
  return all;
}

/// Spreads g's elements `stride` apart among zeros and convolves that with the reversed weights.
Handle by_spreading(const ConvLayer& c, const Handle& g, const Handle& w, const Shape& image, const Site& s) {
  const int n = c.spatial(), rank = n + 2;
  Dims start(rank, 0), step(rank, 1), begin(rank, 0), apart(rank, 1), from(n, 0), extents(n, 0);
  Shape spread = g->shape;
  for (int i = 0; i < n; ++i) {
    const int64_t length = w->shape[c.kernel() + i];
    start[c.kernel() + i] = length - 1;
    if (length > 1) step[c.kernel() + i] = -1;
    const int a = c.first() + i;
    spread[a] = narrow(kImage, "an extent of", span_of(g->shape[a], c.stride[i]), s);
    if (g->shape[a] > 1) apart[a] = c.stride[i];
    const int64_t reach = narrow(kImage, "an extent of", span_of(length, c.dilation[i]) - 1, s);
    from[i] = c.padding[i] - reach;
    extents[i] = image[a] + reach;
  }
  check_countable(kImage, spread, s);
  const Handle wide = slice_update(kImage, constant(0, g->dtype, spread, g, s), g, begin, apart, s);
  const Handle weights = exchanged(c, detail::slice(w, start, step, w->shape, s), s);
  const ConvLayer dense{Dims(n, 1), Dims(n, 0), c.dilation, c.groups, c.layout};
  return conv(Arg(framed(kImage, wide, c.first(), from, extents, 0, s), s), Arg(weights, s), dense.options())
      .handle();
}

/// Multiplies g (N, O, R...) by the weights, which gives the elements of windows that lie side by side: (N,
/// C, R..., K...).
Handle patches_first(const ConvLayer& c, const Handle& g, const Handle& w, const Site& s) {
  const int n = c.spatial();
  const int64_t groups = c.groups, out = w->shape[0] / groups, depth = numel(w->shape) / w->shape[0],
                count = numel(g->shape) / (g->shape[0] * g->shape[1]);
  const Handle rows = detail::permute(detail::reshape(w, {groups, out, depth}, s), {0, 2, 1}, s);
  const Handle columns = detail::reshape(g, {g->shape[0], groups, out, count}, s);
  const Handle product = detail::matmul(kImage, rows, columns, s);  // (N, G, C / G K..., R...)
  Shape apart{g->shape[0], groups * w->shape[1]};
  for (int i = 0; i < n; ++i) apart.push_back(w->shape[i + 2]);
  for (int i = 0; i < n; ++i) apart.push_back(g->shape[i + 2]);
  return detail::permute(detail::reshape(product, apart, s),
                         joined({{0, 1}, range(n + 2, 2 * n + 2), range(2, n + 2)}), s);
}

/// Multiplies g (N, R..., O) likewise: (N, R..., K..., C).
Handle patches_last(const ConvLayer& c, const Handle& g, const Handle& w, const Site& s) {
  const int n = c.spatial();
  const int64_t groups = c.groups, out = w->shape[n + 1] / groups, depth = numel(w->shape) / w->shape[n + 1],
                count = numel(g->shape) / g->shape[n + 1];
  const Handle rows = detail::permute(detail::reshape(g, {count, groups, out}, s), {1, 0, 2}, s);
  const Handle columns = detail::permute(detail::reshape(w, {depth, groups, out}, s), {1, 2, 0}, s);
  const Handle product = detail::matmul(kImage, rows, columns, s);  // (G, N R..., K... C / G)
  Shape apart{groups}, together;
  for (int i = 0; i <= n; ++i) apart.push_back(g->shape[i]), together.push_back(g->shape[i]);
  for (int i = 0; i < n; ++i) apart.push_back(w->shape[i]), together.push_back(w->shape[i]);
  apart.push_back(w->shape[n]), together.push_back(groups * w->shape[n]);
  const Handle split =
      detail::permute(detail::reshape(product, apart, s), joined({range(1, 2 * n + 2), {0, 2 * n + 2}}), s);
  return detail::reshape(split, together, s);
}

/// Puts windows that lie side by side into an image.
Handle by_patches(const ConvLayer& c, const Handle& g, const Handle& w, const Shape& image, const Site& s) {
  const int n = c.spatial(), axis = c.first();  // of the first R, which the K follow
  Handle patches = axis == 2 ? patches_first(c, g, w, s) : patches_last(c, g, w, s);
  Dims order = range(0, axis), from(n, 0), extents(n, 0);
  Shape whole;
  for (int i = 0; i < axis; ++i) whole.push_back(patches->shape[i]);
  for (int i = 0; i < n; ++i) {
    order.push_back(axis + i), order.push_back(axis + n + i);
    whole.push_back(patches->shape[axis + i] * c.stride[i]);
    from[i] = c.padding[i];
    extents[i] = image[axis + i];
  }
  if (axis == 1) order.push_back(2 * n + 1), whole.push_back(patches->shape.back());
  patches = detail::permute(patches, order, s);
  for (int i = 0; i < n; ++i)  // to windows as long as they are apart
    patches = framed(kImage, patches, axis + 1 + 2 * i, {0}, {c.stride[i]}, 0, s);
  return framed(kImage, detail::reshape(patches, whole, s), axis, from, extents, 0, s);
}

Handle image_gradient(const ConvLayer& c, const Handle& g, const Handle& w, const Shape& image,
                      const Site& s) {
  if (numel(g->shape) == 0 || numel(w->shape) == 0 || numel(image) == 0)
    return constant(0, g->dtype, image, g, s);
  Phases axes;
  Wide count = 1;
  bool apart = all_of(c.dilation, 1) && !all_of(c.stride, 1);
  for (int i = 0; i < c.spatial(); ++i)
    apart = apart && w->shape[c.kernel() + i] <= c.stride[i] && c.stride[i] <= image[c.first() + i];
  if (apart) return by_patches(c, g, w, image, s);
  for (int i = 0; i < c.spatial(); ++i) {
    const int64_t length = w->shape[c.kernel() + i];
    if (std::min(length, c.stride[i]) > kMostPhases) return by_spreading(c, g, w, image, s);
    axes.push_back(phases_of(image[c.first() + i], length, c.stride[i], c.padding[i], c.dilation[i]));
    count *= axes.back().size();
  }
  if (count > kMostPhases) return by_spreading(c, g, w, image, s);
  return by_phases(c, g, w, axes, image, s);
}

/// Returns the image with its padding, in its own layout: channels that lie apart are not read in turn.
Handle padded_image(const ConvLayer& c, const Handle& x, const Site& s) {
  Dims from, extents;
  for (int i = 0; i < c.spatial(); ++i) {
    from.push_back(-c.padding[i]);
    extents.push_back(with_padding(kWeights, x->shape[c.first() + i], c.padding[i], s));
  }
  return framed(kImage, x, c.first(), from, extents, 0, s);
}

/// Returns the windows of the image with its channels last, as many as g has.
Handle windows_like(const ConvLayer& c, const Handle& g, const Handle& x, const Shape& weights,
                    const Site& s) {
  const Handle last = channels_to_last(padded_image(c, x, s), c.layout, s);
  Dims length;
  for (int i = 0; i < c.spatial(); ++i) length.push_back(weights[c.kernel() + i]);
  Windows windows(kWeights, last->shape, length, c.stride, Dims(c.spatial(), 0), c.dilation, s);
  for (int i = 0; i < c.spatial(); ++i) windows.count[i] = g->shape[c.first() + i];
  return windows.view(last, s);  // (N, R..., C, K...)
}

/// Sums products of g and the image for each element of the windows of single channels: along the last
/// spatial axis, then along the others. Lanes run along that axis, or along channels where these are last.
Handle depthwise_weight_gradient(const ConvLayer& c, const Handle& given, const Handle& x,
                                 const Shape& weights, const Site& s) {
  const int n = c.spatial(), first = c.first(), channel = c.layout == channels_first ? 1 : n + 1;
  const DType work = is_half(x->dtype) ? float32 : x->dtype;
  const Handle g = cast(given, work, s), image = cast(padded_image(c, x, s), work, s);
  const int64_t channels = x->shape[channel], multiplier = g->shape[channel] / channels;
  Shape view = image->shape, beside;
  for (int i = 0; i < n; ++i) view[first + i] = g->shape[first + i];
  for (int i = 0; i < n; ++i) view.push_back(weights[c.kernel() + i]);
  Handle windows = detail::window(image, range(first, first + n), c.stride, c.dilation, view, s);
  // (N, C, K..., R...) beside (N, C, M, 1..., R...), or (K..., N, R..., C) beside (1..., N, R..., C, M).
  const Dims ones(n, 1);
  Dims places;
  if (channel == 1) {
    windows = detail::permute(windows, joined({{0, 1}, range(n + 2, 2 * n + 2), range(2, n + 2)}), s);
    beside = Shape(joined({{g->shape[0], channels}, multiplier > 1 ? Dims{multiplier} : Dims{}, ones}));
    for (int i = 0; i < n; ++i) beside.push_back(g->shape[2 + i]);
    places = joined({{0}, range(beside.size() - n, beside.size())});
  } else {
    windows = detail::permute(windows, joined({range(n + 2, 2 * n + 2), range(0, n + 2)}), s);
    beside = Shape(ones);
    for (int i = 0; i <= n; ++i) beside.push_back(g->shape[i]);
    beside.push_back(channels);
    if (multiplier > 1) beside.push_back(multiplier);
    places = range(n, 2 * n + 1);
  }
  if (multiplier > 1) {
    Shape split;
    for (int i = 0; i < windows->shape.size(); ++i) {
      split.push_back(windows->shape[i]);
      if (i == (channel == 1 ? 1 : windows->shape.size() - 1)) split.push_back(1);
    }
    windows = detail::reshape(windows, split, s);
  }
  const Handle results = detail::reshape(g, beside, s);
  const auto sums_of = [&](const Handle& elements) {
    const Handle products = binary(kWeights, Op::multiply, elements, results, s);
    const Handle along = reduce(kWeights, Op::sum, products, {places.back()}, keepdims, s);
    return reduce(kWeights, Op::sum, along, places, dropdims, s);
  };
  const int64_t taps = numel(weights) / g->shape[channel];
  if (channel == 1 || taps == 1 || taps > kFewTaps)
    return detail::reshape(cast(sums_of(windows), x->dtype, s), weights, s);
  Handle sums = overwritten(work, {taps, g->shape[channel]}, g->device, s);
  Shape one = windows->shape;
  for (int i = 0; i < n; ++i) one[i] = 1;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Dims start(one.size(), 0);
    int64_t rest = tap;
    for (int i = n - 1; i >= 0; --i) start[i] = rest % weights[i], rest /= weights[i];
    const Handle element = detail::slice(windows, start, Dims(one.size(), 1), one, s);
    const Handle row = detail::reshape(sums_of(element), {1, g->shape[channel]}, s);
    sums = slice_update(kWeights, sums, row, {tap, 0}, {1, 1}, s);
  }
  return detail::reshape(cast(sums, x->dtype, s), weights, s);
}

/// Multiplies the windows of each group, (C / groups K..., N R...), by its gradients (N R..., O / groups).
Handle weight_gradient(const ConvLayer& c, const Handle& g, const Handle& x, const Shape& weights,
                       const Site& s) {
  if (numel(g->shape) == 0 || numel(x->shape) == 0 || numel(weights) == 0)
    return constant(0, g->dtype, weights, g, s);
  const int n = c.spatial();
  const bool first = c.layout == channels_first;
  const int64_t groups = c.groups, in = weights[first ? 1 : n], out = weights[first ? 0 : n + 1] / groups;
  int64_t count = g->shape[0], taps = 1;
  for (int i = 0; i < n; ++i) count *= g->shape[c.first() + i], taps *= weights[c.kernel() + i];
  const bool has_axes = 2 * n + 2 + (out > 1) <= kMaxRank;
  if (groups > 1 && in == 1 && has_axes && taps <= kMostDepthwiseTaps)
    return depthwise_weight_gradient(c, g, x, weights, s);
  const Handle view = windows_like(c, g, x, weights, s);
  // The elements of a window lie as those of a weight do: (C, K...), or (K..., C) where channels are last.
  const Dims window = range(n + 2, 2 * n + 2), results = range(0, n + 1);
  const Dims order = first ? joined({{n + 1}, window, results}) : joined({window, {n + 1}, results});
  const auto elements_first = [&](const Handle& h) {  // (G, C K, N R)
    if (first || groups == 1)
      return detail::reshape(detail::permute(h, order, s), {groups, in * taps, count}, s);
    const Handle apart = detail::reshape(detail::permute(h, order, s), {taps, groups, in, count}, s);
    return detail::reshape(detail::permute(apart, {1, 0, 2, 3}, s), {groups, in * taps, count}, s);
  };
  const Handle rows = elements_first(view);
  const Handle columns = detail::reshape(channels_to_last(g, c.layout, s), {count, groups, out}, s);
  const Handle g_rows = detail::permute(columns, {1, 2, 0}, s);  // (G, O, N R)
  // The longer side has the rows, which a product with few columns runs along faster; but where little is
  // summed, turning the result takes longer than that saves.
  const bool g_first = out > in * taps || count < kShortSums * out;
  const Handle product = g_first ? detail::matmul(kWeights, g_rows, detail::matrix_transpose(rows, s), s)
                                 : detail::matmul(kWeights, rows, detail::matrix_transpose(g_rows, s), s);
  const Handle sums = g_first ? product : detail::permute(product, {0, 2, 1}, s);  // (G, O, C K)
  if (first) return detail::reshape(sums, weights, s);
  Shape as_seen = {groups * out};
  for (int i = 0; i < n; ++i) as_seen.push_back(weights[c.kernel() + i]);
  as_seen.push_back(in);
  return detail::permute(detail::reshape(sums, as_seen, s), joined({range(1, n + 2), {0}}), s);
}

/// Returns zeros around a value, or a part of it, in the spatial axes, at their end.
Handle cut_to(const Handle& h, const Shape& result, int first, const Site& s) {
  if (h->shape == result) return h;
  Dims extents;
  for (int i = 0; i < result.size() - 2; ++i) extents.push_back(result[first + i]);
  return framed(kImage, h, first, Dims(extents.size(), 0), extents, 0, s);
}

}  // namespace

ConvOptions ConvLayer::options() const {
  ConvOptions o;
  o.stride = Axes(stride), o.padding = Axes(padding), o.dilation = Axes(dilation), o.groups = groups;
  o.layout = layout;
  return o;
}

Handle conv_result(const ConvLayer& c, const Handle& x, const Handle& w, const Shape& result, const Site& s) {
  return cut_to(conv(Arg(x, s), Arg(w, s), c.options()).handle(), result, c.first(), s);
}

Handle conv_image_gradient(const ConvLayer& c, const Handle& g, const Handle& w, const Shape& image,
                           const Site& s) {
  const jit::Purpose purpose(kImage);
  Composite whole(kImage, {&g, &w}, s);
  return whole.result(image_gradient(c, g, w, image, s),
                      bilinear([c](const Handle& x, const Handle& other, const Shape& shape,
                                   const Site& at) { return conv_result(c, x, other, shape, at); },
                               [c](const Handle& x, const Handle& other, const Shape& shape, const Site& at) {
                                 return conv_weight_gradient(c, other, x, shape, at);
                               }));
}

Handle conv_weight_gradient(const ConvLayer& c, const Handle& g, const Handle& x, const Shape& weights,
                            const Site& s) {
  const jit::Purpose purpose(kWeights);
  Composite whole(kWeights, {&g, &x}, s);
  return whole.result(weight_gradient(c, g, x, weights, s),
                      bilinear([c](const Handle& w, const Handle& other, const Shape& shape,
                                   const Site& at) { return conv_result(c, other, w, shape, at); },
                               [c](const Handle& w, const Handle& other, const Shape& shape, const Site& at) {
                                 return conv_image_gradient(c, other, w, shape, at);
                               }));
}

Handle conv_bias_gradient(const Handle& g, ChannelLayout layout, const Site& s) {
  const int rank = g->shape.size();
  const DType work = is_half(g->dtype) ? float32 : g->dtype;
  const Dims others = layout == channels_first ? joined({{0}, range(2, rank)}) : range(0, rank - 1);
  return cast(reduce(kResult, Op::sum, cast(g, work, s), others, dropdims, s), g->dtype, s);
}

namespace {

/// Exchanges the channels of a transposed convolution's weights, (K..., C, O / groups) or (C, O / groups,
/// K...), as the convolution takes them that goes the other way.
Handle turned(const ConvLayer& c, const Handle& w, const Site& s) {
  const int n = c.spatial();
  return c.layout == channels_first ? w : detail::permute(w, joined({range(0, n), {n + 1, n}}), s);
}

std::vector<Handle> transposed_derivatives(const ConvLayer& c, const Differentiated& d) {
  std::vector<Handle> g(3);
  const Handle &x = d.operands[0], w = turned(c, d.operands[1], d.site);
  if (d.wants(0)) g[0] = conv_result(c, d.gradient, w, x->shape, d.site);
  if (d.wants(1)) g[1] = turned(c, conv_weight_gradient(c, x, d.gradient, w->shape, d.site), d.site);
  if (d.wants(2)) g[2] = conv_bias_gradient(d.gradient, c.layout, d.site);
  return g;
}

}  // namespace
}  // namespace detail

Tensor conv_transpose(Arg x, Arg w, const ConvOptions& options) {
  using namespace detail;
  if (any_complex(x, w)) [[unlikely]]
    return product_of_planes("conv_transpose", x, w, options.bias, x.site(),
                             [&](Arg a, Arg b, const Tensor& bias) {
                               ConvOptions of_planes = options;
                               of_planes.bias = bias;
                               return conv_transpose(std::move(a), std::move(b), of_planes);
                             });
  Problem p = problem("conv_transpose", x, w, options);
  const PolicyScope asked(nullptr);  // convolutions that it is made of go by its dtype
  const Site& s = p.site;
  const int n = p.spatial();
  const Dims extra = per_axis(p.name, "output_padding", options.output_padding, n, 0, s);
  if (options.padding.same || options.padding_mode != PadMode::constant)
    fail<Error>(p.name, "pads by numbers of zeros only", s);
  const bool first = p.layout == channels_first;
  const int channel = first ? 1 : n + 1;
  const int64_t channels = p.weights->shape[first ? 0 : n], out = p.weights->shape[first ? 1 : n + 1];
  check_groups(p, p.given->shape[channel], channels, channels);
  Shape result = p.given->shape;
  result[channel] = narrow(p.name, "an extent of", Wide(out) * p.groups, s);
  for (int i = 0; i < n; ++i) {
    int64_t& extent = result[(first ? 2 : 1) + i];
    extent = narrow(p.name, "an extent of",
                    span_of(extent, p.stride[i]) - Wide(p.padding[i]) * 2 +
                        span_of(p.weights->shape[(first ? 2 : 0) + i], p.dilation[i]) - 1 + extra[i],
                    s);
    if (extent < 1) p.mismatch("nothing is left between the paddings of spatial axis " + std::to_string(i));
  }
  check_countable(p.name, result, s);
  const bool last = p.take_format(true);
  if (last) {
    for (int i = 1; i <= n; ++i) std::swap(result[i], result[i + 1]);
  }
  const ConvLayer c(p);
  Composite whole(p.name, {&p.given, &p.weights, &p.bias}, s);
  Handle y = whole.result(biased(p, image_gradient(c, p.given, turned(c, p.weights, s), result, s)),
                          [c](const Differentiated& d) { return transposed_derivatives(c, d); });
  return Tensor(last ? seen_first(y, s) : std::move(y));
}

}  // namespace lazy
