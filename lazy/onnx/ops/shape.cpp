#include <algorithm>
#include <numeric>

#include "lazy/core/record.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/nn/functional/padding.hpp"
#include "lazy/onnx/ops/known.hpp"
#include "lazy/onnx/ops/table.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::onnx {
namespace {

bool shape_op(Call& c) {
  const Shape shape = c.shape(0);
  const int64_t rank = shape.size();
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  std::vector<int64_t> part;
  for (int64_t i = start; i < end; ++i) part.push_back(shape[static_cast<int>(i)]);
  c.give(Known::vector(part));
  return true;
}
bool size_op(Call& c) {
  c.give(Known::scalar(numel(c.shape(0))));
  return true;
}
void never(Call&) {}

/// Gives input 0 under another shape.
void reshaped(Call& c, const Shape& shape) {
  const Known* const k = c.value(0).known();
  if (k && numel(shape) == numel(k->shape)) {
    Known r = *k;
    r.shape = shape;
    return c.give(std::move(r));
  }
  c.give(reshape(c[0], ShapeArg(shape)));
}

void reshape_op(Call& c) {
  const std::vector<int64_t> target = c.version() < 5 ? c.integers("shape") : c.integers(1);
  const Shape given = c.shape(0);
  Shape shape;
  int open = -1;
  uint64_t known = 1;
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t n = target[i];
    if (n == 0 && !c.integer("allowzero", 0)) {
      if (static_cast<int>(i) >= given.size())
        c.fail<ShapeError>("the target's extent " + std::to_string(i) + " is 0, but the input has only " +
                           std::to_string(given.size()) + " dimensions");
      n = given[static_cast<int>(i)];
    }
    if (n == -1) open = static_cast<int>(i);
    else known *= static_cast<uint64_t>(n);
    shape.push_back(n);
  }
  if (open >= 0 && known != 0)
    shape[open] = static_cast<int64_t>(static_cast<uint64_t>(numel(given)) / known);
  reshaped(c, shape);
}

void flatten_op(Call& c) {
  const Shape shape = c.shape(0);
  const int64_t axis = c.integer("axis", 1), first = axis < 0 ? axis + shape.size() : axis;
  if (first < 0 || first > shape.size())
    c.fail<IndexError>("axis " + std::to_string(axis) + " is out of range");
  int64_t rows = 1, columns = 1;
  for (int i = 0; i < shape.size(); ++i) (i < first ? rows : columns) *= shape[i];
  reshaped(c, {rows, columns});
}

/// Reads axes, an attribute before version 13 and an input from then on.
std::vector<int64_t> given_axes(Call& c) {
  if (c.version() < 13) return c.integers("axes");
  return c.has(1) ? c.integers(1) : std::vector<int64_t>();
}

void squeeze_op(Call& c) {
  const Shape given = c.shape(0);
  const Dims axes = c.axes(given_axes(c), given.size());
  Shape shape;
  for (int i = 0; i < given.size(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && given[i] != 1)
      c.fail<ShapeError>("axis " + std::to_string(i) + " has extent " + std::to_string(given[i]) + ", not 1");
    if (!named && (!axes.empty() || given[i] != 1)) shape.push_back(given[i]);
  }
  reshaped(c, shape);
}

void unsqueeze_op(Call& c) {
  const Shape given = c.shape(0);
  const std::vector<int64_t> named = given_axes(c);
  const int rank = given.size() + static_cast<int>(named.size());
  const Dims axes = c.axes(named, rank);
  for (int i = 0; i < axes.size(); ++i)
    if (std::count(axes.begin(), axes.end(), axes[i]) > 1)
      c.fail<IndexError>("axis " + std::to_string(axes[i]) + " is named twice");
  Shape shape;
  for (int i = 0, from = 0; i < rank; ++i)
    shape.push_back(std::find(axes.begin(), axes.end(), i) != axes.end() ? 1 : given[from++]);
  reshaped(c, shape);
}

