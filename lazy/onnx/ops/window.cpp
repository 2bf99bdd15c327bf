#include "lazy/onnx/ops/window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lazy/core/promotion.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/writing.hpp"
#include "lazy/nn/functional/convolution.hpp"
#include "lazy/nn/functional/functional.hpp"
#include "lazy/nn/functional/pooling.hpp"
#include "lazy/onnx/ops/integers.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/statistics.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {

Windows::Windows(Call& c, const Shape& image, std::vector<int64_t> extents) : kernel(std::move(extents)) {
  const size_t n = kernel.size();
  if (static_cast<size_t>(image.size()) != n + 2)
    c.fail<ShapeError>("the image is " + to_string(image) + ", but windows have " + std::to_string(n) +
                       " dimensions");
  const auto read = [&](const char* name, int64_t otherwise, size_t count) {
    std::vector<int64_t> v = c.integers(name);
    if (v.empty()) v.assign(count, otherwise);
    if (v.size() != count)
      c.fail<ShapeError>(std::string(name) + " has " + std::to_string(v.size()) + " numbers");
    return v;
  };
  stride = read("strides", 1, n);
  dilation = read("dilations", 1, n);
  ceil = c.integer("ceil_mode", 0) != 0;
  const std::vector<int64_t> pads = read("pads", 0, 2 * n);
  before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  for (size_t i = 0; i < n; ++i)
    if (stride[i] < 1 || dilation[i] < 1 || kernel[i] < 1)
      c.fail<ShapeError>("a window, stride or dilation is below 1");
  const std::string_view mode = c.text("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty()) return;
  for (size_t i = 0; i < n; ++i) {
    const int64_t extent = image[static_cast<int>(i) + 2], count = (extent + stride[i] - 1) / stride[i];
    const int64_t all =
        mode == "VALID"
            ? 0
            : std::max<int64_t>((count - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - extent, 0);
    before[i] = mode == "SAME_LOWER" ? all - all / 2 : all / 2;
    after[i] = all - before[i];
  }
}

std::vector<int64_t> Windows::count(const Shape& image) const {
  std::vector<int64_t> counts;
  for (size_t i = 0; i < size(); ++i) {
    const int64_t room =
        image[static_cast<int>(i) + 2] + before[i] + after[i] - (kernel[i] - 1) * dilation[i] - 1;
    int64_t n = (ceil ? room + stride[i] - 1 : room) / stride[i] + 1;
    // A window that would begin behind the image and the padding before it counts nothing.
    if (ceil && (n - 1) * stride[i] >= image[static_cast<int>(i) + 2] + before[i]) --n;
    counts.push_back(n);
  }
  return counts;
}

std::vector<int64_t> Windows::overhang(const Shape& image) const {
  std::vector<int64_t> all = count(image);
  for (size_t i = 0; i < size(); ++i)
    all[i] = std::max<int64_t>((all[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 -
                                   (image[static_cast<int>(i) + 2] + before[i] + after[i]),
                               0);
  return all;
}

bool Windows::pads_at_most_half() const {
  return std::equal(before.begin(), before.end(), kernel.begin(),
                    [](int64_t p, int64_t k) { return 2 * p <= k; });
}

bool all_zero(const std::vector<int64_t>& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t n) { return n == 0; });
}

std::string check_auto_pad(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "auto_pad" && a.s != "NOTSET" && a.s != "VALID" && a.s != "SAME_UPPER" &&
        a.s != "SAME_LOWER")
      return "auto_pad '" + std::string(a.s) + "' is not supported";
  return {};
}

Tensor pad_image(Call& c, const Tensor& image, const std::vector<int64_t>& before,
                 const std::vector<int64_t>& after, const ScalarNumber& value) {
  std::vector<int64_t> pads;
  for (size_t i = before.size(); i-- > 0;) pads.insert(pads.end(), {before[i], after[i]});
  return pad(c.arg(image), Pads(pads), PadMode::constant, value);
}

namespace {

std::vector<int64_t> spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void conv_op(Call& c) {
  const Shape shape = c.shape(0);
  if (shape.size() < 3) c.fail<ShapeError>("expected an image (N, C, S...), found " + to_string(shape));
  const Windows w(c, shape, spatial(c.shape(1)));
  ConvOptions options{.stride = w.strides(),
                      .dilation = w.dilations(),
                      .groups = c.integer("group", 1),
                      .bias = c.tensor_or_none(2)};
  if (const auto y = convolution_of_integers(c, w, options)) return c.give(*y);
  if (w.symmetric()) {
    options.padding = w.padding();
    return c.give(conv(c[0], c[1], options));
  }
  const Tensor image = pad_image(c, c.tensor(0), w.before, w.after, 0);
  c.give(conv(c.arg(image), c[1], options));
}

void conv_transpose_op(Call& c) {
  const Shape shape = c.shape(0);
  if (shape.size() < 3) c.fail<ShapeError>("expected an image (N, C, S...), found " + to_string(shape));
  const std::vector<int64_t> kernel = spatial(c.shape(1));
  const size_t n = kernel.size();
  const Windows w(c, shape, kernel);
  std::vector<int64_t> extra = c.integers("output_padding"), before = w.before, after = w.after;
  extra.resize(n);
  std::vector<int64_t> whole(n);  // extents before anything is cut off
  for (size_t i = 0; i < n; ++i)
    whole[i] =
        (shape[static_cast<int>(i) + 2] - 1) * w.stride[i] + (kernel[i] - 1) * w.dilation[i] + 1 + extra[i];
  std::vector<int64_t> target = c.integers("output_shape");
  const std::string_view mode = c.text("auto_pad", "NOTSET");
  if (target.size() == n + 2) target.erase(target.begin(), target.begin() + 2);
  if (target.empty() && mode.starts_with("SAME"))
    for (size_t i = 0; i < n; ++i) target.push_back(shape[static_cast<int>(i) + 2] * w.stride[i]);
  if (!target.empty() && target.size() != n)
    c.fail<ShapeError>("output_shape needs an extent for each spatial axis");
  for (size_t i = 0; i < n && !target.empty(); ++i) {
    const int64_t all = whole[i] - target[i];
    before[i] = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
    if (mode == "NOTSET" || mode.empty()) before[i] = all / 2;
    after[i] = all - before[i];
  }
  ConvOptions options{.stride = w.strides(),
                      .dilation = w.dilations(),
                      .groups = c.integer("group", 1),
                      .bias = c.tensor_or_none(2)};
  options.output_padding = Axes(Dims(std::span<const int64_t>(extra)));
  if (before == after && std::all_of(before.begin(), before.end(), [](int64_t p) { return p >= 0; })) {
    options.padding = Axes(Dims(std::span<const int64_t>(before)));
    return c.give(conv_transpose(c[0], c[1], options));
  }
  // Ends that differ are cut off, or added, afterwards; the bias belongs to what is added, too.
  options.bias = Tensor();
  const Tensor y = conv_transpose(c[0], c[1], options);
  std::vector<int64_t> cut_before, cut_after;
  for (size_t i = 0; i < n; ++i) cut_before.push_back(-before[i]), cut_after.push_back(-after[i]);
  Tensor r = pad_image(c, y, cut_before, cut_after, 0);
  if (c.has(2)) {
    Shape channels(static_cast<int>(n) + 1, 1);
    channels[0] = c.shape(2)[0];
    r = add(c.arg(r), c.arg(reshape(c[2], ShapeArg(channels))));
  }
  c.give(std::move(r));
}

ScalarNumber lowest_of(Call& c, DType dtype) {
  if (is_float(dtype)) return ScalarNumber(-std::numeric_limits<double>::infinity());
  return ScalarNumber(iinfo(dtype, c.site()).min);
}

/// Returns, for each image and channel, where its elements begin in the flattened tensor.
Tensor plane_begins(Call& c, const Shape& image) {
  int64_t plane = 1;
  for (int i = 2; i < image.size(); ++i) plane *= image[i];
  Shape planes(image.size(), 1);
  planes[0] = image[0];
  planes[1] = image[1];
  const Tensor number = arange(0, image[0] * image[1], 1, int64, c.device(), c.site());
  return reshape(c.arg(multiply(c.arg(number), Arg(plane, c.site()))), ShapeArg(planes));
}

/// Returns indices of the flattened tensor, from those of the flattened spatial axes of a padded image.
Tensor flat_indices(Call& c, const Tensor& padded_at, const Shape& image, const std::vector<int64_t>& before,
                    const Shape& padded) {
  const bool column_major = c.integer("storage_order", 0) != 0;
  const int n = image.size() - 2;
  Tensor rest = padded_at, flat;
  std::vector<int64_t> stride(static_cast<size_t>(n), 1);
  if (column_major)
    for (int i = 1; i < n; ++i)
      stride[static_cast<size_t>(i)] = stride[static_cast<size_t>(i) - 1] * image[i + 1];
  else
    for (int i = n - 1; i-- > 0;)
      stride[static_cast<size_t>(i)] = stride[static_cast<size_t>(i) + 1] * image[i + 3];
  for (int i = n; i-- > 0;) {
    const Tensor at = remainder(c.arg(rest), Arg(padded[i + 2], c.site()));
    rest = floor_divide(c.arg(rest), Arg(padded[i + 2], c.site()));
    const Tensor place = multiply(c.arg(subtract(c.arg(at), Arg(before[static_cast<size_t>(i)], c.site()))),
                                  Arg(stride[static_cast<size_t>(i)], c.site()));
    flat = flat.defined() ? add(c.arg(flat), c.arg(place)) : place;
  }
  return add(c.arg(flat), c.arg(plane_begins(c, image)));
}

void max_pool_op(Call& c) {
  const Shape shape = c.shape(0);
  Windows w(c, shape, c.integers("kernel_shape"));
  const std::vector<int64_t> over = w.overhang(shape);
  PoolOptions options{.stride = w.strides(), .dilation = w.dilations()};
  Tensor image = c.tensor(0);
  std::vector<int64_t> before(w.size(), 0);
  if (w.symmetric() && w.pads_at_most_half() && all_zero(over) && !c.wants(1)) {
    options.padding = w.padding();
  } else {
    std::vector<int64_t> after = w.after;
    for (size_t i = 0; i < after.size(); ++i) after[i] += over[i];
    before = w.before;
    if (!all_zero(before) || !all_zero(after))
      image = pad_image(c, image, before, after, lowest_of(c, c.dtype(0)));
  }
  if (!c.wants(1)) return c.give(max_pool(c.arg(image), w.window(), options));
  const MaxPoolResult r = max_pool_with_indices(c.arg(image), w.window(), options);
  c.give(0, r.values);
  c.give(1, flat_indices(c, r.indices, shape, before, image.shape(c.site())));
}

void average_pool_op(Call& c) {
  const Shape shape = c.shape(0);
  const Windows w(c, shape, c.integers("kernel_shape"));
  const bool count_padding = c.integer("count_include_pad", 0) != 0;
  const std::vector<int64_t> over = w.overhang(shape);
  PoolOptions options{.stride = w.strides(), .dilation = w.dilations(), .count_padding = count_padding};
  if (w.symmetric() && w.pads_at_most_half() && all_zero(over)) {
    options.padding = w.padding();
    return c.give(avg_pool(c[0], w.window(), options));
  }
  // Sums over the padded image are divided by how many elements of each window count.
  std::vector<int64_t> after = w.after;
  for (size_t i = 0; i < after.size(); ++i) after[i] += over[i];
  options.divisor_override = 1;
  Shape counted = shape;
  counted[0] = counted[1] = 1;
  Tensor ones_image = ones(ShapeArg(counted), c.dtype(0), c.device(), c.site());
  if (count_padding) {
    ones_image = pad_image(c, ones_image, w.before, w.after, 1);
    ones_image = pad_image(c, ones_image, std::vector<int64_t>(w.size(), 0), over, 0);
  } else {
    ones_image = pad_image(c, ones_image, w.before, after, 0);
  }
  const Tensor image = pad_image(c, c.tensor(0), w.before, after, 0);
  const Tensor sums = avg_pool(c.arg(image), w.window(), options),
               counts = avg_pool(c.arg(ones_image), w.window(), options);
  c.give(divide(c.arg(sums), c.arg(counts)));
}

void lp_pool_op(Call& c) {
  const Shape shape = c.shape(0);
  const Windows w(c, shape, c.integers("kernel_shape"));
  std::vector<int64_t> after = w.after;
  const std::vector<int64_t> over = w.overhang(shape);
  for (size_t i = 0; i < after.size(); ++i) after[i] += over[i];
  Tensor image = abs(c[0]);
  if (!all_zero(w.before) || !all_zero(after)) image = pad_image(c, image, w.before, after, 0);
  const double p = c.version() < 2 ? c.real("p", 2) : static_cast<double>(c.integer("p", 2));
  c.give(lp_pool(c.arg(image), p, w.window(), {.stride = w.strides(), .dilation = w.dilations()}));
}

Axes spatial_axes(Call& c) {
  Dims axes;
  for (int i = 2; i < c.rank(0); ++i) axes.push_back(i);
  return Axes(axes);
}
/// Gives an image without spatial axes as it is: no axes would mean all.
bool pools_nothing(Call& c) {
  if (c.rank(0) > 2) return false;
  c.give(c.value(0));
  return true;
}
void global_average_pool_op(Call& c) {
  if (!pools_nothing(c)) c.give(mean(c[0], spatial_axes(c), keepdims));
}
void global_max_pool_op(Call& c) {
  if (!pools_nothing(c)) c.give(max(c[0], spatial_axes(c), keepdims));
}
void global_lp_pool_op(Call& c) {
  if (pools_nothing(c)) return;
  c.give(vector_norm(c[0], static_cast<double>(c.integer("p", 2)), spatial_axes(c), keepdims));
}

void max_unpool_op(Call& c) {
  const Shape given = c.shape(0);
  const Windows w(c, given, c.integers("kernel_shape"));
  Shape shape = given;
  for (size_t i = 0; i < w.size(); ++i)
    shape[static_cast<int>(i) + 2] =
        (given[static_cast<int>(i) + 2] - 1) * w.stride[i] - w.before[i] - w.after[i] + w.kernel[i];
  const Tensor empty = zeros(ShapeArg(numel(shape)), c.dtype(0), c.device(), c.site());
  const Tensor flat = put(c.arg(empty), c.arg(flatten(c[1])), c.arg(flatten(c[0])));
  Tensor image = reshape(c.arg(flat), ShapeArg(shape));
  if (c.has(2)) {
    std::vector<int64_t> after;
    const std::vector<int64_t> target = c.integers(2);
    if (target.size() != w.size() + 2) c.fail<ShapeError>("expected an extent of the result for each axis");
    for (size_t i = 0; i < w.size(); ++i) after.push_back(target[i + 2] - shape[static_cast<int>(i) + 2]);
    image = pad_image(c, image, std::vector<int64_t>(w.size(), 0), after, 0);
  }
  c.give(std::move(image));
}

void col2im_op(Call& c) {
  const std::vector<int64_t> image = c.integers(1), block = c.integers(2);
  Shape shape{c.shape(0)[0], 1};
  int64_t elements = 1;
  for (const int64_t b : block) elements *= b;
  if (c.rank(0) != 3 || elements < 1 || c.shape(0)[1] % elements != 0)
    c.fail<ShapeError>("columns " + to_string(c.shape(0)) + " make no blocks of " + std::to_string(elements));
  shape[1] = c.shape(0)[1] / elements;
  for (const int64_t n : image) shape.push_back(n);
  const Windows w(c, shape, block);
  // Blocks are added up one element of the window after another, each to the places that the windows put it.
  const std::vector<int64_t> counts = w.count(shape);
  Shape split{shape[0], shape[1]};
  for (const int64_t b : block) split.push_back(b);
  for (const int64_t n : counts) split.push_back(n);
  const Tensor columns = reshape(c[0], ShapeArg(split));
  Shape whole = shape;
  for (size_t i = 0; i < w.size(); ++i) whole[static_cast<int>(i) + 2] += w.before[i] + w.after[i];
  Tensor sum = zeros(ShapeArg(whole), c.dtype(0), c.device(), c.site());
  std::vector<int64_t> at(w.size(), 0);
  for (int64_t tap = 0; tap < elements; ++tap) {
    std::vector<Index> of_column(2, Index(_, c.site())), of_image(2, Index(_, c.site()));
    for (size_t i = 0; i < w.size(); ++i) {
      of_column.emplace_back(at[i], c.site());
      const int64_t first = at[i] * w.dilation[i];
      of_image.emplace_back(slice(first, first + (counts[i] - 1) * w.stride[i] + 1, w.stride[i]), c.site());
    }
    const Tensor part = columns(std::span<const Index>(of_column), c.site());
    sum(std::span<const Index>(of_image), c.site()) += c.arg(part);
    for (size_t i = w.size(); i-- > 0;) {
      if (++at[i] < block[i]) break;
      at[i] = 0;
    }
  }
  std::vector<int64_t> cut_before, cut_after;
  for (size_t i = 0; i < w.size(); ++i) cut_before.push_back(-w.before[i]), cut_after.push_back(-w.after[i]);
  c.give(pad_image(c, sum, cut_before, cut_after, 0));
}

constexpr const char* kConv = "auto_pad dilations group kernel_shape pads strides";
constexpr const char* kPool =
    "auto_pad ceil_mode count_include_pad dilations kernel_shape pads storage_order strides p";

const Operator kWindows[] = {
    {"Conv", 1, 21, kConv, conv_op, nullptr, check_auto_pad},
    {"ConvTranspose", 1, 21, "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
     conv_transpose_op, nullptr, check_auto_pad},
    {"MaxPool", 1, 21, kPool, max_pool_op, nullptr, check_auto_pad},
    {"AveragePool", 1, 21, kPool, average_pool_op, nullptr, check_auto_pad},
    {"LpPool", 1, 21, kPool, lp_pool_op, nullptr, check_auto_pad},
    {"GlobalAveragePool", 1, 21, "", global_average_pool_op},
    {"GlobalMaxPool", 1, 21, "", global_max_pool_op},
    {"GlobalLpPool", 1, 21, "p", global_lp_pool_op},
    {"MaxUnpool", 9, 21, "kernel_shape pads strides", max_unpool_op},
    {"Col2Im", 18, 21, "dilations pads strides", col2im_op},
};

}  // namespace

std::span<const Operator> window_operators() { return kWindows; }

}  // namespace lazy::onnx
