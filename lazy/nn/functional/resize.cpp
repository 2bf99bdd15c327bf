#include "lazy/nn/functional/resize.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/core/memory_format.hpp"
#include "lazy/nn/functional/pooling.hpp"
#include "lazy/nn/functional/positions.hpp"
#include "lazy/nn/functional/spatial.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

constexpr int64_t kLargestBlock = 1 << 30;  // of pixel_shuffle, along an axis

/// Holds how one spatial axis is resized.
struct Axis {
  int axis;
  int64_t from, to;
  double scale;  // of the user, 0 if none: 1 / scale is the distance in x of neighbours in the result
};

/// Holds the neighbours that make up each element along an axis, and the weight of each.
struct Taps {
  std::vector<Term> position, weight;
};

Term clamped(const Term& i, int64_t extent) {
  return minimum(maximum(i, 0.0), static_cast<double>(extent - 1));
}

/// Returns the position of the nearest element. torch computes it in float32 for every dtype.
Term nearest(const Term& x, const Axis& a, bool exact) {
  const Term i = positions(x, a.axis, a.to);
  if (a.from == a.to) return i;
  const float step = in_default_mode([&] {
    return a.scale > 0 ? static_cast<float>(1 / a.scale)
                       : static_cast<float>(a.from) / static_cast<float>(a.to);
  });
  const Term r = i.as(float32);
  const Term p = (exact ? r + 0.5 : r) * static_cast<double>(step);
  return clamped(floor(p).as(i.handle()->dtype), a.from);
}

/// Returns the position in x, in its dtype, of each element of the result.
Term source(const Term& x, const Axis& a, bool align_corners) {
  const Term i = positions(x, a.axis, a.to).as(x.handle()->dtype);
  const double from = static_cast<double>(a.from), to = static_cast<double>(a.to);
  if (align_corners) return i * (a.to > 1 ? in_default_mode([&] { return (from - 1) / (to - 1); }) : 0.0);
  return (i + 0.5) * in_default_mode([&] { return a.scale > 0 ? 1 / a.scale : from / to; }) - 0.5;
}

Taps linear_taps(const Term& x, const Axis& a, bool align_corners) {
  Term p = source(x, a, align_corners);
  if (!align_corners) p = maximum(p, 0.0);
  const Term whole = minimum(floor(p), static_cast<double>(a.from - 1)),
             t = minimum(maximum(p - whole, 0.0), 1.0);
  const Term i = whole.as(position_type(x, a.to));
  return {{i, minimum(i + 1.0, static_cast<double>(a.from - 1))}, {1.0 - t, t}};
}

// The weights are those of Keys' cubic convolution with A = -0.75.
Taps cubic_taps(const Term& x, const Axis& a, bool align_corners) {
  const Term p = source(x, a, align_corners), whole = floor(p), t = p - whole;
  const Term i = whole.as(position_type(x, a.to));
  constexpr double A = -0.75;
  const auto inner = [](const Term& d) { return ((A + 2) * d - (A + 3)) * d * d + 1.0; };
  const auto outer = [](const Term& d) { return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A; };
  Taps r;
  for (int k = -1; k <= 2; ++k) r.position.push_back(clamped(i + static_cast<double>(k), a.from));
  r.weight = {outer(t + 1.0), inner(t), inner(1.0 - t), outer(2.0 - t)};
  return r;
}

/// Sums the neighbours of each element, axis by axis from the last.
Term weighted(const Term& x, int first, const std::vector<Taps>& taps, std::vector<Term>& chosen) {
  const size_t axis = chosen.size();
  if (axis == taps.size()) return at(x, first, chosen);
  Term total;
  for (size_t k = 0; k < taps[axis].position.size(); ++k) {
    chosen.push_back(taps[axis].position[k]);
    const Term one = weighted(x, first, taps, chosen) * taps[axis].weight[k];
    chosen.pop_back();
    total = k ? total + one : one;
  }
  return total;
}