/// Returns for each element of a permuted shape its place in the shape before.
std::vector<size_t> permuted_places(const Shape& from, const Dims& axes, const Shape& to) {
  const Dims strides = contiguous_strides(from), all = contiguous_strides(to);
  std::vector<size_t> places(static_cast<size_t>(numel(to)), 0);
  for (size_t i = 0; i < places.size(); ++i)
    for (int a = 0; a < to.size(); ++a)
      places[i] +=
          static_cast<size_t>(static_cast<int64_t>(i) / all[a] % to[a] * strides[static_cast<int>(axes[a])]);
  return places;
}

void transpose_op(Call& c) {
  const int rank = c.rank(0);
  Dims axes = c.axes(c.integers("perm"), rank);
  if (axes.empty())
    for (int i = rank; i-- > 0;) axes.push_back(i);
  if (const Known* const k = c.value(0).known(); k && axes.size() == rank) {
    Shape shape;
    for (const int64_t a : axes) shape.push_back(k->shape[static_cast<int>(a)]);
    return c.give(known_at(*k, permuted_places(k->shape, axes, shape), shape));
  }
  c.give(permute_dims(c[0], Axes(axes)));
}

void expand_op(Call& c) {
  const Shape given = c.shape(0), target{std::span<const int64_t>(c.integers(1))};
  const std::optional<Shape> shape = broadcast_shape(given, target);
  const bool negative = std::any_of(target.begin(), target.end(), [](int64_t n) { return n < 0; });
  if (!shape || negative)
    c.fail<ShapeError>(to_string(given) + " does not broadcast to " + to_string(target));
  const Known* const k = c.value(0).known();
  if (k && stays_small(*shape, k->size()))
    return c.give(known_at(*k, broadcast_places(given, *shape), *shape));
  c.give(broadcast_to(c[0], ShapeArg(*shape)));
}

/// Joins weights, such as the gates of a recurrent layer, in one map, which is kept where parts that are
/// written one by one are not. Returns nothing where they have no large unit of length in common.
Tensor joined_weights(Call& c, const std::vector<Tensor>& all, int axis) {
  constexpr int64_t kMostBlocks = 8;
  Shape shape = all[0].shape(c.site());
  int64_t total = 0, unit = 0;
  for (const Tensor& t : all) {
    const Shape other = t.shape(c.site());
    if (t.dtype(c.site()) != all[0].dtype(c.site()) || other.size() != shape.size()) return {};
    for (int a = 0; a < shape.size(); ++a)
      if (a != axis && other[a] != shape[a]) return {};  // concat says what is wrong
    total += other[axis];
    unit = std::gcd(unit, other[axis]);
  }
  if (unit == 0 || total / unit > kMostBlocks || shape.size() == kMaxRank) return {};
  Shape places, split = shape;
  for (int a = 0; a <= shape.size(); ++a) places.push_back(a == axis ? total / unit : 1);
  const Tensor place(detail::iota(axis, places, all[0].device(c.site()), c.site()));
  Tensor joined;
  int64_t number = 0;
  for (const Tensor& t : all)
    for (int64_t i = 0; i < t.size(axis, c.site()); i += unit, ++number) {
      const Tensor block = unsqueeze(c.arg(narrow(c.arg(t), axis, i, unit)), axis);
      joined = number == 0
                   ? block
                   : where(c.arg(equal(c.arg(place), Arg(number, c.site()))), c.arg(block), c.arg(joined));
    }
  split[axis] = total;
  return reshape(c.arg(joined), split);
}

void concat_op(Call& c) {
  std::vector<Tensor> all;
  for (size_t i = 0; i < c.inputs(); ++i)
    // An empty vector joins anything, as exporters assume of shapes.
    if (c.inputs() == 1 || c.shape(i) != Shape{0}) all.push_back(c.tensor(i));
  if (all.empty()) all.push_back(c.tensor(0));
  const int64_t axis = c.version() < 4 ? c.integer("axis", 1) : c.needed("axis");
  bool of_weights = all.size() > 1 && c.rank(0) > 0;
  for (size_t i = 0; i < c.inputs(); ++i) of_weights = of_weights && c.value(i).of_weights();
  if (of_weights)
    if (Tensor joined = joined_weights(c, all, c.axis(axis, all[0].ndim(c.site()))); joined.defined())
      return c.give(std::move(joined));
  c.give(concat(all, axis, c.site()));
}
bool known_concat(Call& c) {
  if (!all_known(c)) return false;
  Known r = *c.value(0).known();
  r.integers.clear();
  r.reals.clear();
  int64_t count = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Known& k = *c.value(i).known();
    if (k.shape.size() != 1 || k.dtype != r.dtype) return false;
    count += k.shape[0];
    r.integers.insert(r.integers.end(), k.integers.begin(), k.integers.end());
    r.reals.insert(r.reals.end(), k.reals.begin(), k.reals.end());
  }
  if (count > kMostKnown) return false;
  r.shape = {count};
  c.give(std::move(r));
  return true;
}

