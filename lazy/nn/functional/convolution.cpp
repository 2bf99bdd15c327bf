#include "lazy/nn/functional/convolution.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "lazy/nn/functional/positions.hpp"
#include "lazy/nn/functional/spatial.hpp"

namespace lazy {
namespace {
using namespace detail;

// A depthwise convolution with more elements in a window than this is computed by grouped products: its body
// has one fused multiply-add for each element.
constexpr int64_t kMostTaps = 64;

// With fewer windows side by side, vectors along them would be too empty.
constexpr int64_t kShortestRow = 48;

/// Says what the steps of a convolution are recorded for, by the name that the user called.
struct Purposes {
  const char *name, *weights, *windows, *products, *image;
};
#define LAZY_PURPOSES(name)                                                               \
  {                                                                                       \
    name, name ": weights to channels last", name ": windows as rows", name ": products", \
        name ": image laid out anew"                                                      \
  }
constexpr Purposes kPurposes[] = {LAZY_PURPOSES("conv"), LAZY_PURPOSES("conv1d"), LAZY_PURPOSES("conv2d"),
                                  LAZY_PURPOSES("conv3d"), LAZY_PURPOSES("conv_transpose")};
#undef LAZY_PURPOSES
const Purposes& purposes_of(std::string_view name) {
  return *std::find_if(std::begin(kPurposes), std::end(kPurposes),
                       [&](const Purposes& p) { return p.name == name; });
}

/// Holds a call's operands, of one dtype, and its options for each spatial axis.
struct Problem {
  const char* name;
  Site site;
  Handle given, weights;
  Handle bias;  // (O), or none
  Dims stride, padding, dilation;
  int64_t groups;
  const Purposes& purposes = purposes_of(name);