std::vector<Axis> resized(const Formula& f, const Term& x, const InterpolateOptions& o, int first) {
  const int n = x.rank() - 2;
  const bool scales = !o.scale_factor.empty();
  if (o.size.empty() != scales) f.fail<ShapeError>("exactly one of size and scale_factor is needed");
  if (scales && o.scale_factor.size() != 1 && o.scale_factor.size() != static_cast<size_t>(n))
    f.fail<ShapeError>(std::to_string(o.scale_factor.size()) + " scale factors for " + std::to_string(n) +
                       " spatial axes");
  const Dims size = scales ? Dims(n, 1) : per_axis(f.name, "size", o.size, n, 1, f.site);
  std::vector<Axis> r;
  Shape shape = x.shape();
  for (int i = 0; i < n; ++i) {
    Axis a{first + i, x.extent(first + i), size[i], 0};
    if (a.from < 1) f.fail<ShapeError>("an image without elements: " + to_string(x.shape()));
    if (scales) {
      a.scale = o.scale_factor[o.scale_factor.size() == 1 ? 0 : static_cast<size_t>(i)];
      const double extent =
          in_default_mode([&] { return std::floor(static_cast<double>(a.from) * a.scale); });
      if (!(extent >= 1) || extent > 9e15)
        f.fail<ShapeError>("scale factor " + std::to_string(a.scale) + " of an extent of " +
                           std::to_string(a.from));
      a.to = static_cast<int64_t>(extent);
    }
    shape[a.axis] = a.to;
    r.push_back(a);
  }
  check_countable(f.name, shape, f.site);
  return r;
}

Term interpolated(const Term& x, int first, const std::vector<Axis>& axes, const InterpolateOptions& o) {
  if (o.mode == Interpolation::nearest || o.mode == Interpolation::nearest_exact) {
    std::vector<Term> position;
    for (const Axis& a : axes) position.push_back(nearest(x, a, o.mode == Interpolation::nearest_exact));
    return at(x, first, position);
  }
  std::vector<Taps> taps;
  for (const Axis& a : axes)
    taps.push_back(o.mode == Interpolation::linear ? linear_taps(x, a, o.align_corners)
                                                   : cubic_taps(x, a, o.align_corners));
  std::vector<Term> chosen;
  return weighted(x, first, taps, chosen);
}

/// Returns the weight of each element of x in each of the result along an axis: (from, to).
Term shares(const Term& x, const Axis& a, const InterpolateOptions& o) {
  const Formula& f = x.formula();
  const DType t = x.handle()->dtype;
  Taps taps;
  if (o.mode == Interpolation::linear) taps = linear_taps(x, a, o.align_corners);
  else if (o.mode == Interpolation::cubic) taps = cubic_taps(x, a, o.align_corners);
  else taps = {{nearest(x, a, o.mode == Interpolation::nearest_exact)}, {f.term(f.number(1, t))}};
  const Shape row{1, a.to}, whole{a.from, a.to};
  Term total;
  for (size_t k = 0; k < taps.position.size(); ++k) {
    const Term at = reshape(taps.position[k], row);
    const Term j = f.index(0, whole, x).as(at.handle()->dtype);
    const Term& w = taps.weight[k];
    const Term one = where(j == at, w.rank() > 0 ? reshape(w, row) : w, 0.0);
    total = k ? total + one : one;
  }
  return total;
}

/// Returns how many neighbours in the result copy each element of x, if each is copied as often as the
/// others; else 0. Of powers of two the positions are exact.
int64_t copies(const Axis& a, const InterpolateOptions& o) {
  if (o.mode != Interpolation::nearest || a.to % a.from != 0) return 0;
  const int64_t k = a.to / a.from;
  return (k & (k - 1)) == 0 && (a.scale <= 0 || a.scale == static_cast<double>(k)) ? k : 0;
}

/// Gives back the gradient of each element to the elements of x that it was made of, axis by axis.
Term taken_back(const Term& gradient, const Term& x, const std::vector<Axis>& axes,
                const InterpolateOptions& o) {
  const Formula& f = x.formula();
  Term g = gradient;
  for (const Axis& a : axes) {
    if (a.from == a.to && copies(a, o) == 1) continue;
    const Shape result = with_extent(g.shape(), a.axis, a.from);
    int64_t before = 1, after = 1;
    for (int i = 0; i < g.rank(); ++i) (i < a.axis ? before : after) *= i == a.axis ? 1 : g.extent(i);
    if (numel(result) == 0) return f.term(f.filled(0, g.handle()->dtype, x.shape(), x.handle()));
    if (const int64_t k = copies(a, o)) {
      g = reshape(sum(reshape(g, {before, a.from, k, after}), {2}), result);
      continue;
    }
    const Term w = shares(x, a, o);
    const Handle matrix = w.handle();
    const Handle product =
        after == 1 ? detail::matmul(f.name, reshape(g, {before, a.to}).handle(),
                                    detail::matrix_transpose(matrix, f.site), f.site)
                   : detail::matmul(f.name, matrix, reshape(g, {before, a.to, after}).handle(), f.site);
    g = reshape(f.term(product), result);
  }
  return g;
}