void split_op(Call& c) {
  const int axis = c.axis(c.integer("axis", 0), c.rank(0));
  const int64_t extent = c.shape(0)[axis];
  std::vector<int64_t> sizes = c.version() < 13 ? c.integers("split")
                               : c.has(1)       ? c.integers(1)
                                                : std::vector<int64_t>();
  if (sizes.empty()) {
    const int64_t count = c.version() >= 18 ? c.integer("num_outputs", static_cast<int64_t>(c.outputs()))
                                            : static_cast<int64_t>(c.outputs());
    if (count < 1) c.fail<ShapeError>("an axis is split into one part or more, not " + std::to_string(count));
    const int64_t most = (extent + count - 1) / count;
    for (int64_t i = 0, left = extent; i < count; ++i, left -= sizes.back())
      sizes.push_back(std::min(most, left));
  }
  const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t n) { return n < 0; });
  if (negative || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != extent)
    c.fail<ShapeError>("the parts do not add up to " + std::to_string(extent) + ", the extent of axis " +
                       std::to_string(axis));
  const Known* const k = c.value(0).known();
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); at += sizes[i++]) {
    if (k && k->shape.size() == 1) {
      std::vector<size_t> places(static_cast<size_t>(sizes[i]));
      std::iota(places.begin(), places.end(), static_cast<size_t>(at));
      c.give(i, known_at(*k, places, {sizes[i]}));
    } else {
      c.give(i, narrow(c[0], axis, at, sizes[i]));
    }
  }
}

void tile_op(Call& c) {
  std::vector<int64_t> repeats = c.integers(1);
  if (c.version() < 6) {
    const int axis = c.axis(c.integer(2), c.rank(0));
    const int64_t count = c.integer(1);
    repeats.assign(static_cast<size_t>(c.rank(0)), 1);
    repeats[static_cast<size_t>(axis)] = count;
  }
  c.give(tile(c[0], ShapeArg(repeats, c.site())));
}

/// Holds a slice of one axis with bounds in range.
struct Part {
  int axis;
  int64_t start, length, step;
};
std::vector<Part> parts_of(Call& c) {
  const bool inputs = c.version() >= 10;
  const std::vector<int64_t> starts = inputs ? c.integers(1) : c.integers("starts"),
                             ends = inputs ? c.integers(2) : c.integers("ends");
  std::vector<int64_t> axes =
                           inputs ? (c.has(3) ? c.integers(3) : std::vector<int64_t>()) : c.integers("axes"),
                       steps = inputs && c.has(4) ? c.integers(4) : std::vector<int64_t>(starts.size(), 1);
  const Shape shape = c.shape(0);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    c.fail<ShapeError>("starts, ends, axes and steps differ in length");
  std::vector<Part> parts;
  for (size_t i = 0; i < starts.size(); ++i) {
    Part p{c.axis(axes[i], shape.size()), 0, 0, steps[i]};
    const int64_t extent = shape[p.axis], step = p.step;
    if (step == 0) c.fail("a step is 0");
    const auto place = [&](int64_t v, int64_t low, int64_t high) {
      return std::clamp(v < 0 ? v + extent : v, low, high);
    };
    p.start = step > 0 ? place(starts[i], 0, extent) : place(starts[i], -1, extent - 1);
    // Below -extent an end stands before the first element, which Python has no number for.
    const int64_t end = step > 0 ? place(ends[i], 0, extent) : place(ends[i], -1, extent - 1);
    const int64_t span = step > 0 ? end - p.start : p.start - end, size = step > 0 ? step : -(step + 1) + 1;
    p.length = span <= 0 ? 0 : (span - 1) / size + 1;
    parts.push_back(p);
  }
  return parts;
}

