#include "lazy/indexing/selecting.hpp"

#include <algorithm>

#include "lazy/core/scalar.hpp"
#include "lazy/indexing/recording.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/running.hpp"

namespace lazy {
namespace {
using namespace detail;

Handle mask_of(const Recorder& r, Arg& mask) {
  Handle h = Operand(r.name, mask).take();
  if (!is_bool(h->dtype)) r.fail<DtypeError>(std::string("a mask is of bool, not ") + name_of(h->dtype));
  return h;
}

void check_not_empty(const Recorder& r, const Handle& x, int axis, const Handle& index, Bounds bounds) {
  if (numel(index->shape) > 0) check_any(r.name, x->shape[axis], bounds, r.site);
}

/// Returns the positions of what is true in a mask of one dimension. Reads it.
Handle positions(const Recorder& r, const Handle& mask) {
  return positions_of(r.name, mask, count_of(r.name, mask, r.site), r.site);
}

/// Returns the positions, in the flattened tensor, of what is != 0. Reads it.
Handle flat_positions(const Recorder& r, Arg& x) {
  const Handle h = Operand(r.name, x, bool_).take();
  return positions(r, r.reshape(h, {numel(h->shape)}));
}

/// Returns the position along each axis of positions in the flattened tensor.
std::vector<Handle> along_axes(const Recorder& r, Handle flat, const Shape& shape) {
  std::vector<Handle> each(static_cast<size_t>(shape.size()));
  for (int i = shape.size() - 1; i >= 0; --i) {
    const int64_t n = std::max<int64_t>(shape[i], 1);
    each[static_cast<size_t>(i)] = i == 0 ? flat : r.op(Op::remainder, flat, n);
    if (i > 0) flat = r.op(Op::floor_divide, flat, n);
  }
  return each;
}

/// Returns positions along an axis of `extent` elements, int64, from 0 on.
Handle in_range(const Recorder& r, const Handle& at, int64_t extent, Bounds bounds) {
  if (extent == 0) return r.as(int64, at);  // there are none
  if (jit::may_throw(bounds)) return counted_from_start(r.name, at, extent, at, r.site, bounds);
  // Unsigned ones may be above the range of int64.
  const DType wide = at->dtype == uint64 ? uint64 : int64;
  const Handle h = r.as(wide, at);
  if (bounds == Bounds::wrap) return r.as(int64, r.op(Op::remainder, h, extent));
  const Handle below = r.as(int64, r.op(Op::minimum, h, extent - 1));
  return r.op(Op::maximum, below, 0);
}

DType promoted(const Recorder& r, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (!t.defined()) throw_empty(r.name, r.site);
  DType type = tensors[0].handle()->dtype;
  for (const Tensor& t : tensors) type = promote(r.name, type, t.handle()->dtype, r.site);
  return type;
}

}  // namespace

Tensor masked_fill(Arg x, Arg mask, Arg value) {
  const Recorder r{"masked_fill", x.site()};
  const Handle h = Operand(r.name, x).take(), m = mask_of(r, mask);
  return r.tensor(r.where(m, stored_as(r.name, value, h->dtype), h));
}

Tensor masked_select(Arg x, Arg mask) {
  const Recorder r{"masked_select", x.site()};
  const Handle h = Operand(r.name, x).take(), m = mask_of(r, mask);
  const Shape shape = broadcast_shapes(r.name, h->shape, m->shape, r.site);
  const int64_t n = numel(shape);
  const Handle all = r.reshape(r.broadcast(h, shape), {n}), chosen = r.reshape(r.broadcast(m, shape), {n});
  return r.tensor(selected_rows(r.name, all, chosen, count_of(r.name, chosen, r.site), r.site));
}

Tensor index_select(Arg x, IntegerArg axis, Arg index, Bounds bounds) {
  const Recorder r{"index_select", x.site()};
  const Handle h = Operand(r.name, x).take(), at = index_of(r.name, index);
  const int a = r.axis(axis, h);
  if (at->shape.size() != 1)
    r.fail<ShapeError>("an index has one dimension, not " + std::to_string(at->shape.size()));
  check_not_empty(r, h, a, at, bounds);
  const jit::Purpose purpose(r.name);
  return take(r.arg(h), r.arg(at), a, bounds);
}

Tensor gather(Arg x, IntegerArg axis, Arg index, Bounds bounds) {
  const Recorder r{"gather", x.site()};
  Handle h = Operand(r.name, x).take();
  const Handle at = index_of(r.name, index);
  const int a = r.axis(axis, h);
  bool fits = at->shape.size() == h->shape.size();
  for (int i = 0; fits && i < h->shape.size(); ++i) fits = i == a || at->shape[i] <= h->shape[i];
  if (!fits)
    r.fail<ShapeError>("an index of shape " + to_string(at->shape) + " does not fit " + to_string(h->shape) +
                       " along axis " + std::to_string(a));
  check_not_empty(r, h, a, at, bounds);
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != a) h = r.part(h, i, 0, at->shape[i]);
  const jit::Purpose purpose(r.name);
  return take_along_axis(r.arg(h), r.arg(at), a, bounds);
}