/// Returns how much of an element of x at a distance belongs to one of the result: a triangle, or Keys' cubic
/// with A = -0.5.
double filter(double x, bool cubic) {
  constexpr double A = -0.5;
  x = std::abs(x);
  if (!cubic) return x < 1 ? 1 - x : 0;
  if (x < 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * A : 0;
}

/// Returns the weight of each element of x in each of the result, (to, from): the filter is as wide as the
/// result's elements, and the weights of each add up to 1.
std::vector<double> smoothing(const Axis& a, const InterpolateOptions& o) {
  const bool cubic = o.mode == Interpolation::cubic;
  const double from = static_cast<double>(a.from), to = static_cast<double>(a.to);
  const double step = o.align_corners ? (a.to > 1 ? (from - 1) / (to - 1) : 0)
                      : a.scale > 0   ? 1 / a.scale
                                      : from / to;
  const double width = std::max(step, 1.0), reach = (cubic ? 2 : 1) * width;
  std::vector<double> weights(static_cast<size_t>(a.from * a.to));
  for (int64_t i = 0; i < a.to; ++i) {
    const double centre = step * (static_cast<double>(i) + 0.5);
    const auto first = std::max<int64_t>(static_cast<int64_t>(centre - reach + 0.5), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(centre + reach + 0.5), a.from);
    double total = 0;
    for (int64_t j = first; j < last; ++j)
      total += filter((static_cast<double>(j) - centre + 0.5) / width, cubic);
    for (int64_t j = first; j < last && total != 0; ++j)
      weights[static_cast<size_t>(i * a.from + j)] =
          filter((static_cast<double>(j) - centre + 0.5) / width, cubic) / total;
  }
  return weights;
}

/// Multiplies each spatial axis by its weights.
Term antialiased(const Term& x, const std::vector<Axis>& axes, const InterpolateOptions& o) {
  const Formula& f = x.formula();
  Handle h = channels_to_last(x.handle(), o.layout, f.site);
  for (int i = 0; i < static_cast<int>(axes.size()); ++i) {
    const Axis& a = axes[static_cast<size_t>(i)];
    if (a.from == a.to && a.scale <= 0) continue;
    check_countable(f.name, {a.to, a.from}, f.site);
    std::vector<double> weights;
    in_default_mode([&] { return weights = smoothing(a, o), 0.0; });
    const Handle matrix = values(weights.data(), float64, {a.to, a.from}, h, f.site);
    h = multiplied(f.name, h, i + 1, f.as(f.work, matrix), f.site);
  }
  return f.term(channels_from_last(h, o.layout, f.site));
}

}  // namespace

Tensor interpolate(Arg x, const InterpolateOptions& o) {
  if (lies_last(x, o.layout)) {
    InterpolateOptions last = o;
    last.layout = channels_last;
    return image_first(interpolate(arg_last(x), last), x.site());
  }
  const bool keeps = o.mode == Interpolation::nearest || o.mode == Interpolation::nearest_exact;
  Formula f("interpolate", {&x});
  if (keeps) f.result = f.work = Operand(f.name, std::as_const(x))->dtype;
  const Term v = f.term(x);
  if (v.rank() < 3 || v.rank() > 5)
    f.fail<ShapeError>("takes an image of 3 to 5 axes, not " + to_string(v.shape()));
  if (o.mode == Interpolation::cubic && v.rank() != 4)
    f.fail<ShapeError>("cubic takes an image of two spatial axes, not " + to_string(v.shape()));
  if (o.antialias && ((o.mode != Interpolation::linear && o.mode != Interpolation::cubic) || v.rank() != 4))
    f.fail<ShapeError>("antialias is for linear and cubic and two spatial axes, not for " +
                       to_string(v.shape()));
  const int first = o.layout == channels_first ? 2 : 1;
  const std::vector<Axis> axes = resized(f, v, o, first);
  Composite whole(f.name, {&v.handle()}, f.site);
  if (o.antialias) return f.finish(whole, antialiased(v, axes, o));
  if (o.mode != Interpolation::area)
    return f.finish(whole, interpolated(v, first, axes, o), [axes, o](const Differentiated& d) {
      const Formula again("interpolate", d.site);
      const Term x = again.term(d.operands[0]);
      const DType t = x.handle()->dtype, work = is_half(t) ? float32 : t;
      return std::vector{taken_back(again.term(d.gradient).as(work), x.as(work), axes, o).as(t).handle()};
    });
  std::vector<int64_t> size;
  for (const Axis& a : axes) size.push_back(a.to);
  const Tensor y = adaptive_avg_pool(Arg(v.handle(), f.site), Axes(Dims(size)), o.layout);
  return f.finish(whole, f.term(y.handle()));
}