void slice_op(Call& c) {
  std::vector<Index> index(static_cast<size_t>(c.rank(0)), Index(_, c.site()));
  for (const Part& p : parts_of(c)) {
    const int64_t last = p.start + (p.length - 1) * p.step, end = last + (p.step > 0 ? 1 : -1);
    Slice s = p.length == 0 ? slice(0, 0) : slice(p.start, end, p.step);
    if (p.length != 0 && end < 0) s.stop = none;
    index[static_cast<size_t>(p.axis)] = Index(s, c.site());
  }
  const Tensor& x = c.tensor(0);
  c.give(x(std::span<const Index>(index), c.site()));
}
bool known_slice(Call& c) {
  const Known* const k = c.value(0).known();
  if (!k || k->shape.size() == 0) return false;
  // Goes axis by axis from the last one: `places` holds those of one element of the axes before.
  std::vector<Part> parts;
  for (int a = 0; a < k->shape.size(); ++a) parts.push_back({a, 0, k->shape[a], 1});
  for (const Part& p : parts_of(c)) parts[static_cast<size_t>(p.axis)] = p;
  std::vector<size_t> places{0};
  Shape shape = k->shape;
  int64_t stride = 1;
  for (int a = k->shape.size(); a-- > 0;) {
    const Part& p = parts[static_cast<size_t>(a)];
    std::vector<size_t> all;
    for (int64_t i = 0; i < p.length; ++i)
      for (const size_t place : places)
        all.push_back(place + static_cast<size_t>((p.start + i * p.step) * stride));
    places = std::move(all);
    shape[a] = p.length;
    stride *= k->shape[a];
  }
  c.give(known_at(*k, places, shape));
  return true;
}

void pad_op(Call& c) {
  const int rank = c.rank(0);
  const bool inputs = c.version() >= 11;
  std::vector<int64_t> given = inputs ? c.integers(1) : c.integers(c.version() < 2 ? "paddings" : "pads");
  std::vector<int64_t> named;
  if (c.version() >= 18 && c.has(3)) named = c.integers(3);
  Dims axes = c.axes(named, rank);
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  const size_t count = static_cast<size_t>(axes.size());
  if (given.size() != 2 * count)
    c.fail<ShapeError>("expected " + std::to_string(2 * count) + " pads, found " +
                       std::to_string(given.size()));
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(rank), {0, 0});
  for (size_t i = 0; i < count; ++i)
    widths[static_cast<size_t>(axes[static_cast<int>(i)])] = {given[i], given[count + i]};
  const std::string_view mode = c.text("mode", "constant");
  // Negative pads remove elements first: the rest is what is mirrored and repeated.
  Tensor x = c.tensor(0);
  for (int a = 0; a < rank; ++a) {
    auto& [before, after] = widths[static_cast<size_t>(a)];
    const int64_t extent = x.size(a, c.site()), first = std::max<int64_t>(-before, 0),
                  length = extent - first - std::max<int64_t>(-after, 0);
    if (length != extent) x = narrow(c.arg(x), a, first, length);
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  ScalarNumber value = 0;
  if (mode == "constant") {
    if (inputs && c.has(2)) {
      const Known k = c.elements(2);
      if (k.size() != 1)
        c.fail<ShapeError>("the value to pad with has " + std::to_string(k.size()) + " elements");
      value = k.real() ? ScalarNumber(k.reals[0]) : ScalarNumber(k.integers[0]);
    } else if (!inputs) {
      value = ScalarNumber(c.real("value", 0));
    }
    if (!is_float(c.dtype(0)) && value.kind == ScalarNumber::Kind::real)
      value = ScalarNumber(static_cast<int64_t>(value.d));
  }
  if (rank == 0) return c.give(std::move(x));
  c.give(pad(c.arg(x), PadWidths(widths), std::string(mode), value));
}
std::string check_pad(const NodeProto& n) {
  for (const AttributeProto& a : n.attribute)
    if (a.name == "mode" && a.s != "constant" && a.s != "reflect" && a.s != "edge" && a.s != "wrap")
      return "mode '" + std::string(a.s) + "' is not supported";
  return {};
}