Tensor take_or(Arg x, Arg index, IntegerArg axis, ScalarNumber missing) {
  const Recorder r{"take_or", x.site()};
  const Handle h = Operand(r.name, x).take(), at = index_of(r.name, index);
  const int a = r.axis(axis, h);
  const Handle fill = stored_as(r.name, Arg(missing, r.site), h->dtype);
  if (h->shape.size() - 1 + at->shape.size() > kMaxRank)
    r.fail<ShapeError>("the result has more than " + std::to_string(kMaxRank) + " dimensions");
  const Handle found = take(r.arg(h), r.arg(at), a, Bounds::mask).handle();
  // Unsigned indices have no negative ones; the extent may not fit the index' dtype.
  const Handle wide = is_unsigned_int(at->dtype) ? r.as(uint64, at) : r.as(int64, at);
  Handle inside = r.op(Op::less, wide, h->shape[a]);
  if (!is_unsigned_int(at->dtype)) inside = r.both(inside, r.op(Op::greater_equal, wide, 0));
  Shape shape = at->shape;
  for (int i = a + 1; i < h->shape.size(); ++i) shape.push_back(1);
  return r.tensor(r.where(r.reshape(inside, shape), found, fill));
}

std::vector<Tensor> nonzero(Arg x) {
  const Recorder r{"nonzero", x.site()};
  const Shape shape = shape_of(r.name, x);
  if (shape.empty()) r.fail<ShapeError>("a 0-d tensor has no positions: atleast_1d gives it one");
  std::vector<Tensor> result;
  for (const Handle& h : along_axes(r, flat_positions(r, x), shape)) result.push_back(r.tensor(h));
  return result;
}

Tensor argwhere(Arg x) {
  const Recorder r{"argwhere", x.site()};
  const Shape shape = shape_of(r.name, x);
  const Handle flat = flat_positions(r, x);
  if (shape.empty()) return r.tensor(r.filled(0, int64, {flat->shape[0], 0}, flat));
  std::vector<Tensor> columns;
  for (const Handle& h : along_axes(r, flat, shape)) columns.push_back(r.tensor(h));
  return stack(columns, 1, r.site);
}

Tensor flatnonzero(Arg x) {
  const Recorder r{"flatnonzero", x.site()};
  return r.tensor(flat_positions(r, x));
}

Tensor detail::slice_along(Arg x, IntegerArg axis, SliceBound start, SliceBound stop, SliceBound step) {
  const Recorder r{"slice", x.site()};
  const Handle h = Operand(r.name, x).take();
  std::vector<Index> list(static_cast<size_t>(r.axis(axis, h)), Index(_, r.site));
  list.emplace_back(Slice{start, stop, step}, r.site);
  return Tensor(h)(std::span<const Index>(list), r.site);
}

Tensor select(Arg x, IntegerArg axis, IntegerArg index) {
  const Recorder r{"select", x.site()};
  const Handle h = Operand(r.name, x).take();
  const int a = r.axis(axis, h);
  const int64_t n = h->shape[a], at = index < 0 ? index + n : index.value;
  if (at < 0 || at >= n)
    r.fail<IndexError>(std::to_string(index.value) + " is out of range for axis " + std::to_string(a) +
                       " with extent " + std::to_string(n));
  Shape rest;
  for (int i = 0; i < h->shape.size(); ++i)
    if (i != a) rest.push_back(h->shape[i]);
  return r.tensor(r.reshape(r.part(h, a, at, 1), rest));
}

Tensor take(Arg x, Arg index, Bounds bounds) {
  const Recorder r{"take", x.site()};
  const Handle h = Operand(r.name, x).take();
  return take(r.arg(r.reshape(h, {numel(h->shape)})), std::move(index), 0, bounds);
}

Tensor choose(Arg index, const std::vector<Tensor>& choices, Bounds bounds) {
  const Recorder r{"choose", index.site()};
  const Handle at = index_of(r.name, index);
  if (choices.empty()) r.fail<ShapeError>("no tensors to choose from");
  Shape shape = at->shape;
  const DType type = promoted(r, choices);
  for (const Tensor& c : choices) shape = broadcast_shapes(r.name, shape, c.handle()->shape, r.site);
  if (shape.size() == kMaxRank)
    r.fail<ShapeError>("takes at most " + std::to_string(kMaxRank - 1) + " dimensions");
  std::vector<Tensor> each;
  for (const Tensor& c : choices) each.push_back(r.tensor(r.broadcast(r.as(type, c.handle()), shape)));
  const Handle all = stack(each, 0, r.site).handle();
  Shape one = shape, wide{1};
  for (int64_t n : shape) wide.push_back(n);
  const Handle read = load_at(r.name, all, r.reshape(r.broadcast(at, one), wide), 0, bounds, r.site);
  return r.tensor(r.reshape(read, shape));
}

