#include "lazy/indexing/selecting.hpp"

#include <algorithm>

#include "lazy/core/scalar.hpp"
#include "lazy/indexing/recording.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/sorting.hpp"

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

/// Holds the flattened tensor, sorted, and where a new element begins.
struct Runs {
  Handle sorted, order;  // `order`: positions in the flattened tensor
  Handle begins;         // bool
};

Runs runs_of(const Recorder& r, const Handle& h) {
  const int64_t n = numel(h->shape);
  const Sorted all = sort(r.arg(r.reshape(h, {n})));
  Runs runs{all.values.handle(), all.indices.handle(), r.filled(true, bool_, {n}, h)};
  if (n > 1) {
    const Handle here = r.part(runs.sorted, 0, 1, n - 1), before = r.part(runs.sorted, 0, 0, n - 1);
    Handle differs = r.op(Op::not_equal, here, before);
    if (is_float(h->dtype)) differs = r.both(differs, r.opposite(r.op(Op::isnan, before)));
    runs.begins = r.replaced(runs.begins, differs, 0, 1);
  }
  return runs;
}

/// Returns the first element of each run. Reads where runs begin.
Tensor firsts(const Recorder& r, const Runs& runs) {
  const int64_t number = count_of(r.name, runs.begins, r.site);
  return r.tensor(selected_rows(r.name, runs.sorted, runs.begins, number, r.site));
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

Tensor index_select(Arg x, Integer axis, Arg index, Bounds bounds) {
  const Recorder r{"index_select", x.site()};
  const Handle h = Operand(r.name, x).take(), at = index_of(r.name, index);
  const int a = r.axis(axis, h);
  if (at->shape.size() != 1)
    r.fail<ShapeError>("an index has one dimension, not " + std::to_string(at->shape.size()));
  check_not_empty(r, h, a, at, bounds);
  const jit::Purpose purpose(r.name);
  return take(r.arg(h), r.arg(at), a, bounds);
}

Tensor gather(Arg x, Integer axis, Arg index, Bounds bounds) {
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

Tensor take_or(Arg x, Arg index, Integer axis, Number missing) {
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

Tensor unique(Arg x) {
  const Recorder r{"unique", x.site()};
  return firsts(r, runs_of(r, Operand(r.name, x).take()));
}

UniqueCounts unique_counts(Arg x) {
  const Recorder r{"unique_counts", x.site()};
  const Runs runs = runs_of(r, Operand(r.name, x).take());
  const Handle at = positions(r, runs.begins);
  const int64_t number = at->shape[0], n = numel(runs.sorted->shape);
  Handle next = r.filled(n, int64, {number}, at);
  if (number > 1) next = r.replaced(next, r.part(at, 0, 1, number - 1), 0, 0);
  return {take(r.arg(runs.sorted), r.arg(at), 0, Bounds::mask), r.tensor(r.op(Op::subtract, next, at))};
}

UniqueInverse unique_inverse(Arg x) {
  const Recorder r{"unique_inverse", x.site()};
  const Handle h = Operand(r.name, x).take();
  const Runs runs = runs_of(r, h);
  const Handle number = r.op(Op::subtract, cumsum(r.arg(r.as(int64, runs.begins))).handle(), 1);
  const Handle inverse = put_along_axis(r.arg(r.filled(0, int64, number->shape, h)), r.arg(runs.order),
                                        r.arg(number), 0, Combine::set, Bounds::mask)
                             .handle();
  return {firsts(r, runs), r.tensor(r.reshape(inverse, h->shape))};
}

}  // namespace lazy
