#include "lazy/ops/views.hpp"

#include <algorithm>

#include "lazy/core/build.hpp"

namespace lazy {
namespace {
using namespace detail;

Dims reversed_axes(int rank) {
  Dims r(rank, 0);
  for (int i = 0; i < rank; ++i) r[i] = rank - 1 - i;
  return r;
}

Dims identity_axes(int rank) {
  Dims r(rank, 0);
  for (int i = 0; i < rank; ++i) r[i] = i;
  return r;
}

/// Checks that the axes are in [0, rank), each once, and returns them in the order given.
Dims listed_axes(const char* op, const Dims& axes, int rank, const Site& s) {
  (void)normal_axes(op, axes, rank, s);  // checks range and duplicates
  Dims r;
  for (int64_t a : axes) r.push_back(normal_axis(op, a, rank, s));
  return r;
}

Tensor permuted(const char* op, Arg& x, const Dims& axes) {
  const Operand h(op, x);
  const int rank = h->shape.size();
  if (axes.size() != rank)
    fail<ShapeError>(
        op, "axes " + to_string(axes) + " do not name each dimension of " + to_string(h->shape) + " once",
        x.site());
  if (rank == 0) return returned(h, x);
  return returned(detail::permute(h, listed_axes(op, axes, rank, x.site()), x.site()), x);
}

Tensor swapped(const char* op, Arg& x, IntegerArg a, IntegerArg b) {
  const Operand h(op, x);
  const int rank = h->shape.size();
  Dims axes = identity_axes(rank);
  std::swap(axes[normal_axis(op, a, rank, x.site())], axes[normal_axis(op, b, rank, x.site())]);
  return returned(detail::permute(h, axes, x.site()), x);
}
}  // namespace

Tensor reshape(Arg x, ShapeArg shape) {
  const Operand h("reshape", x);
  int open = -1;
  int64_t known = 1;  // a product beyond int64 is no tensor's
  bool good = true;
  if (std::count(shape.begin(), shape.end(), -1) > 1)
    fail<ShapeError>("reshape", "only one extent may be -1, and follow from the others: " + to_string(shape),
                     x.site());
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) open = i;
    else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) good = false;
  }
  const int64_t n = numel(h->shape);
  if (good && open >= 0) {
    good = known != 0 && n % known == 0;
    if (good) shape[open] = n / known;
  } else {
    good = good && known == n;
  }
  if (!good)
    fail<ShapeError>("reshape", to_string(h->shape) + " does not go into " + to_string(shape), x.site());
  check_countable("reshape", shape, x.site());
  return returned(detail::reshape(h, shape, x.site()), x);
}

Tensor permute_dims(Arg x, Axes axes) { return permuted("permute_dims", x, axes); }

Tensor transpose(Arg x, Axes axes) {
  const int rank = shape_of("transpose", x).size();
  return permuted("transpose", x, axes.empty() ? reversed_axes(rank) : static_cast<const Dims&>(axes));
}

Tensor matrix_transpose(Arg x) {
  const Operand h("matrix_transpose", x);
  const int rank = h->shape.size();
  if (rank < 2)
    fail<ShapeError>("matrix_transpose", "needs two dimensions, not " + to_string(h->shape), x.site());
  return Tensor(detail::matrix_transpose(h, x.site()));
}

Tensor transpose(Arg x, IntegerArg a, IntegerArg b) { return swapped("transpose", x, a, b); }

Tensor swapaxes(Arg x, IntegerArg a, IntegerArg b) { return swapped("swapaxes", x, a, b); }

