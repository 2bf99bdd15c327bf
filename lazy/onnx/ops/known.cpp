#include "lazy/onnx/ops/known.hpp"

namespace lazy::onnx {

bool stays_small(const Shape& result, size_t largest) {
  constexpr size_t kFew = 64;
  const auto size = static_cast<size_t>(numel(result));
  return size <= std::max(largest, kFew) && size <= static_cast<size_t>(kMostKnown);
}

bool all_known(const Call& c) {
  for (size_t i = 0; i < c.inputs(); ++i)
    if (c.has(i) && !c.value(i).known()) return false;
  return c.inputs() > 0;
}

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.size(), b.size());
  Shape shape(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int at_a = i - (rank - a.size()), at_b = i - (rank - b.size());
    const int64_t n = at_a < 0 ? 1 : a[at_a], m = at_b < 0 ? 1 : b[at_b];
    if (n != m && n != 1 && m != 1) return {};
    shape[i] = n == 1 ? m : n;
  }
  return shape;
}

std::vector<size_t> broadcast_places(const Shape& from, const Shape& to) {
  std::vector<size_t> places(static_cast<size_t>(numel(to)), 0);
  const Dims strides = contiguous_strides(from), all = contiguous_strides(to);
  for (size_t i = 0; i < places.size(); ++i)
    for (int axis = 0; axis < to.size(); ++axis) {
      const int at = axis - (to.size() - from.size());
      if (at < 0 || from[at] == 1) continue;
      places[i] += static_cast<size_t>(static_cast<int64_t>(i) / all[axis] % to[axis] * strides[at]);
    }
  return places;
}

Known known_at(const Known& k, const std::vector<size_t>& places, const Shape& shape) {
  Known r = Known::of(k.dtype, shape);
  for (size_t i = 0; i < places.size(); ++i) {
    if (k.real()) r.reals[i] = k.reals[places[i]];
    else r.integers[i] = k.integers[places[i]];
  }
  return r;
}

bool known_unary(Call& c, double (*real)(double), int64_t (*integer)(int64_t)) {
  if (!all_known(c)) return false;
  const Known& k = *c.value(0).known();
  if (k.real() ? !real : !integer) return false;
  Known r = Known::of(k.dtype, k.shape);
  for (size_t i = 0; i < k.size(); ++i) {
    if (k.real()) r.set(i, real(k.reals[i]));
    else r.set(i, integer(k.integers[i]));
  }
  c.give(std::move(r));
  return true;
}

bool known_binary(Call& c, double (*real)(double, double), int64_t (*integer)(int64_t, int64_t),
                  bool compares) {
  if (c.inputs() != 2 || !all_known(c)) return false;
  const Known &a = *c.value(0).known(), &b = *c.value(1).known();
  const std::optional<Shape> shape = broadcast_shape(a.shape, b.shape);
  if (!shape || !stays_small(*shape, std::max(a.size(), b.size())) || a.real() != b.real() ||
      (a.real() ? !real : !integer))
    return false;
  const auto at_a = broadcast_places(a.shape, *shape), at_b = broadcast_places(b.shape, *shape);
  Known r = Known::of(compares ? DType::bool_ : a.dtype, *shape);
  for (size_t i = 0; i < r.size(); ++i) {
    if (a.real() && compares) r.integers[i] = real(a.reals[at_a[i]], b.reals[at_b[i]]) != 0;
    else if (a.real()) r.set(i, real(a.reals[at_a[i]], b.reals[at_b[i]]));
    else r.set(i, integer(a.integers[at_a[i]], b.integers[at_b[i]]));
  }
  c.give(std::move(r));
  return true;
}

}  // namespace lazy::onnx