  int spatial() const { return given->shape.size() - 2; }
  [[noreturn]] void mismatch(const std::string& why) const {
    fail<ShapeError>(
        name,
        "an image " + to_string(given->shape) + " and weights " + to_string(weights->shape) + ": " + why,
        site);
  }
};

Dims range(int first, int last) {
  Dims r;
  for (int i = first; i < last; ++i) r.push_back(i);
  return r;
}

Dims joined(std::initializer_list<Dims> parts) {
  Dims r;
  for (const Dims& p : parts)
    for (int64_t v : p) r.push_back(v);
  return r;
}

Shape spatial_shape(const Handle& image, const Windows& windows, std::initializer_list<int64_t> last) {
  Shape r{image->shape[0]};
  for (int64_t n : windows.count) r.push_back(n);
  for (int64_t n : last) r.push_back(n);
  return r;
}

/// Convolves every channel by itself, `multiplier` results each: a sum over the window's elements in
/// ascending order.
Handle depthwise(const Problem& p, Handle image, Handle w, const Windows& windows, int64_t multiplier) {
  const DType type = image->dtype, work = is_half(type) ? float32 : type;
  const int64_t channels = image->shape.back();
  image = cast(image, work, p.site), w = cast(w, work, p.site);
  if (multiplier > 1) {
    Shape shape = image->shape;
    shape.push_back(1);
    image = detail::reshape(image, shape, p.site);
  }
  w = detail::reshape(w, {windows.taps, channels, multiplier}, p.site);
  if (multiplier == 1) w = detail::reshape(w, {windows.taps, channels}, p.site);
  Dims position(windows.spatial(), 0);
  Handle total;
  int64_t i = 0;
  do {
    Dims start(w->shape.size(), 0);
    start[0] = i++;
    Shape one = w->shape, row;
    one[0] = 1;
    for (int a = 1; a < one.size(); ++a) row.push_back(one[a]);
    const Handle weight =
        detail::reshape(detail::slice(w, start, Dims(start.size(), 1), one, p.site), row, p.site);
    const Handle element = windows.tap(image, position, p.site);
    if (!total) total = binary(p.name, Op::multiply, element, weight, p.site);
    else if (is_float(work)) total = fma(p.name, element, weight, total, p.site);
    else
      total = binary(p.name, Op::add, total, binary(p.name, Op::multiply, element, weight, p.site), p.site);
  } while (windows.next(position));
  if (multiplier > 1)
    total = detail::reshape(total, spatial_shape(image, windows, {channels * multiplier}), p.site);
  return cast(total, type, p.site);
}

/// Multiplies each window of image (N, S..., C), as a row, by the weights w (K..., C, O).
Handle dense(const Problem& p, const Handle& image, const Handle& w, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t channels = image->shape.back(), results = w->shape.back(), depth = windows.taps * channels;
  const Handle matrix = [&] {
    const jit::Purpose purpose(p.purposes.weights);
    return detail::reshape(w, {depth, results}, p.site);
  }();
  jit::Purpose purpose(p.purposes.windows);
  Handle rows;
  if (windows.taps == 1) {
    rows = windows.tap(image, Dims(n, 0), p.site);
  } else {
    rows = detail::permute(windows.view(image, p.site),
                           joined({range(0, n + 1), range(n + 2, 2 * n + 2), {n + 1}}), p.site);
    rows = detail::reshape(rows, spatial_shape(image, windows, {depth}), p.site, n + 1);
  }
  const jit::Purpose products(p.purposes.products);
  return detail::matmul(p.name, rows, matrix, p.site);
}

/// True if channels-first images are multiplied without a change of layout: lanes then run along the last
/// spatial axis, whose rows must fill most of their vectors. Where windows are single elements all spatial
/// axes form one row.
bool along_rows(const Problem& p, const Windows& windows) {
  if (p.groups != 1) return false;
  int64_t row = windows.count.back();
  if (windows.taps == 1) {
    if (std::any_of(p.stride.begin(), p.stride.end(), [](int64_t s) { return s != 1; })) return false;
    for (int i = 0; i + 1 < windows.spatial(); ++i) row *= windows.count[i];
  } else if (windows.spatial() == 1 || windows.stride.back() != 1) {
    return false;
  }
  return row >= kShortestRow;
}

/// Returns `image` (N, C, S...) with its padding.
Handle padded_channels_first(const Problem& p, const Handle& image) {
  if (std::all_of(p.padding.begin(), p.padding.end(), [](int64_t e) { return e == 0; })) return image;
  const jit::Purpose purpose(p.purposes.image);
  const Shape& given = image->shape;
  Shape single{given[0] * given[1]}, result{given[0], given[1]};  // images of one channel each
  for (int i = 2; i < given.size(); ++i) {
    single.push_back(given[i]);
    result.push_back(with_padding(p.name, given[i], p.padding[i - 2], p.site));
  }
  single.push_back(1);
  return detail::reshape(padded(p.name, detail::reshape(image, single, p.site), p.padding, 0, p.site), result,
                         p.site);
}

/// Multiplies weights (O, C, K...) by a matrix (C K..., last spatial axis) for each index of the other
/// spatial axes of image (N, C, S...).
Handle dense_along_rows(const Problem& p, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t batch = p.given->shape[0], channels = p.given->shape[1], results = p.weights->shape[0],
                depth = channels * windows.taps;
  const Handle image = padded_channels_first(p, p.given);
  const jit::Purpose purpose(p.purposes.products);
  const Handle rows = detail::reshape(p.weights, {results, depth}, p.site);
  Shape result{batch, results}, view{batch, channels}, columns{batch};
  for (int64_t c : windows.count) result.push_back(c), view.push_back(c);
  if (windows.taps == 1) {
    const Handle flat = detail::reshape(image, {batch, channels, numel(windows.count)}, p.site);
    return detail::reshape(detail::matmul(p.name, rows, flat, p.site), result, p.site);
  }
  for (int64_t l : windows.length) view.push_back(l);
  for (int i = 0; i + 1 < n; ++i) columns.push_back(windows.count[i]);
  columns.push_back(depth);
  columns.push_back(windows.count[n - 1]);
  Handle h = detail::window(image, range(2, n + 2), windows.stride, windows.dilation, view, p.site);
  h = detail::permute(h, joined({{0}, range(2, n + 1), {1}, range(n + 2, 2 * n + 2), {n + 1}}), p.site);
  h = detail::matmul(p.name, rows, detail::reshape(h, columns, p.site, n), p.site);
  // (N, S..., O, last) -> (N, O, S..., last)
  return detail::permute(h, joined({{0, n}, range(1, n), {n + 1}}), p.site);
}

/// Multiplies image (N, S..., C) by w (K..., C / groups, O): a product for each group.
Handle grouped(const Problem& p, const Handle& image, const Handle& w, const Windows& windows) {
  const int n = windows.spatial();
  const Site& s = p.site;
  const int64_t groups = p.groups, in = image->shape.back() / groups, out = w->shape.back() / groups;
  const auto part = [&](const Handle& h, int64_t extent, int64_t group) {
    Dims start(h->shape.size(), 0);
    start[n + 1] = group * extent;
    Shape shape = h->shape;
    shape[n + 1] = extent;
    return detail::slice(h, start, Dims(start.size(), 1), shape, s);
  };
  Handle all = overwritten(image->dtype, spatial_shape(image, windows, {out * groups}), image->device, s);
  for (int64_t g = 0; g < groups; ++g) {
    const Handle one = dense(p, part(image, in, g), part(w, out, g), windows);
    Dims start(all->shape.size(), 0);
    start[n + 1] = g * out;
    if (numel(one->shape) > 0) all = slice_update(p.name, all, one, start, Dims(start.size(), 1), s);
  }
  return all;
}

Windows windows_of(const Problem& p, const Handle& image, const Handle& w, const Dims& padding) {
  Dims length;
  for (int i = 0; i < image->shape.size() - 2; ++i) length.push_back(w->shape[i]);
  return {p.name, image->shape, length, p.stride, padding, p.dilation, p.site};
}

/// Convolves image (N, S..., C) with w (K..., C / groups, O), both of one dtype.
Handle convolve(const Problem& p, Handle image, const Handle& w, const Dims& padding, bool gathered) {
  const int n = image->shape.size() - 2;
  const Windows windows = windows_of(p, image, w, padding);
  const int64_t in = w->shape[n], out = w->shape[n + 1];
  // Windows read each element many times, so an image whose channels are far apart is copied to another
  // layout first.
  const jit::Purpose purpose(p.purposes.image);
  image = padded(p.name, image, padding, 0, p.site, gathered && windows.taps > 1);
  if (p.groups == 1) return dense(p, image, w, windows);
  if (in == 1 && windows.taps <= kMostTaps) return depthwise(p, image, w, windows, out / p.groups);
  return grouped(p, image, w, windows);
}

Problem problem(const char* name, Arg& x, Arg& w, const ConvOptions& o) {
  const Site s = x.site();
  DType t = common_type(name, {&x, &w});
  if (o.bias.defined()) t = promote(name, t, o.bias.handle()->dtype, s);
  if (is_bool(t)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", s);
  Problem p{name, s, Operand(name, x, t).take(), Operand(name, w, t).take(), {}, {}, {}, {}, o.groups};
  if (o.bias.defined()) p.bias = cast(o.bias.handle(), t, s);
  if (p.given->shape.size() < 3) p.mismatch("an image has a batch axis, channels and spatial axes");
  if (p.given->shape.size() != p.weights->shape.size()) p.mismatch("they differ in the number of axes");
  const int n = p.spatial();
  if (n > 3) p.mismatch("more than three spatial axes");
  p.stride = per_axis(name, "stride", o.stride, n, 1, s);
  p.padding = per_axis(name, "padding", o.padding, n, 0, s);
  p.dilation = per_axis(name, "dilation", o.dilation, n, 1, s);
  if (o.groups < 1)
    fail<ShapeError>(name, "groups is " + std::to_string(o.groups.value) + ": at least 1 is needed", s);
  check_devices(name, {&p.given, &p.weights}, s);
  return p;
}

/// Pads the image where convolve() cannot: with elements of its own, and by more after an axis than before.
/// `p.padding` is what is left to pad.
void pad_image(Problem& p, const ConvOptions& o) {
  const int n = p.spatial();
  const int first = o.layout == channels_first ? 2 : 1, kernel = o.layout == channels_first ? 2 : 0;
  Dims after = p.padding;
  bool even = true;
  for (int i = 0; o.padding.same && i < n; ++i) {
    if (p.stride[i] != 1) p.mismatch("same_padding is for a stride of 1");
    const int64_t all = std::max<int64_t>(
        narrow(p.name, "an extent of", span_of(p.weights->shape[kernel + i], p.dilation[i]) - 1, p.site), 0);
    p.padding[i] = all / 2;
    after[i] = all - all / 2;
    even = even && all % 2 == 0;
  }
  const bool none = std::all_of(after.begin(), after.end(), [](int64_t e) { return e == 0; });
  if (none || (even && o.padding_mode == PadMode::constant)) return;
  const jit::Purpose purpose(p.purposes.image);
  const Formula f(p.name, p.site);
  p.given = detail::padded(f.term(p.given), first, p.padding, after, o.padding_mode, Number(0)).handle();
  p.padding = Dims(n, 0);
}

/// Adds the bias to the channels of a result in the user's layout.
Handle biased(const Problem& p, const Handle& y, ChannelLayout layout) {
  if (!p.bias) return y;
  const int axis = layout == channels_first ? 1 : y->shape.size() - 1;
  if (p.bias->shape != Shape{y->shape[axis]})
    p.mismatch("a bias " + to_string(p.bias->shape) + " for " + std::to_string(y->shape[axis]) + " channels");
  const Handle b = detail::reshape(p.bias, along_axis(y->shape.size(), axis, y->shape[axis]), p.site);
  return binary(p.name, Op::add, y, b, p.site);
}

void check_groups(const Problem& p, int64_t channels, Wide expected, int64_t divided) {
  if (channels != expected)
    p.mismatch("the image has " + std::to_string(channels) + " channels, the weights take " +
               to_string(expected) + (p.groups > 1 ? " in " + std::to_string(p.groups) + " groups" : ""));
  if (divided % p.groups != 0 || p.groups > std::max<int64_t>(divided, 1))
    p.mismatch(std::to_string(divided) + " channels do not make " + std::to_string(p.groups) + " groups");
}

Tensor convolution(const char* name, Arg& x, Arg& w, const ConvOptions& options) {
  Problem p = problem(name, x, w, options);
  Composite whole(name, {&p.given, &p.weights, &p.bias}, p.site);
  const bool first = options.layout == channels_first;
  const int n = p.spatial();
  const int in = first ? 1 : n, out = first ? 0 : n + 1;
  check_groups(p, p.given->shape[first ? 1 : n + 1], Wide(p.weights->shape[in]) * p.groups,
               p.weights->shape[out]);
  pad_image(p, options);
  const Handle image = channels_to_last(p.given, options.layout, p.site);
  // (O, C / groups, K...) -> (K..., C / groups, O)
  const Handle kernel = [&] {
    const jit::Purpose purpose(p.purposes.weights);
    return first ? detail::permute(p.weights, joined({range(2, n + 2), {1, 0}}), p.site) : p.weights;
  }();
  if (first) {
    const Windows windows = windows_of(p, image, kernel, p.padding);
    if (along_rows(p, windows))
      return Tensor(whole.result(biased(p, dense_along_rows(p, windows), options.layout)));
  }
  const Handle y = channels_from_last(convolve(p, image, kernel, p.padding, first), options.layout, p.site);
  return Tensor(whole.result(biased(p, y, options.layout)));
}

/// Reverses the weights of a transposed convolution along their spatial axes: (C, O / groups, K...), or
/// (K..., C, O / groups), becomes (K..., C, O / groups), and with groups (K..., C / groups, O).
Handle turned_weights(const Problem& p, bool first, int64_t channels, int64_t out) {
  const jit::Purpose purpose(p.purposes.weights);
  const Site& s = p.site;
  const int n = p.spatial();
  Handle kernel = first ? detail::permute(p.weights, joined({range(2, n + 2), {0, 1}}), s) : p.weights;
  Dims start(n + 2, 0), step(n + 2, 1);
  for (int i = 0; i < n; ++i) start[i] = kernel->shape[i] - 1, step[i] = -1;
  kernel = detail::slice(kernel, start, step, kernel->shape, s);
  if (p.groups == 1) return kernel;
  // (K..., groups, C', O') -> (K..., C', groups O')
  Shape split, merged;
  for (int i = 0; i < n; ++i) split.push_back(kernel->shape[i]), merged.push_back(kernel->shape[i]);
  split.push_back(p.groups), split.push_back(channels / p.groups), split.push_back(out);
  merged.push_back(channels / p.groups), merged.push_back(p.groups * out);
  kernel = detail::reshape(kernel, split, s);
  kernel = detail::permute(kernel, joined({range(0, n), {n + 1, n, n + 2}}), s);
  return detail::reshape(kernel, merged, s);
}

Tensor of_rank(const char* name, int n, Arg& x, Arg& w, const ConvOptions& options) {
  const Shape shape = shape_of(name, x);
  if (shape.size() != n + 2)
    fail<ShapeError>(name, "takes an image of " + std::to_string(n + 2) + " axes, not " + to_string(shape),
                     x.site());
  return convolution(name, x, w, options);
}

}  // namespace

Tensor conv(Arg x, Arg w, const ConvOptions& options) { return convolution("conv", x, w, options); }

Tensor conv1d(Arg x, Arg w, const ConvOptions& options) { return of_rank("conv1d", 1, x, w, options); }
Tensor conv2d(Arg x, Arg w, const ConvOptions& options) { return of_rank("conv2d", 2, x, w, options); }
Tensor conv3d(Arg x, Arg w, const ConvOptions& options) { return of_rank("conv3d", 3, x, w, options); }

// Spreads the input's elements `stride` apart among zeros and convolves that with the reversed weights.
Tensor conv_transpose(Arg x, Arg w, const ConvOptions& options) {
  Problem p = problem("conv_transpose", x, w, options);
  const Site s = p.site;
  const int n = p.spatial();
  const Dims extra = per_axis(p.name, "output_padding", options.output_padding, n, 0, s);
  if (options.padding.same || options.padding_mode != PadMode::constant)
    fail<Error>(p.name, "pads by numbers of zeros only", s);
  Composite whole(p.name, {&p.given, &p.weights, &p.bias}, s);
  const Handle image = channels_to_last(p.given, options.layout, s);
  const bool first = options.layout == channels_first;
  const int64_t channels = p.weights->shape[first ? 0 : n], out = p.weights->shape[first ? 1 : n + 1];
  check_groups(p, image->shape.back(), channels, channels);
  const Handle kernel = turned_weights(p, first, channels, out);
  Dims before, extents, crop;
  Shape result = image->shape;
  for (int i = 0; i < n; ++i) {
    const char* const too_large = "an extent of";
    const int64_t reach = narrow(p.name, too_large, span_of(kernel->shape[i], p.dilation[i]) - 1, s);
    const int64_t cut = std::min(p.padding[i], reach);
    const Wide spread = span_of(image->shape[i + 1], p.stride[i]);
    const int64_t length = narrow(p.name, too_large, spread - Wide(p.padding[i]) * 2 + reach + extra[i], s);
    if (length < 1) p.mismatch("nothing is left between the paddings of spatial axis " + std::to_string(i));
    before.push_back(reach - cut);
    crop.push_back(p.padding[i] - cut);
    extents.push_back(
        narrow(p.name, too_large, std::max(before[i] + spread, Wide(crop[i]) + length + reach), s));
    result[i + 1] = length;
  }
  const Handle spread = placed(p.name, image, before, p.stride, extents, 0, s);
  p.stride = Dims(n, 1);
  const Handle y = convolve(p, spread, kernel, Dims(n, 0), false);
  Dims from(n + 2, 0);
  for (int i = 0; i < n; ++i) from[i + 1] = crop[i];
  result[n + 1] = y->shape[n + 1];
  const Handle cropped = detail::slice(y, from, Dims(n + 2, 1), result, s);
  return Tensor(whole.result(biased(p, channels_from_last(cropped, options.layout, s), options.layout)));
}

}  // namespace lazy
