// Chooses how a convolution is computed, when it is expanded: by shapes, and by what the backend prefers.
#include <algorithm>

#include "jit/graph/layout.hpp"
#include "lazy/nn/functional/conv_problem.hpp"
#include "lazy/nn/functional/positions.hpp"
#include "lazy/nn/functional/winograd.hpp"

namespace lazy::detail {
namespace {

// With fewer windows side by side, vectors along them would be too empty.
constexpr int64_t kShortestRow = 48;

// Rows that are multiplied as one have at most so many windows: what they read should fit a near cache.
constexpr int64_t kLongestRow = 256;

// Rows of an image with so many windows at most are laid out as one matrix where they lie apart.
constexpr int64_t kFewRows = 16;

// An image with fewer windows than this is multiplied together with others.
constexpr int64_t kFewWindows = 160;

Shape spatial_shape(const Handle& image, const Windows& windows, std::initializer_list<int64_t> last) {
  Shape r{image->shape[0]};
  for (int64_t n : windows.count) r.push_back(n);
  for (int64_t n : last) r.push_back(n);
  return r;
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

/// Multiplies matrices whose elements convert to the result's dtype as the product reads them.
Handle product(const Problem& p, const Handle& a, const Handle& b) {
  return detail::matmul(p.name, cast(a, p.result, p.site), cast(b, p.result, p.site), p.site);
}

/// Convolves every channel by itself, `multiplier` results each: a sum over the window's elements in
/// ascending order.
Handle depthwise(const Problem& p, Handle image, Handle w, const Windows& windows, int64_t multiplier) {
  const DType type = p.result, work = is_half(type) ? float32 : type;
  const int64_t channels = image->shape.back();
  image = cast(image, work, p.site), w = cast(w, work, p.site);
  if (multiplier > 1) {
    Shape shape = image->shape;
    shape.push_back(1);
    image = detail::reshape(image, shape, p.site);
  }
  // Vectors run along channels, and each reads all taps: weights whose channels lie apart are copied first.
  if (jit::contiguous_axis_of(*w.get()) != w->shape.size() - 1 && windows.taps > 1) {
    const jit::Purpose purpose(p.purposes.weights);
    const Handle packed = overwritten(work, w->shape, w->device, p.site);
    w = slice_update(p.name, packed, w, Dims(w->shape.size(), 0), Dims(w->shape.size(), 1), p.site);
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

/// Does so with an image (N, C, S...): vectors run along its last axis.
Handle depthwise_along_rows(const Problem& p, const Windows& windows) {
  const DType type = p.result, work = is_half(type) ? float32 : type;
  const int n = windows.spatial();
  const int64_t batch = p.given->shape[0], channels = p.given->shape[1],
                multiplier = p.weights->shape[0] / channels;
  const Handle image = padded_channels_first(p, cast(p.given, work, p.site));
  // (N, C, 1, S...) times (C, multiplier, 1...) for each element of a window
  Shape apart{batch, channels, 1}, beside{channels, multiplier}, result{batch, channels * multiplier};
  for (int i = 0; i < n; ++i) {
    apart.push_back(image->shape[i + 2]);
    beside.push_back(1);
    result.push_back(windows.count[i]);
  }
  const Handle given = detail::reshape(image, apart, p.site),
               w = detail::reshape(cast(p.weights, work, p.site), {channels, multiplier, windows.taps},
                                   p.site);
  Dims position(n, 0), start(n + 3, 0), step(n + 3, 1);
  Shape row = apart;
  Handle total;
  int64_t i = 0;
  do {
    for (int a = 0; a < n; ++a) {
      start[a + 3] = position[a] * windows.dilation[a];
      step[a + 3] = windows.stride[a];
      row[a + 3] = windows.count[a];
    }
    const Handle element = detail::slice(given, start, step, row, p.site),
                 weight = detail::reshape(
                     detail::slice(w, {0, 0, i++}, {1, 1, 1}, {channels, multiplier, 1}, p.site), beside,
                     p.site);
    if (!total) total = binary(p.name, Op::multiply, element, weight, p.site);
    else if (is_float(work)) total = fma(p.name, element, weight, total, p.site);
    else
      total = binary(p.name, Op::add, total, binary(p.name, Op::multiply, element, weight, p.site), p.site);
  } while (windows.next(position));
  return cast(detail::reshape(total, result, p.site), type, p.site);
}

/// Multiplies each window of image (N, S..., C), as a row, by the weights w (K..., C, O).
Handle dense(const Problem& p, const Handle& image, const Handle& w, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t channels = image->shape.back(), results = w->shape.back(), depth = windows.taps * channels;
  const Handle matrix = [&] {
    const jit::Purpose purpose(p.purposes.weights);
    if (p.layout == channels_last) return detail::reshape(w, {depth, results}, p.site);
    // A product reads columns that lie one after the other faster than rows that are spread.
    const Handle columns = detail::permute(w, joined({{n + 1}, range(0, n + 1)}), p.site);
    return detail::matrix_transpose(detail::reshape(columns, {results, depth}, p.site), p.site);
  }();
  jit::Purpose purpose(p.purposes.windows);
  Handle rows;
  if (windows.taps == 1) {
    rows = windows.tap(image, Dims(n, 0), p.site);
    // A product of few rows that lie apart from the next ones would read the weights for each few.
    const bool apart =
        std::any_of(windows.stride.begin(), windows.stride.end(), [](int64_t s) { return s > 1; });
    if (apart && n > 1 && windows.count.back() <= kFewRows) {
      int64_t count = 1;
      for (const int64_t c : windows.count) count *= c;
      rows = detail::reshape(rows, {image->shape[0], count, depth}, p.site, 1);
      const jit::Purpose products(p.purposes.products);
      return detail::reshape(product(p, rows, matrix), spatial_shape(image, windows, {results}), p.site);
    }
  } else {
    rows = detail::permute(windows.view(image, p.site),
                           joined({range(0, n + 1), range(n + 2, 2 * n + 2), {n + 1}}), p.site);
    rows = detail::reshape(rows, spatial_shape(image, windows, {depth}), p.site, n + 1);
  }
  const jit::Purpose products(p.purposes.products);
  return product(p, rows, matrix);
}

/// Returns how many rows of windows, along the last spatial axis, make one row of a product: as many as fill
/// it best.
int64_t rows_together(const Problem& p, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t row = windows.count[n - 1], rows = windows.count[n - 2], multiple = p.prefers.row_multiple;
  if (n != 2 || multiple == 0) return 1;
  const auto filled = [&](int64_t together) { return (together * row + multiple - 1) / multiple * multiple; };
  int64_t best = 1;
  for (int64_t t = 2; t <= rows && t * row <= kLongestRow; ++t)
    if (rows % t == 0 && (best * row < kShortestRow || t * filled(best) > best * filled(t))) best = t;
  return best;
}

/// True if products read windows where they lie in the image, through the copy that makes them columns. Rows
/// of another length than is preferred then needn't be put together before.
bool read_in_place(const Problem& p) { return p.prefers.reads_windows && !is_half(p.given->dtype); }

/// True if channels-first images are multiplied by rows of windows: lanes run along the last spatial axes,
/// and most vectors must be full.
bool along_rows(const Problem& p, const Windows& windows) {
  return p.groups == 1 && windows.spatial() > 1 && windows.taps > 1 &&
         rows_together(p, windows) * windows.count.back() >= kShortestRow &&
         numel(Shape(windows.count)) >= kFewWindows;
}

/// True if channels-first images are multiplied image by image or all at once: lanes run along all windows.
bool along_windows(const Problem& p, const Windows& windows) {
  return p.groups == 1 && numel(Shape(windows.count)) > 0;
}

/// Returns the windows of image (N, C, S...) as (N, S..., C, K..., R, last): each row of the product is R
/// rows of windows, and the last of S... counts these.
Handle row_windows(const Problem& p, const Windows& windows, const Handle& image, int64_t together) {
  const int n = windows.spatial();
  Shape view{image->shape[0], image->shape[1]};
  for (int64_t c : windows.count) view.push_back(c);
  for (int64_t l : windows.length) view.push_back(l);
  if (together == 1) {
    const Handle h = detail::window(image, range(2, n + 2), windows.stride, windows.dilation, view, p.site);
    return detail::permute(h, joined({{0}, range(2, n + 1), {1}, range(n + 2, 2 * n + 2), {n + 1}}), p.site);
  }
  // (N, C, blocks of rows, last, what a block reads) -> (N, C, blocks, last, R, K...)
  Shape blocks = image->shape;
  blocks[2] = windows.count[0] / together;
  blocks.push_back((together - 1) * windows.stride[0] + (windows.length[0] - 1) * windows.dilation[0] + 1);
  Handle h = detail::window(image, {2}, {together * windows.stride[0]}, {1}, blocks, p.site);
  const Shape shape{view[0], view[1], blocks[2], view[3], together, view[4], view[5]};
  h = detail::window(h, {4, 3}, windows.stride, windows.dilation, shape, p.site);
  return detail::permute(h, {0, 2, 1, 5, 6, 4, 3}, p.site);
}

/// Multiplies weights (O, C, K...) by a matrix (C K..., rows of the last spatial axis) for each index of the
/// other spatial axes of image (N, C, S...).
Handle dense_along_rows(const Problem& p, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t batch = p.given->shape[0], results = p.weights->shape[0],
                depth = p.given->shape[1] * windows.taps, together = rows_together(p, windows);
  const Handle image = padded_channels_first(p, p.given);
  const jit::Purpose purpose(p.purposes.products);
  const Handle rows = detail::reshape(p.weights, {results, depth}, p.site);
  Shape columns{batch}, result{batch, results};
  for (int i = 0; i + 2 < n; ++i) columns.push_back(windows.count[i]);
  columns.push_back(windows.count[n - 2] / together);
  columns.push_back(depth);
  columns.push_back(together * windows.count[n - 1]);
  for (int64_t c : windows.count) result.push_back(c);
  Handle h = row_windows(p, windows, image, together);
  h = product(p, rows, detail::reshape(h, columns, p.site, n));
  // (N, S..., O, rows) -> (N, O, S..., rows)
  h = detail::permute(h, joined({{0, n}, range(1, n), {n + 1}}), p.site);
  return together == 1 ? h : detail::reshape(h, result, p.site);
}

/// Multiplies weights (O, C K...) by the windows of image (N, C, S...) as columns (C K..., S...): those of
/// each image, or of all images where one has few. The bias is added, and taken from `p`, where it joins the
/// product's kernel: before rows of windows become an image.
Handle dense_along_windows(Problem& p, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t batch = p.given->shape[0], channels = p.given->shape[1], results = p.weights->shape[0],
                depth = channels * windows.taps, count = numel(Shape(windows.count));
  const Handle image = padded_channels_first(p, p.given);
  const bool together = batch > 1 && count < (windows.taps > 1 ? kFewWindows : kShortestRow * 2);
  const Handle columns = [&] {
    const jit::Purpose purpose(p.purposes.windows);
    Shape view{batch, channels};
    for (int64_t c : windows.count) view.push_back(c);
    Handle h = image;
    if (windows.taps > 1) {
      for (int64_t l : windows.length) view.push_back(l);
      h = detail::window(image, range(2, n + 2), windows.stride, windows.dilation, view, p.site);
    } else {
      Dims step{1, 1};
      for (int64_t s : windows.stride) step.push_back(s);
      h = detail::slice(image, Dims(n + 2, 0), step, view, p.site);
    }
    const Dims of_window = windows.taps > 1 ? range(n + 2, 2 * n + 2) : Dims();
    const Dims order = together ? joined({{1}, of_window, {0}, range(2, n + 2)})
                                : joined({{0, 1}, of_window, range(2, n + 2)});
    return detail::reshape(detail::permute(h, order, p.site),
                           together ? Shape{depth, batch * count} : Shape{batch, depth, count}, p.site);
  }();
  const jit::Purpose products(p.purposes.products);
  const Handle rows = detail::reshape(p.weights, {results, depth}, p.site);
  const Handle h = biased(p, product(p, rows, columns), together ? 0 : 1);
  p.bias = {};
  Shape result = together ? Shape{results, batch} : Shape{batch, results};
  for (int64_t c : windows.count) result.push_back(c);
  const Handle y = detail::reshape(h, result, p.site);
  return together ? detail::permute(y, joined({{1, 0}, range(2, n + 2)}), p.site) : y;
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
  Handle all = overwritten(p.result, spatial_shape(image, windows, {out * groups}), image->device, s);
  for (int64_t g = 0; g < groups; ++g) {
    const Handle one = dense(p, part(image, in, g), part(w, out, g), windows);
    Dims start(all->shape.size(), 0);
    start[n + 1] = g * out;
    if (numel(one->shape) > 0) all = slice_update(p.name, all, one, start, Dims(start.size(), 1), s);
  }
  return all;
}

/// Multiplies the weights of each group, (O / groups, C / groups K...), by its windows of image (N, C, S...),
/// as columns: one product for all groups.
Handle grouped_along_windows(const Problem& p, const Windows& windows) {
  const int n = windows.spatial();
  const int64_t batch = p.given->shape[0], out = p.weights->shape[0], count = numel(Shape(windows.count)),
                depth = p.weights->shape[1] * windows.taps;
  const Handle image = channels_to_last(padded_channels_first(p, p.given), channels_first, p.site);
  const Handle weights = detail::reshape(p.weights, {p.groups, out / p.groups, depth}, p.site);
  jit::Purpose purpose(p.purposes.windows);
  // (N, S..., C, K...) -> (N, C, K..., S...)
  const Dims order = joined({{0, n + 1}, range(n + 2, 2 * n + 2), range(1, n + 1)});
  const Handle columns = detail::reshape(detail::permute(windows.view(image, p.site), order, p.site),
                                         {batch, p.groups, depth, count}, p.site);
  const jit::Purpose products(p.purposes.products);
  Shape result{batch, out};
  for (const int64_t c : windows.count) result.push_back(c);
  return detail::reshape(product(p, weights, columns), result, p.site);
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
  if (const int m = p.transforms ? winograd_tile(p, image, w, padding) : 0)
    return winograd(p, image, w, padding, m);
  // Windows read each element many times, so an image whose channels are far apart is copied to another
  // layout first.
  const jit::Purpose purpose(p.purposes.image);
  image = padded(p.name, image, padding, 0, p.site, gathered && windows.taps > 1);
  if (p.groups == 1) return dense(p, image, w, windows);
  if (in == 1 && windows.taps <= kMostDepthwiseTaps) return depthwise(p, image, w, windows, out / p.groups);
  return grouped(p, image, w, windows);
}

/// Returns the result in the user's layout, without the bias if `p` still has it.
Handle without_bias(Problem& p) {
  const bool first = p.layout == channels_first;
  const int n = p.spatial();
  const Handle image = channels_to_last(p.given, p.layout, p.site);
  // (O, C / groups, K...) -> (K..., C / groups, O)
  const Handle kernel = [&] {
    const jit::Purpose purpose(p.purposes.weights);
    return first ? detail::permute(p.weights, joined({range(2, n + 2), {1, 0}}), p.site) : p.weights;
  }();
  if (first) {
    const Windows windows = windows_of(p, image, kernel, p.padding);
    if (along_rows(p, windows) && (!read_in_place(p) || rows_together(p, windows) == 1))
      return dense_along_rows(p, windows);
    if (along_windows(p, windows)) return dense_along_windows(p, windows);
    if (p.groups > 1 && kernel->shape[n] == 1 && windows.taps <= kMostDepthwiseTaps)
      return depthwise_along_rows(p, windows);
    if (p.groups > 1) return grouped_along_windows(p, windows);
  }
  return channels_from_last(convolve(p, image, kernel, p.padding, first), p.layout, p.site);
}

}  // namespace

Handle conv_expanded(Problem p) {
  const Handle y = without_bias(p);
  return biased(p, y);
}

}  // namespace lazy::detail
