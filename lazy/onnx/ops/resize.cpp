#include "lazy/nn/functional/resize.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

/// Holds what the attributes of a Resize node say.
struct ResizeOptions {
  std::string_view mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

/// Holds how one axis is resized.
struct ResizedAxis {
  int axis;
  int64_t from, to;
  double scale;               // elements of the result for one of the input
  double begin = 0, end = 1;  // of the region that tf_crop_and_resize takes
};

/// Returns where element i of the result lies in the input.
double position_in(const ResizeOptions& o, const ResizedAxis& a, int64_t i) {
  const double x = static_cast<double>(i), from = static_cast<double>(a.from), to = static_cast<double>(a.to);
  if (o.coordinates == "asymmetric") return x / a.scale;
  if (o.coordinates == "align_corners") return a.to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (o.coordinates == "pytorch_half_pixel") return a.to == 1 ? -0.5 : (x + 0.5) / a.scale - 0.5;
  if (o.coordinates == "half_pixel_symmetric") {
    const double whole = a.scale * from, adjustment = to / whole, centre = from / 2;
    return centre * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (o.coordinates == "tf_crop_and_resize")
    return a.to > 1 ? a.begin * (from - 1) + x * (a.end - a.begin) * (from - 1) / (to - 1)
                    : 0.5 * (a.begin + a.end) * (from - 1);
  if (o.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  return (x + 0.5) / a.scale - 0.5;
}

double nearest_of(const ResizeOptions& o, double x) {
  if (o.nearest == "floor") return std::floor(x);
  if (o.nearest == "ceil") return std::ceil(x);
  if (o.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

double cubic_weight(double a, double distance) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Holds, for each element of the result, which elements of the input make it up, and by which weights.
struct Taps {
  int64_t count = 1;
  std::vector<int64_t> at;
  std::vector<double> weight;
  std::vector<bool> outside;  // elements that lie outside of the input altogether
};

Taps taps_of(const ResizeOptions& o, const ResizedAxis& a) {
  const bool linear = o.mode == "linear", cubic = o.mode == "cubic";
  // A smaller result averages over more of the input, if it is asked to.
  const double stretch = o.antialias && a.scale < 1 ? a.scale : 1, reach = (cubic ? 2 : 1) / stretch;
  Taps t;
  t.count = !linear && !cubic ? 1 : static_cast<int64_t>(std::ceil(reach)) * 2;
  if (o.antialias && stretch < 1) t.count += 2;
  for (int64_t i = 0; i < a.to; ++i) {
    const double x = position_in(o, a, i);
    t.outside.push_back(x < 0 || x > static_cast<double>(a.from - 1));
    if (t.count == 1) {
      t.at.push_back(std::clamp(static_cast<int64_t>(nearest_of(o, x)), int64_t{0}, a.from - 1));
      t.weight.push_back(1);
      continue;
    }
    const int64_t first = static_cast<int64_t>(std::floor(x)) - t.count / 2 + 1;
    double sum = 0;
    for (int64_t k = 0; k < t.count; ++k) {
      const int64_t at = first + k;
      const double d = (x - static_cast<double>(at)) * stretch;
      double w = cubic ? cubic_weight(o.cubic_a, d) : std::max(0.0, 1 - std::fabs(d));
      if (o.exclude_outside && (at < 0 || at >= a.from)) w = 0;
      t.at.push_back(std::clamp(at, int64_t{0}, a.from - 1));
      t.weight.push_back(w);
      sum += w;
    }
    for (int64_t k = 0; k < t.count; ++k)
      if (sum != 0) t.weight[t.weight.size() - 1 - static_cast<size_t>(k)] /= sum;
  }
  return t;
}

/// Resizes one axis as taps say.
Tensor resized(Call& c, const Tensor& x, const ResizedAxis& a, const Taps& t) {
  const int rank = x.ndim(c.site());
  const auto column = [&](const auto& all, int64_t k) {
    std::decay_t<decltype(all)> v;
    for (int64_t i = 0; i < a.to; ++i) v.push_back(all[static_cast<size_t>(i * t.count + k)]);
    return from_span(v, c.device(), c.site());
  };
  Shape places(rank, 1);
  places[a.axis] = a.to;
  Tensor sum;
  for (int64_t k = 0; k < t.count; ++k) {
    const Tensor part = take(c.arg(x), c.arg(column(t.at, k)), a.axis, Bounds::clip);
    if (t.count == 1) return part;
    const Tensor w =
        reshape(c.arg(column(t.weight, k).astype(x.dtype(c.site()), c.site())), ShapeArg(places));
    const Tensor product = multiply(c.arg(part), c.arg(w));
    sum = sum.defined() ? add(c.arg(sum), c.arg(product)) : product;
  }
  return sum;
}

/// Returns how interpolate() does what is asked for; nothing if it does not.
std::optional<InterpolateOptions> as_interpolation(const ResizeOptions& o,
                                                   const std::vector<ResizedAxis>& axes, int rank) {
  if (rank < 3 || rank > 5 || o.exclude_outside || o.antialias || o.cubic_a != -0.75) return {};
  InterpolateOptions r;
  Dims size;
  const bool nearest = o.mode == "nearest" && o.nearest == "floor" && o.coordinates == "asymmetric";
  const bool centred = o.coordinates == "half_pixel", aligned = o.coordinates == "align_corners";
  if (!nearest && !((o.mode == "linear" || (o.mode == "cubic" && rank == 4)) && (centred || aligned)))
    return {};
  for (const ResizedAxis& a : axes) {
    if (static_cast<double>(a.to) != static_cast<double>(a.from) * a.scale) return {};
    if (a.axis < 2 && a.from != a.to) return {};
  }
  for (int i = 2; i < rank; ++i) {
    const auto found =
        std::find_if(axes.begin(), axes.end(), [i](const ResizedAxis& a) { return a.axis == i; });
    if (found == axes.end()) return {};
    size.push_back(found->to);
  }
  r.size = Axes(size);
  r.mode = nearest              ? Interpolation::nearest
           : o.mode == "linear" ? Interpolation::linear
                                : Interpolation::cubic;
  r.align_corners = !nearest && aligned;
  return r;
}

void resize_axes(Call& c, const ResizeOptions& o, const std::vector<ResizedAxis>& axes) {
  for (const ResizedAxis& a : axes)
    if (a.from < 1 || a.to < 1)
      c.fail<ShapeError>("axis " + std::to_string(a.axis) + " can't be resized from " +
                         std::to_string(a.from) + " to " + std::to_string(a.to) + " elements");
  if (const auto interpolation = as_interpolation(o, axes, c.rank(0)); interpolation && is_float(c.dtype(0)))
    return c.give(interpolate(c[0], *interpolation).astype(c.dtype(0), c.site()));
  Tensor x = c.tensor(0);
  if (o.mode != "nearest" && !is_float(x.dtype(c.site()))) x = x.astype(float32, c.site());
  Tensor outside;
  for (const ResizedAxis& a : axes) {
    const bool crops = o.coordinates == "tf_crop_and_resize";
    if (a.from == a.to && a.scale == 1 && !crops) continue;
    const Taps t = taps_of(o, a);
    x = resized(c, x, a, t);
    if (!crops) continue;
    Shape places(x.ndim(c.site()), 1);
    places[a.axis] = a.to;
    const Tensor mask = reshape(c.arg(asarray(t.outside, {}, c.device(), c.site())), ShapeArg(places));
    outside = outside.defined() ? logical_or(c.arg(outside), c.arg(mask)) : mask;
  }
  if (outside.defined()) x = where(c.arg(outside), Arg(o.extrapolation, c.site()), c.arg(x));
  c.give(x.astype(c.dtype(0), c.site()));
}

/// Scales axes by the numbers that are given for all of them.
std::vector<ResizedAxis> scaled_axes(Call& c, const std::vector<double>& scales, const Dims& axes) {
  const Shape shape = c.shape(0);
  if (scales.size() != static_cast<size_t>(axes.size()))
    c.fail<ShapeError>("expected " + std::to_string(axes.size()) + " scales, found " +
                       std::to_string(scales.size()));
  std::vector<ResizedAxis> all;
  for (int i = 0; i < axes.size(); ++i) {
    const int a = static_cast<int>(axes[i]);
    const double s = scales[static_cast<size_t>(i)];
    const double to = std::floor(static_cast<double>(shape[a]) * s);
    constexpr double kMost = 0x1p31;
    if (!(to >= 0 && to < kMost)) c.fail<ShapeError>("scale " + std::to_string(s) + " is out of range");
    all.push_back({a, shape[a], static_cast<int64_t>(to), s});
  }
  return all;
}

std::vector<double> numbers(const Known& k) {
  std::vector<double> v;
  for (size_t i = 0; i < k.size(); ++i) v.push_back(k.number(i));
  return v;
}

void resize_op(Call& c) {
  const int rank = c.rank(0);
  Dims axes = c.axes(c.integers("axes"), rank);
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  ResizeOptions o{c.text("mode", "nearest"), c.text("coordinate_transformation_mode", "half_pixel"),
                  c.text("nearest_mode", "round_prefer_floor")};
  o.cubic_a = c.real("cubic_coeff_a", -0.75);
  o.extrapolation = c.real("extrapolation_value", 0);
  o.exclude_outside = c.integer("exclude_outside", 0) != 0;
  o.antialias = c.integer("antialias", 0) != 0;
  std::vector<ResizedAxis> all;
  if (c.has(3) && numel(c.shape(3)) > 0) {
    const std::vector<int64_t> sizes = c.integers(3);
    const Shape shape = c.shape(0);
    if (sizes.size() != static_cast<size_t>(axes.size())) c.fail<ShapeError>("expected a size for each axis");
    const std::string_view policy = c.text("keep_aspect_ratio_policy", "stretch");
    double common = policy == "not_larger" ? HUGE_VAL : 0;
    for (int i = 0; i < axes.size(); ++i) {
      const int a = static_cast<int>(axes[i]);
      const double s = static_cast<double>(sizes[static_cast<size_t>(i)]) / static_cast<double>(shape[a]);
      all.push_back({a, shape[a], sizes[static_cast<size_t>(i)], s});
      common = policy == "not_larger" ? std::min(common, s) : std::max(common, s);
    }
    for (ResizedAxis& a : all)
      if (policy != "stretch") {
        a.scale = common;
        a.to = static_cast<int64_t>(std::floor(common * static_cast<double>(a.from) + 0.5));
      }
  } else {
    all = scaled_axes(c, numbers(c.elements(2)), axes);
  }
  if (o.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = numbers(c.elements(1));
    if (roi.size() != 2 * all.size()) c.fail<ShapeError>("expected two bounds of the region for each axis");
    for (size_t i = 0; i < all.size(); ++i) all[i].begin = roi[i], all[i].end = roi[all.size() + i];
  }
  resize_axes(c, o, all);
}

/// Resizes as version 10 of Resize and Upsample do: the corner of an element is what is scaled.
void upsample_op(Call& c) {
  std::vector<double> scales;
  if (c.version() >= 9) scales = numbers(c.elements(1));
  else if (c.version() >= 7) scales = c.reals("scales");
  else scales = {1, 1, c.real("height_scale", 1), c.real("width_scale", 1)};
  Dims axes;
  for (int i = 0; i < c.rank(0); ++i) axes.push_back(i);
  std::string_view mode = c.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  resize_axes(c, {mode, "asymmetric", "floor"}, scaled_axes(c, scales, axes));
}

std::string check_resize(const NodeProto& n) {
  constexpr std::string_view kKnown[][2] = {
      {"mode", "nearest linear bilinear cubic"},
      {"nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil"},
      {"keep_aspect_ratio_policy", "stretch not_larger not_smaller"},
      {"coordinate_transformation_mode",
       "half_pixel pytorch_half_pixel align_corners asymmetric half_pixel_symmetric tf_crop_and_resize "
       "tf_half_pixel_for_nn"}};
  for (const AttributeProto& a : n.attribute)
    for (const auto& [name, values] : kKnown)
      if (a.name == name && !has_word(values, a.s))
        return std::string(name) + " '" + std::string(a.s) + "' is not supported";
  return {};
}

void grid_sample_op(Call& c) {
  const std::string_view mode = c.text("mode", "linear"), padding = c.text("padding_mode", "zeros");
  const GridOptions options{.mode = mode == "nearest"                      ? Interpolation::nearest
                                    : mode == "cubic" || mode == "bicubic" ? Interpolation::cubic
                                                                           : Interpolation::linear,
                            .padding = padding == "border"       ? GridPadding::border
                                       : padding == "reflection" ? GridPadding::reflection
                                                                 : GridPadding::zeros,
                            .align_corners = c.integer("align_corners", 0) != 0};
  c.give(grid_sample(c[0], c[1], options).astype(c.dtype(0), c.site()));
}
std::string check_grid_sample(const NodeProto& n) {
  constexpr std::string_view kModes = "linear bilinear nearest cubic bicubic",
                             kPaddings = "zeros border reflection";
  for (const AttributeProto& a : n.attribute) {
    if (a.name == "mode" && !has_word(kModes, a.s)) return "mode '" + std::string(a.s) + "' is not supported";
    if (a.name == "padding_mode" && !has_word(kPaddings, a.s))
      return "padding_mode '" + std::string(a.s) + "' is not supported";
  }
  return {};
}

void affine_grid_op(Call& c) {
  c.give(affine_grid(c[0], ShapeArg(c.integers(1), c.site()), c.integer("align_corners", 0) != 0));
}

const Operator kResizes[] = {
    {"Resize", 10, 10, "mode", upsample_op, nullptr, check_resize},
    {"Resize", 11, 21,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode",
     resize_op, nullptr, check_resize},
    {"Upsample", 1, 9, "mode scales height_scale width_scale", upsample_op, nullptr, check_resize},
    {"GridSample", 16, 21, "align_corners mode padding_mode", grid_sample_op, nullptr, check_grid_sample},
    {"AffineGrid", 20, 21, "align_corners", affine_grid_op},
};

}  // namespace

std::span<const Operator> resize_operators() { return kResizes; }

}  // namespace lazy::onnx