Tensor moveaxis(Arg x, Axes from, Axes to) {
  const Operand h("moveaxis", x);
  const int rank = h->shape.size();
  if (from.size() != to.size())
    fail<ShapeError>("moveaxis",
                     "axes " + to_string(from) + " and positions " + to_string(to) + " differ in number",
                     x.site());
  const Dims source = listed_axes("moveaxis", from, rank, x.site()),
             target = listed_axes("moveaxis", to, rank, x.site());
  Dims axes(rank, -1);
  for (int i = 0; i < source.size(); ++i) axes[static_cast<int>(target[i])] = source[i];
  int next = 0;
  for (int64_t& a : axes) {
    if (a >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    a = next++;
  }
  return returned(detail::permute(h, axes, x.site()), x);
}

Tensor squeeze(Arg x, Axes axes) {
  const Operand h("squeeze", x);
  const Dims named = axes.empty() ? Dims() : normal_axes("squeeze", axes, h->shape.size(), x.site());
  Shape shape;
  for (int i = 0; i < h->shape.size(); ++i) {
    const bool dropped =
        axes.empty() ? h->shape[i] == 1 : std::find(named.begin(), named.end(), i) != named.end();
    if (dropped && h->shape[i] != 1)
      fail<ShapeError>("squeeze", "axis " + std::to_string(i) + " of " + to_string(h->shape) + " is not 1",
                       x.site());
    if (!dropped) shape.push_back(h->shape[i]);
  }
  return returned(detail::reshape(h, shape, x.site()), x);
}

Tensor expand_dims(Arg x, IntegerArg axis) {
  const Operand h("expand_dims", x);
  const int rank = h->shape.size();
  if (rank == kMaxRank)
    fail<ShapeError>("expand_dims", to_string(h->shape) + " has the most dimensions possible", x.site());
  const int at = normal_axis("expand_dims", axis, rank + 1, x.site());
  Shape shape;
  for (int i = 0; i <= rank; ++i) {
    if (i == at) shape.push_back(1);
    if (i < rank) shape.push_back(h->shape[i]);
  }
  return returned(detail::reshape(h, shape, x.site()), x);
}

Tensor broadcast_to(Arg x, ShapeArg shape) {
  const Operand h("broadcast_to", x);
  const int extra = shape.size() - h->shape.size();
  bool good = extra >= 0;
  for (int i = 0; good && i < shape.size(); ++i)
    good = shape[i] >= 0 && (i < extra || h->shape[i - extra] == shape[i] || h->shape[i - extra] == 1);
  if (!good)
    fail<ShapeError>("broadcast_to", to_string(h->shape) + " does not broadcast to " + to_string(shape),
                     x.site());
  check_countable("broadcast_to", shape, x.site());
  return returned(detail::broadcast(h, shape, x.site()), x);
}

std::vector<Tensor> broadcast_arrays(std::initializer_list<Arg> args) {
  std::vector<Tensor> r;
  Shape shape;
  for (const Arg& a : args) {
    r.emplace_back(Operand("broadcast_arrays", a).take());
    shape = broadcast_shapes("broadcast_arrays", shape, r.back().shape(), a.site());
  }
  size_t i = 0;
  for (const Arg& a : args) {
    r[i] = returned(detail::broadcast(r[i].handle(), shape, a.site()), a);
    ++i;
  }
  return r;
}

Tensor flip(Arg x, Axes axes) {
  const Operand h("flip", x);
  Dims start(h->shape.size(), 0), step(h->shape.size(), 1);
  for (int64_t axis : normal_axes("flip", axes, h->shape.size(), x.site())) {
    const int i = static_cast<int>(axis);
    if (h->shape[i] < 2) continue;
    start[i] = h->shape[i] - 1;
    step[i] = -1;
  }
  return returned(detail::slice(h, start, step, h->shape, x.site()), x);
}

Tensor sliding_window_view(Arg x, Axes window, Axes axes, Axes step, Axes dilation) {
  constexpr const char* name = "sliding_window_view";
  const Operand h(name, x);
  const Site& s = x.site();
  const int rank = h->shape.size();
  const Dims along = axes.empty() ? identity_axes(rank) : listed_axes(name, axes, rank, s);
  const auto each = [&](const Dims& d, const char* what) {
    if (d.size() != 1 && d.size() != along.size())
      fail<ShapeError>(
          name, std::string(what) + " " + to_string(d) + " for " + std::to_string(along.size()) + " axes", s);
    for (int64_t v : d)
      if (v < 1) fail<ShapeError>(name, std::string(what) + " " + to_string(d) + " must be positive", s);
    return d.size() == 1 ? Dims(along.size(), d[0]) : d;
  };
  const Dims length = each(window, "window");
  Dims steps = each(step, "step"), gaps = each(dilation, "dilation");
  if (rank + along.size() > kMaxRank)
    fail<ShapeError>(name, "the result has more than " + std::to_string(kMaxRank) + " dimensions", s);
  Shape shape = h->shape;
  for (int i = 0; i < along.size(); ++i) {
    const int axis = static_cast<int>(along[i]);
    const Wide span = span_of(length[i], gaps[i]);
    if (span > h->shape[axis])
      fail<ShapeError>(name,
                       "a window that spans " + to_string(span) + " does not fit axis " +
                           std::to_string(axis) + " of " + to_string(h->shape),
                       s);
    shape[axis] = (h->shape[axis] - static_cast<int64_t>(span)) / steps[i] + 1;
    shape.push_back(length[i]);
    steps[i] = step_within(steps[i], h->shape[axis]);
    gaps[i] = step_within(gaps[i], h->shape[axis]);
  }
  check_countable(name, shape, s);
  return Tensor(detail::window(h, along, steps, gaps, shape, s));
}

Tensor flatten(Arg x) {
  const Operand h("flatten", x);
  return returned(detail::reshape(h, {numel(h->shape)}, x.site()), x);
}

Tensor flatten(Arg x, IntegerArg start, IntegerArg end) {
  const Operand h("flatten", x);
  const Shape given = h->shape.empty() ? Shape{1} : h->shape;
  const int first = normal_axis("flatten", start, given.size(), x.site()),
            last = normal_axis("flatten", end, given.size(), x.site());
  if (first > last)
    fail<IndexError>("flatten",
                     "axis " + std::to_string(first) + " comes after axis " + std::to_string(last) + " of " +
                         to_string(given),
                     x.site());
  Shape shape;
  for (int i = 0; i < given.size(); ++i) {
    if (i > first && i <= last) shape[shape.size() - 1] *= given[i];
    else shape.push_back(given[i]);
  }
  check_countable("flatten", shape, x.site());
  return returned(detail::reshape(h, shape, x.site()), x);
}

}  // namespace lazy