Tensor compress(Arg condition, Arg x, IntegerArg axis) {
  const Recorder r{"compress", x.site()};
  const Handle h = Operand(r.name, x).take(), keep = Operand(r.name, condition, bool_).take();
  const int a = r.axis(axis, h);
  if (keep->shape.size() != 1 || keep->shape[0] > h->shape[a])
    r.fail<ShapeError>("a condition of shape " + to_string(keep->shape) + " for an axis of " +
                       std::to_string(h->shape[a]));
  check_devices(r.name, {&h, &keep}, r.site);
  const int64_t count = count_of(r.name, keep, r.site);
  if (a == 0) return r.tensor(selected_rows(r.name, r.part(h, 0, 0, keep->shape[0]), keep, count, r.site));
  return take(r.arg(h), r.arg(positions_of(r.name, keep, count, r.site)), a, Bounds::clip);
}

Tensor compress(Arg condition, Arg x) {
  const Recorder r{"compress", x.site()};
  const Handle h = Operand(r.name, x).take();
  return compress(std::move(condition), r.arg(r.reshape(h, {numel(h->shape)})), 0);
}

Tensor extract(Arg condition, Arg x) {
  const Recorder r{"extract", x.site()};
  const Handle h = Operand(r.name, x).take(), keep = Operand(r.name, condition, bool_).take();
  const int64_t n = numel(h->shape);
  if (numel(keep->shape) != n)
    r.fail<ShapeError>("a condition of shape " + to_string(keep->shape) + " for a tensor of " +
                       to_string(h->shape));
  check_devices(r.name, {&h, &keep}, r.site);
  const Handle flat = r.reshape(keep, {n});
  return r.tensor(selected_rows(r.name, r.reshape(h, {n}), flat, count_of(r.name, flat, r.site), r.site));
}

Tensor ravel_multi_index(const std::vector<Tensor>& index, ShapeArg shape, Bounds bounds, Site s) {
  const Recorder r{"ravel_multi_index", s};
  if (bounds == Bounds::mask) r.fail<Error>("an index out of range has no position: mask is no rule for it");
  if (index.empty() || index.size() != static_cast<size_t>(shape.size()))
    r.fail<ShapeError>(std::to_string(index.size()) + " indices for a shape of " + to_string(shape));
  check_extents(r.name, shape, s);
  check_countable(r.name, shape, s);
  Handle flat;
  for (int a = 0; a < shape.size(); ++a) {
    Arg given(index[static_cast<size_t>(a)], s);
    const Handle at = index_of(r.name, given);
    if (numel(at->shape) > 0) check_any(r.name, shape[a], bounds, s);
    const Handle along = in_range(r, at, shape[a], bounds);
    flat = flat ? r.op(Op::add, r.op(Op::multiply, flat, shape[a]), along) : along;
  }
  return r.tensor(flat);
}

std::vector<Tensor> unravel_index(Arg index, ShapeArg shape) {
  const Recorder r{"unravel_index", index.site()};
  const Handle at = index_of(r.name, index);
  check_extents(r.name, shape, r.site);
  check_countable(r.name, shape, r.site);
  if (numel(at->shape) > 0) check_any(r.name, numel(shape), Bounds::check, r.site);
  std::vector<Tensor> each;
  for (const Handle& h : along_axes(r, in_range(r, at, numel(shape), Bounds::check), shape))
    each.push_back(r.tensor(h));
  return each;
}

std::vector<Index> ix_(const std::vector<Index>& lists, Site s) {
  const Recorder r{"ix_", s};
  const int rank = static_cast<int>(lists.size());
  if (rank > kMaxRank) r.fail<ShapeError>("a tensor has at most " + std::to_string(kMaxRank) + " dimensions");
  std::vector<Index> mesh;
  for (int i = 0; i < rank; ++i) {
    const Index& list = lists[static_cast<size_t>(i)];
    if (!list.computed) r.fail<Error>("takes tensors and lists of integers");
    Handle at = list.kind == Index::Kind::list ? asarray(list.computed->list, {}, {}, s).handle()
                                               : list.computed->tensor;
    if (!at) throw_empty(r.name, s);
    if (!is_int(at->dtype) && !is_bool(at->dtype))
      r.fail<DtypeError>(std::string("an index is of integers or bool, not ") + name_of(at->dtype));
    if (at->shape.size() != 1)
      r.fail<ShapeError>("an index has one dimension, not " + std::to_string(at->shape.size()));
    if (is_bool(at->dtype)) at = positions(r, at);
    mesh.emplace_back(r.tensor(padded(at, i, rank - i - 1, s)), s);
  }
  return mesh;
}

}  // namespace lazy
