#include "lazy/indexing/gathering.hpp"

#include "lazy/indexing/recording.hpp"

namespace lazy {
namespace {

using namespace detail;

/// Returns the extents of an index along `axis` of a tensor of shape `x`; on the other axes the two
/// broadcast.
Shape along(const char* op, const Shape& x, const Shape& index, int axis, bool x_broadcasts, const Site& s) {
  bool fits = x.size() == index.size();
  Shape all = index;
  for (int i = 0; fits && i < x.size(); ++i) {
    if (i == axis) continue;
    fits = x[i] == index[i] || index[i] == 1 || (x_broadcasts && x[i] == 1);
    all[i] = index[i] == 1 ? x[i] : index[i];
  }
  if (!fits)
    fail<ShapeError>(op,
                     "an index of shape " + to_string(index) + " does not fit " + to_string(x) +
                         " along axis " + std::to_string(axis),
                     s);
  check_countable(op, all, s);
  return all;
}

Handle with_extent(const Handle& x, Shape shape, int axis, const Site& s) {
  shape[axis] = x->shape[axis];
  return broadcast(x, shape, s);
}

Tensor put_along(const char* op, Arg& x, Arg& index, Arg& values, int64_t axis, Combine combine,
                 Bounds bounds) {
  const Site s = x.site();
  const Handle base = Operand(op, x).take();
  const int a = normal_axis(op, axis, base->shape.size(), s);
  const Handle at = index_of(op, index);
  const Handle from = stored_as(op, values, base->dtype);
  Shape all = along(op, base->shape, at->shape, a, false, s);
  if (from->shape.size() == all.size() && all[a] == 1) all[a] = from->shape[a];
  const Shape wanted = broadcast_shapes(op, from->shape, all, s);
  if (wanted != all)
    fail<ShapeError>(op, "values of shape " + to_string(from->shape) + " do not fit " + to_string(all), s);
  return Tensor(store_at(op, base, broadcast(at, all, s), broadcast(from, all, s), a, combine, bounds, s));
}

}  // namespace

Tensor take(Arg x, Arg index, IntegerArg axis, Bounds bounds) {
  const char* const op = "take";
  const Site s = x.site();
  const Handle from = Operand(op, x).take(), at = index_of(op, index);
  const int rank = from->shape.size(), more = at->shape.size();
  const int a = normal_axis(op, axis, rank, s);
  if (rank - 1 + more > kMaxRank)
    fail<ShapeError>(op,
                     "an index of shape " + to_string(at->shape) + " into " + to_string(from->shape) +
                         " gives more than " + std::to_string(kMaxRank) + " dimensions",
                     s);
  // The index' last axis replaces the axis; x does not move along the index' other axes.
  const int extra = more > 0 ? more - 1 : 0;
  Shape own, shape;
  for (int i = 0; i < a; ++i) own.push_back(from->shape[i]);
  shape = own;
  for (int i = 0; i < extra; ++i) own.push_back(1);
  for (int i = a; i < rank; ++i) own.push_back(from->shape[i]);
  for (int64_t d : at->shape) shape.push_back(d);
  if (more == 0) shape.push_back(1);
  for (int i = a + 1; i < rank; ++i) shape.push_back(from->shape[i]);
  check_countable(op, shape, s);
  const Handle wide = with_extent(reshape(from, own, s), shape, a + extra, s);
  const Handle indices = broadcast(padded(at, a, shape.size() - a - more, s), shape, s);
  const Handle taken = load_at(op, wide, indices, a + extra, bounds, s);
  if (more > 0) return Tensor(taken);
  Shape without;
  for (int i = 0; i < rank; ++i)
    if (i != a) without.push_back(from->shape[i]);
  return Tensor(reshape(taken, without, s));
}

Tensor take_along_axis(Arg x, Arg index, IntegerArg axis, Bounds bounds) {
  const char* const op = "take_along_axis";
  const Site s = x.site();
  const Handle from = Operand(op, x).take(), at = index_of(op, index);
  const int a = normal_axis(op, axis, from->shape.size(), s);
  const Shape all = along(op, from->shape, at->shape, a, true, s);
  return Tensor(load_at(op, with_extent(from, all, a, s), broadcast(at, all, s), a, bounds, s));
}

Tensor put_along_axis(Arg x, Arg index, Arg values, IntegerArg axis, Combine combine, Bounds bounds) {
  return put_along("put_along_axis", x, index, values, axis, combine, bounds);
}
Tensor scatter(Arg x, IntegerArg axis, Arg index, Arg values, Combine combine, Bounds bounds) {
  return put_along("scatter", x, index, values, axis, combine, bounds);
}
Tensor scatter_add(Arg x, IntegerArg axis, Arg index, Arg values, Bounds bounds) {
  return put_along("scatter_add", x, index, values, axis, Combine::add, bounds);
}

}  // namespace lazy
