#include "lazy/ops/rearranging.hpp"

#include <algorithm>

#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns the parts of an axis between ascending positions; a part that would end before it begins is empty.
std::vector<Tensor> parts_at(const Recorder& r, const Arg& x, const Handle& h, int axis,
                             const std::vector<int64_t>& at) {
  const int64_t n = h->shape[axis];
  const auto position = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (size_t i = 0; i <= at.size(); ++i) {
    const int64_t stop = i < at.size() ? position(at[i]) : n;
    parts.push_back(r.tensor(r.part(h, axis, start, std::max<int64_t>(stop - start, 0)), x));
    start = stop;
  }
  return parts;
}

/// Returns parts of the given extents, one after the other.
template <class F>
std::vector<Tensor> parts_of(const Recorder& r, const Arg& x, const Handle& h, int axis, int64_t count,
                             F&& extent) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = extent(i);
    parts.push_back(r.tensor(r.part(h, axis, start, length), x));
    start += length;
  }
  return parts;
}

int axis_to_split(const Recorder& r, const Handle& h, IntegerArg axis, IntegerArg sections,
                  const char* what) {
  if (sections < 1)
    r.fail<ShapeError>(std::string("the number of ") + what + " must be positive, not " +
                       std::to_string(sections.value));
  return r.axis(axis, h);
}

/// Returns the shape with axes of extent 1 put before it until it has `rank`.
Shape led_by_ones(const Shape& shape, int rank) {
  Shape led(std::max(0, rank - shape.size()), 1);
  for (const int64_t n : shape) led.push_back(n);
  return led;
}

/// Repeats an axis, each of its elements in turn or all of them in order.
Handle repeated(const Recorder& r, const Handle& h, int axis, int64_t count, bool each_element) {
  if (count == 1) return h;
  int64_t before = 1, after = 1;
  for (int i = 0; i < axis; ++i) before *= h->shape[i];
  for (int i = axis + 1; i < h->shape.size(); ++i) after *= h->shape[i];
  const int64_t n = h->shape[axis];
  Shape shape = h->shape;
  shape[axis] = detail::narrow(r.name, "an extent of", Wide(n) * count, r.site);
  check_countable(r.name, shape, r.site);
  const Shape wide_shape = each_element ? Shape{before, n, count, after} : Shape{before, count, n, after};
  check_countable(r.name, wide_shape, r.site);  // fails for more than the result does if an extent is 0
  const Handle split = r.reshape(h, each_element ? Shape{before, n, 1, after} : Shape{before, 1, n, after});
  return r.reshape(r.broadcast(split, wide_shape), shape);
}

void check_count(const Recorder& r, int64_t count) {
  if (count < 0) r.fail<ShapeError>("can't repeat " + std::to_string(count) + " times");
}

/// Moves the elements of an axis `shift` places on.
Handle rolled(const Recorder& r, const Handle& h, int axis, int64_t shift) {
  const int64_t n = h->shape[axis];
  if (numel(h->shape) == 0) return h;
  const int64_t by = (shift % n + n) % n;  // elements that come to the front
  if (by == 0) return h;
  const Handle front = r.part(h, axis, n - by, by), back = r.part(h, axis, 0, n - by);
  return r.replaced(r.replaced(overwritten(h->dtype, h->shape, h->device, r.site), front, axis, 0), back,
                    axis, by);
}

Tensor with_rank(const char* name, Arg& x, int rank) {
  const Operand h(name, x);
  const Recorder r{name, x.site()};
  const int own = h->shape.size();
  if (own >= rank) return r.tensor(h, x);
  if (rank == 3 && own == 2) return r.tensor(r.reshape(h, {h->shape[0], h->shape[1], 1}), x);
  if (rank == 3 && own == 1) return r.tensor(r.reshape(h, {1, h->shape[0], 1}), x);
  return r.tensor(r.reshape(h, led_by_ones(h->shape, rank)), x);
}