void center_crop_pad_op(Call& c) {
  const Shape shape = c.shape(0);
  const std::vector<int64_t> target = c.integers(1);
  Dims axes = c.axes(c.integers("axes"), shape.size());
  if (axes.empty())
    for (int i = 0; i < shape.size(); ++i) axes.push_back(i);
  if (target.size() != static_cast<size_t>(axes.size()))
    c.fail<ShapeError>("expected an extent for each axis");
  Tensor x = c.tensor(0);
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(shape.size()), {0, 0});
  for (int i = 0; i < axes.size(); ++i) {
    const int a = static_cast<int>(axes[i]);
    const int64_t more = target[static_cast<size_t>(i)] - shape[a];
    if (more >= 0) widths[static_cast<size_t>(a)] = {more / 2, more - more / 2};
    else x = narrow(c.arg(x), a, -more / 2, target[static_cast<size_t>(i)]);
  }
  c.give(pad(c.arg(x), PadWidths(widths)));
}

void trilu_op(Call& c) {
  const int64_t k = c.has(1) ? c.integer(1) : 0;
  c.give(c.integer("upper", 1) ? triu(c[0], k) : tril(c[0], k));
}

/// Splits axes and permutes the parts: what depth to space and space to depth are made of.
void rearranged(Call& c, const Shape& split, const Dims& order, const Shape& result) {
  const Tensor parts = reshape(c[0], ShapeArg(split)), moved = permute_dims(c.arg(parts), Axes(order));
  c.give(reshape(c.arg(moved), ShapeArg(result)));
}
void depth_to_space_op(Call& c) {
  const Shape s = c.shape(0);
  const int64_t b = c.needed("blocksize");
  if (s.size() != 4 || b < 1 || s[1] % (b * b) != 0)
    c.fail<ShapeError>("channels make no blocks: " + to_string(s));
  const int64_t depth = s[1] / (b * b);
  const Shape result{s[0], depth, s[2] * b, s[3] * b};
  if (c.text("mode", "DCR") == "DCR")
    return rearranged(c, {s[0], b, b, depth, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, result);
  rearranged(c, {s[0], depth, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, result);
}
void space_to_depth_op(Call& c) {
  const Shape s = c.shape(0);
  const int64_t b = c.needed("blocksize");
  if (s.size() != 4 || b < 1 || s[2] % b != 0 || s[3] % b != 0)
    c.fail<ShapeError>("rows and columns make no blocks: " + to_string(s));
  rearranged(c, {s[0], s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4},
             {s[0], s[1] * b * b, s[2] / b, s[3] / b});
}

const Operator kShapes[] = {
    {"Shape", 1, 21, "start end", never, shape_op},
    {"Size", 1, 21, "", never, size_op},
    {"Reshape", 1, 21, "shape allowzero consumed_inputs", reshape_op},
    {"Flatten", 1, 21, "axis", flatten_op},
    {"Squeeze", 1, 21, "axes", squeeze_op},
    {"Unsqueeze", 1, 21, "axes", unsqueeze_op},
    {"Transpose", 1, 21, "perm", transpose_op},
    {"Expand", 8, 21, "", expand_op},
    {"Concat", 1, 21, "axis", concat_op, known_concat},
    {"Split", 2, 21, "axis split num_outputs", split_op},
    {"Tile", 1, 21, "", tile_op},
    {"Slice", 1, 21, "starts ends axes", slice_op, known_slice},
    {"Pad", 1, 21, "mode pads paddings value", pad_op, nullptr, check_pad},
    {"CenterCropPad", 18, 21, "axes", center_crop_pad_op},
    {"Trilu", 14, 21, "upper", trilu_op},
    {"DepthToSpace", 1, 21, "blocksize mode", depth_to_space_op},
    {"SpaceToDepth", 1, 21, "blocksize", space_to_depth_op},
};

}  // namespace

std::span<const Operator> shape_operators() { return kShapes; }

}  // namespace lazy::onnx