Tensor pixel_shuffle(Arg x, IntegerArg r) {
  const Formula f("pixel_shuffle", x.site());
  const Term v = f.term(Operand(f.name, x).take());
  const Shape& s = v.shape();
  const int n = s.size() - 3;
  const Wide block = Wide(r) * r;
  if (n < 0 || r < 1 || r > kLargestBlock || s[n] % block != 0)
    f.fail<ShapeError>(to_string(s) + " has no channels for blocks of " + std::to_string(r.value));
  const int64_t channels = static_cast<int64_t>(s[n] / block);
  Shape result = s;
  result[n] = channels;
  for (int i : {1, 2}) result[n + i] = narrow(f.name, "an extent of", Wide(s[n + i]) * r, f.site);
  check_countable(f.name, result, f.site);
  Composite whole(f.name, {&v.handle()}, f.site);
  if (numel(s) == 0) return Tensor(whole.result(reshape(v, result).handle()));
  const int64_t images = numel(s) / (s[n] * s[n + 1] * s[n + 2]);
  const Term split = reshape(v, {images, channels, r, r, s[n + 1], s[n + 2]});
  return Tensor(whole.result(reshape(permute(split, {0, 1, 4, 2, 5, 3}), result).handle()));
}

Tensor pixel_unshuffle(Arg x, IntegerArg r) {
  const Formula f("pixel_unshuffle", x.site());
  const Term v = f.term(Operand(f.name, x).take());
  const Shape& s = v.shape();
  const int n = s.size() - 3;
  if (n < 0 || r < 1 || r > kLargestBlock || s[n + 1] % r != 0 || s[n + 2] % r != 0)
    f.fail<ShapeError>(to_string(s) + " has no blocks of " + std::to_string(r.value));
  const int64_t height = s[n + 1] / r, width = s[n + 2] / r;
  Shape result = s;
  result[n] = narrow(f.name, "an extent of", Wide(s[n]) * r * r, f.site);
  result[n + 1] = height, result[n + 2] = width;
  check_countable(f.name, result, f.site);
  Composite whole(f.name, {&v.handle()}, f.site);
  if (numel(s) == 0) return Tensor(whole.result(reshape(v, result).handle()));
  const int64_t images = numel(s) / (s[n] * s[n + 1] * s[n + 2]);
  const Term split = reshape(v, {images, s[n], height, r, width, r});
  return Tensor(whole.result(reshape(permute(split, {0, 1, 3, 5, 2, 4}), result).handle()));
}

Tensor channel_shuffle(Arg x, IntegerArg groups) {
  const Formula f("channel_shuffle", x.site());
  const Term v = f.term(Operand(f.name, x).take());
  const Shape& s = v.shape();
  if (s.size() < 3) f.fail<ShapeError>("takes an image of at least 3 axes, not " + to_string(s));
  if (groups < 1 || s[1] % groups != 0)
    f.fail<ShapeError>(std::to_string(s[1]) + " channels do not make " + std::to_string(groups.value) +
                       " groups");
  Composite whole(f.name, {&v.handle()}, f.site);
  if (numel(s) == 0) return Tensor(whole.result(v.handle()));
  const Term split = reshape(v, {s[0], groups, s[1] / groups, numel(s) / (s[0] * s[1])});
  return Tensor(whole.result(reshape(permute(split, {0, 2, 1, 3}), s).handle()));
}

Tensor imresize(Arg picture, IntegerArg height, IntegerArg width) {
  const Recorder r{"imresize", picture.site()};
  const Handle h = Operand(r.name, picture).take();
  const int rank = h->shape.size();
  if (rank != 2 && rank != 3)
    r.fail<ShapeError>("takes a picture (height, width) or (height, width, channels), not " +
                       to_string(h->shape));
  if (is_bool(h->dtype) || is_complex(h->dtype))
    r.fail<DtypeError>("takes integers and floating-point numbers, not " + std::string(name_of(h->dtype)));
  const DType work = is_float(h->dtype) ? h->dtype : size_of(h->dtype) > 2 ? DType::float64 : float32;
  const int64_t channels = rank == 3 ? h->shape[2] : 1;
  const Handle image = r.as(work, r.reshape(h, {1, h->shape[0], h->shape[1], channels}));
  const Tensor small = interpolate(
      r.arg(image),
      {.size = {height, width}, .mode = Interpolation::bilinear, .layout = channels_last, .antialias = true});
  Handle y = small.handle();
  if (!is_float(h->dtype)) y = r.as(h->dtype, r.op(Op::round, y));
  Shape shape{y->shape[1], y->shape[2]};
  if (rank == 3) shape.push_back(channels);
  return r.tensor(r.reshape(y, shape));
}

}  // namespace lazy