/// Joins tensors along an axis, each brought into another shape first.
template <class Reshape>
Tensor joined(const char* name, const std::vector<Tensor>& xs, Reshape&& reshaped, int axis, const Site& s) {
  const Recorder r{name, s};
  if (xs.empty()) r.fail<ShapeError>("expected at least one tensor");
  std::vector<Tensor> parts;
  for (const Tensor& x : xs) {
    Arg a(x, s);
    const Operand h(name, a);
    parts.push_back(r.tensor(r.reshape(h, reshaped(h->shape))));
  }
  const Shape first = parts[0].shape(s);
  if (axis == 1 && first.size() == 1) axis = 0;  // hstack
  DType t = parts[0].dtype(s);
  for (const Tensor& p : parts) {
    const Shape& shape = p.shape(s);
    t = promote(name, t, p.dtype(s), s);
    bool good = shape.size() == first.size();
    for (int i = 0; good && i < shape.size(); ++i) good = i == axis || shape[i] == first[i];
    if (!good)
      r.fail<ShapeError>("shapes " + to_string(first) + " and " + to_string(shape) +
                         " differ in more than axis " + std::to_string(axis));
  }
  return concat(parts, axis, s);
}

}  // namespace

std::vector<Tensor> split(Arg x, IntegerArg sections, IntegerArg axis) {
  const Recorder r{"split", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = axis_to_split(r, h, axis, sections, "sections");
  const int64_t n = h->shape[a];
  if (n % sections != 0)
    r.fail<ShapeError>("axis " + std::to_string(a) + " of " + to_string(h->shape) + " is no multiple of " +
                       std::to_string(sections.value) + ": array_split takes any");
  return parts_of(r, x, h, a, sections, [&](int64_t) { return n / sections; });
}

std::vector<Tensor> split(Arg x, const std::vector<int64_t>& at, IntegerArg axis) {
  const Recorder r{"split", x.site()};
  const Handle h = Operand(r.name, x).take();
  return parts_at(r, x, h, r.axis(axis, h), at);
}
std::vector<Tensor> split(Arg x, std::initializer_list<int64_t> at, IntegerArg axis) {
  return split(std::move(x), std::vector<int64_t>(at), axis);
}

std::vector<Tensor> array_split(Arg x, IntegerArg sections, IntegerArg axis) {
  const Recorder r{"array_split", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = axis_to_split(r, h, axis, sections, "sections");
  const int64_t n = h->shape[a];
  return parts_of(r, x, h, a, sections, [&](int64_t i) { return n / sections + (i < n % sections); });
}

std::vector<Tensor> chunk(Arg x, IntegerArg chunks, IntegerArg axis) {
  const Recorder r{"chunk", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = axis_to_split(r, h, axis, chunks, "chunks");
  const int64_t n = h->shape[a];
  if (n == 0) return parts_of(r, x, h, a, chunks, [](int64_t) { return 0; });
  const int64_t length = (n - 1) / chunks + 1;
  return parts_of(r, x, h, a, (n - 1) / length + 1,
                  [&](int64_t i) { return std::min(length, n - i * length); });
}

std::vector<Tensor> unstack(Arg x, IntegerArg axis) {
  const Recorder r{"unstack", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = r.axis(axis, h);
  Shape without;
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != a) without.push_back(h->shape[i]);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < h->shape[a]; ++i) parts.push_back(r.tensor(r.reshape(r.part(h, a, i, 1), without)));
  return parts;
}

Tensor narrow(Arg x, IntegerArg axis, IntegerArg start, IntegerArg length) {
  const Recorder r{"narrow", x.site()};
  const Operand h(r.name, x);
  const int a = r.axis(axis, h);
  const int64_t n = h->shape[a], from = start < 0 ? start + n : start.value;
  if (from < 0 || from > n || length < 0 || length > n - from)
    r.fail<IndexError>(std::to_string(length.value) + " elements from " + std::to_string(start.value) +
                       " on are not in an axis of " + std::to_string(n));
  return r.tensor(r.part(h, a, from, length), x);
}

Tensor hstack(const std::vector<Tensor>& xs, Site s) {
  return joined(
      "hstack", xs, [](const Shape& x) { return led_by_ones(x, 1); }, 1, s);
}
Tensor vstack(const std::vector<Tensor>& xs, Site s) {
  return joined(
      "vstack", xs, [](const Shape& x) { return led_by_ones(x, 2); }, 0, s);
}
Tensor dstack(const std::vector<Tensor>& xs, Site s) {
  const auto deep = [](const Shape& x) {
    Shape shape = led_by_ones(x, 2);
    if (shape.size() == 2) shape.push_back(1);
    return shape;
  };
  return joined("dstack", xs, deep, 2, s);
}
Tensor column_stack(const std::vector<Tensor>& xs, Site s) {
  const auto column = [](const Shape& x) { return x.size() < 2 ? Shape{numel(x), 1} : x; };
  return joined("column_stack", xs, column, 1, s);
}

Tensor tile(Arg x, ShapeArg repetitions) {
  const Recorder r{"tile", x.site()};
  Handle h = Operand(r.name, x).take();
  for (const int64_t n : repetitions) check_count(r, n);
  h = r.reshape(h, led_by_ones(h->shape, repetitions.size()));
  const Shape counts = led_by_ones(repetitions, h->shape.size());
  for (int i = 0; i < counts.size(); ++i) h = repeated(r, h, i, counts[i], false);
  return r.tensor(h, x);
}

Tensor repeat(Arg x, IntegerArg count, Axes axis) {
  const Recorder r{"repeat", x.site()};
  Handle h = Operand(r.name, x).take();
  check_count(r, count);
  if (axis.size() > 1) r.fail<IndexError>("works along one axis, not " + to_string(axis));
  if (axis.empty()) h = r.reshape(h, {numel(h->shape)});
  return r.tensor(repeated(r, h, r.axis(axis.empty() ? 0 : axis[0], h), count, true), x);
}

Tensor expand(Arg x, ShapeArg shape) {
  const Recorder r{"expand", x.site()};
  const Operand h(r.name, x);
  const int extra = shape.size() - h->shape.size();
  Shape full = shape;
  bool good = extra >= 0;
  for (int i = 0; good && i < shape.size(); ++i) {
    if (shape[i] == -1 && i >= extra) full[i] = h->shape[i - extra];
    good = full[i] >= 0 && (i < extra || h->shape[i - extra] == full[i] || h->shape[i - extra] == 1);
  }
  if (!good) r.fail<ShapeError>(to_string(h->shape) + " does not broadcast to " + to_string(shape));
  check_countable(r.name, full, r.site);
  return r.tensor(r.broadcast(h, full), x);
}

Tensor expand_as(Arg x, TensorArg other) {
  const Recorder r{"expand_as", x.site()};
  const Operand h(r.name, x);
  const Shape shape = shape_of(r.name, other);
  if (shape.size() < h->shape.size() || broadcast_shapes(r.name, h->shape, shape, r.site) != shape)
    r.fail<ShapeError>(to_string(h->shape) + " does not broadcast to " + to_string(shape));
  return r.tensor(r.broadcast(h, shape), x);
}

Tensor roll(Arg x, Axes shift, Axes axes) {
  const Recorder r{"roll", x.site()};
  Handle h = Operand(r.name, x).take();
  if (axes.empty()) {
    if (shift.size() != 1)
      r.fail<ShapeError>("the flattened tensor takes one shift, not " + to_string(shift));
    const Shape shape = h->shape;
    return r.tensor(r.reshape(rolled(r, r.reshape(h, {numel(shape)}), 0, shift[0]), shape), x);
  }
  if (shift.size() != 1 && shift.size() != axes.size())
    r.fail<ShapeError>("shifts " + to_string(shift) + " and axes " + to_string(axes) + " differ in number");
  Dims by(h->shape.size(), 0);
  for (int i = 0; i < axes.size(); ++i) {
    const int a = r.axis(axes[i], h);
    const int64_t n = std::max<int64_t>(h->shape[a], 1);
    by[a] = (by[a] + shift[shift.size() == 1 ? 0 : i] % n) % n;
  }
  for (int a = 0; a < by.size(); ++a)
    if (by[a] != 0) h = rolled(r, h, a, by[a]);
  return r.tensor(h, x);
}

Tensor rot90(Arg x, IntegerArg turns, Axes axes) {
  const Recorder r{"rot90", x.site()};
  Handle h = Operand(r.name, x).take();
  const int rank = h->shape.size();
  if (rank < 2) r.fail<ShapeError>("needs two dimensions, not " + to_string(h->shape));
  if (axes.size() != 2) r.fail<ShapeError>("turns in a plane of two axes, not " + to_string(axes));
  const int a = r.axis(axes[0], h), b = r.axis(axes[1], h);
  if (a == b) r.fail<ShapeError>("the axes of " + to_string(axes) + " are the same");
  const int64_t k = (turns % 4 + 4) % 4;
  if (k == 0) return r.tensor(h, x);
  if (k == 1) h = r.reversed(h, b);
  if (k == 2) return r.tensor(r.reversed(r.reversed(h, a), b), x);
  Dims order = axes_in_order(rank);
  std::swap(order[a], order[b]);
  h = r.permute(h, order);
  return r.tensor(k == 1 ? h : r.reversed(h, b), x);
}

Tensor flipud(Arg x) {
  const Recorder r{"flipud", x.site()};
  const Operand h(r.name, x);
  if (h->shape.empty()) r.fail<ShapeError>("needs a dimension");
  return r.tensor(r.reversed(h, 0), x);
}
Tensor fliplr(Arg x) {
  const Recorder r{"fliplr", x.site()};
  const Operand h(r.name, x);
  if (h->shape.size() < 2) r.fail<ShapeError>("needs two dimensions, not " + to_string(h->shape));
  return r.tensor(r.reversed(h, 1), x);
}

Tensor atleast_1d(Arg x) { return with_rank("atleast_1d", x, 1); }
Tensor atleast_2d(Arg x) { return with_rank("atleast_2d", x, 2); }
Tensor atleast_3d(Arg x) { return with_rank("atleast_3d", x, 3); }

Tensor unflatten(Arg x, IntegerArg axis, ShapeArg shape) {
  const Recorder r{"unflatten", x.site()};
  const Operand h(r.name, x);
  const int a = r.axis(axis, h);
  const int64_t n = h->shape[a];
  Wide known = 1;
  int open = -1;
  bool good = true;
  for (int i = 0; i < shape.size() && good; ++i) {
    if (shape[i] == -1 && open < 0) open = i;
    else good = shape[i] >= 0 && (known *= shape[i]) <= INT64_MAX;
  }
  Shape parts = shape;
  if (good && open >= 0) {
    good = known != 0 && n % known == 0;
    if (good) parts[open] = static_cast<int64_t>(n / known);
  } else {
    good = good && known == n;
  }
  if (!good) r.fail<ShapeError>("an axis of " + std::to_string(n) + " does not go into " + to_string(shape));
  if (h->shape.size() - 1 + parts.size() > kMaxRank)
    r.fail<ShapeError>("the result has more than " + std::to_string(kMaxRank) + " dimensions");
  Shape result;
  for (int i = 0; i < h->shape.size(); ++i) {
    if (i != a) result.push_back(h->shape[i]);
    else
      for (const int64_t p : parts) result.push_back(p);
  }
  check_countable(r.name, result, r.site);
  return r.tensor(r.reshape(h, result), x);
}

Tensor diff(Arg x, IntegerArg n, IntegerArg axis) {
  const Recorder r{"diff", x.site()};
  Handle h = Operand(r.name, x).take();
  if (n < 0) r.fail<ShapeError>("can't take differences " + std::to_string(n.value) + " times");
  if (h->shape.empty()) r.fail<ShapeError>("a 0-d tensor has no neighbours");
  const int a = r.axis(axis, h);
  for (int64_t i = 0; i < n && h->shape[a] > 0; ++i) {
    const int64_t length = h->shape[a] - 1;
    h = r.op(is_bool(h->dtype) ? Op::not_equal : Op::subtract, r.part(h, a, 1, length),
             r.part(h, a, 0, length));
  }
  return r.tensor(h, x);
}

}  // namespace lazy
