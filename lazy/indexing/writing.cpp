#include "lazy/indexing/writing.hpp"

#include <iterator>
#include <limits>
#include <string_view>

#include "lazy/core/promotion.hpp"
#include "lazy/indexing/placement.hpp"
#include "lazy/indexing/recording.hpp"
#include "lazy/ops/diagonals.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Stores rows along an axis at an index of one dimension.
Tensor at_rows(const Recorder& r, Arg& x, int64_t axis, Arg& index, Arg& values, Combine combine,
               Bounds bounds) {
  const Handle h = Operand(r.name, x).take(), at = index_of(r.name, index);
  const int rank = h->shape.size(), a = r.axis(axis, h);
  if (at->shape.size() != 1)
    r.fail<ShapeError>("an index has one dimension, not " + std::to_string(at->shape.size()));
  const Handle from = stored_as(r.name, values, h->dtype);
  Shape all = h->shape;
  all[a] = at->shape[0] == 1 && from->shape.size() == rank ? from->shape[a] : at->shape[0];
  if (broadcast_shapes(r.name, from->shape, all, r.site) != all)
    r.fail<ShapeError>("values of shape " + to_string(from->shape) + " do not fit " + to_string(all));
  const Handle wide = r.broadcast(padded(at, a, rank - a - 1, r.site), all);
  return r.tensor(store_at(r.name, h, wide, r.broadcast(from, all), a, combine, bounds, r.site));
}

/// Throws ShapeError unless the source has the shape of what it replaces.
void check_shape(const Recorder& r, const Handle& source, const Shape& wanted) {
  if (source->shape != wanted)
    r.fail<ShapeError>("a source of shape " + to_string(source->shape) + ", not " + to_string(wanted));
}

/// Replaces what an index of one axis selects.
Tensor replaced_along(const Recorder& r, const Handle& h, const Handle& source, int axis,
                      const Index& index) {
  const Index whole(AllIndices{}, r.site);
  std::vector<const Index*> indices(static_cast<size_t>(axis), &whole);
  indices.push_back(&index);
  const Region region = place(r.name, h, indices, r.site);
  check_shape(r, source, region.shape);
  return r.tensor(written_region(r.name, h, region, r.arg(source)));
}

}  // namespace

Tensor put(Arg x, Arg index, Arg values, bool accumulate, Bounds bounds) {
  const Recorder r{"put", x.site()};
  const Handle h = Operand(r.name, x).take(), at = index_of(r.name, index);
  Handle from = stored_as(r.name, values, h->dtype);
  const int64_t n = numel(at->shape), given = numel(from->shape);
  if (given != n && given != 1)
    r.fail<ShapeError>("values of shape " + to_string(from->shape) + " for an index of " +
                       to_string(at->shape));
  from = r.broadcast(r.reshape(from, {given}), {n});
  const Handle flat = r.reshape(h, {numel(h->shape)});
  return r.tensor(r.reshape(store_at(r.name, flat, r.reshape(at, {n}), from, 0,
                                     accumulate ? Combine::add : Combine::set, bounds, r.site),
                            h->shape));
}

Tensor index_put(Arg x, const std::vector<Index>& index, Arg values, bool accumulate) {
  const Recorder r{"index_put", x.site()};
  const Handle h = Operand(r.name, x).take();
  std::vector<const Index*> indices;
  for (const Index& i : index) indices.push_back(&i);
  const Region region = place(r.name, h, indices, r.site);
  return r.tensor(written_region(r.name, h, region, values, accumulate ? Combine::add : Combine::set));
}

Tensor& Tensor::index_put_(const std::vector<Index>& list, Arg v, bool accumulate) & {
  const Site s = v.site();
  const Tensor r = index_put(Arg(*this, s), list, std::move(v), accumulate);
  update_to(r.handle(), s);
  return *this;
}

Tensor index_add(Arg x, IntegerArg axis, Arg index, Arg values, Bounds bounds) {
  return at_rows({"index_add", x.site()}, x, axis, index, values, Combine::add, bounds);
}

Tensor index_copy(Arg x, IntegerArg axis, Arg index, Arg values, Bounds bounds) {
  return at_rows({"index_copy", x.site()}, x, axis, index, values, Combine::set, bounds);
}

Tensor index_fill(Arg x, IntegerArg axis, Arg index, Arg value, Bounds bounds) {
  const Recorder r{"index_fill", x.site()};
  const Shape shape = shape_of(r.name, value);
  if (!shape.empty()) r.fail<ShapeError>("takes a value of no dimensions, not " + to_string(shape));
  return at_rows(r, x, axis, index, value, Combine::set, bounds);
}

Tensor masked_scatter(Arg x, Arg mask, Arg source) {
  const Recorder r{"masked_scatter", x.site()};
  const Handle h = Operand(r.name, x).take(), m = Operand(r.name, mask).take();
  if (!is_bool(m->dtype)) r.fail<DtypeError>(std::string("a mask is of bool, not ") + name_of(m->dtype));
  if (broadcast_shapes(r.name, h->shape, m->shape, r.site) != h->shape)
    r.fail<ShapeError>("a mask of shape " + to_string(m->shape) + " for " + to_string(h->shape));
  const Handle from = stored_as(r.name, source, h->dtype);
  const int64_t n = numel(h->shape), given = numel(from->shape);
  check_devices(r.name, {&h, &m, &from}, r.site);
  if (n == 0) return r.tensor(h);
  const Handle chosen = r.reshape(r.broadcast(m, h->shape), {n});
  if (given == 0) {
    if (count_of(r.name, chosen, r.site) > 0)
      r.fail<IndexError>("no elements for those that the mask selects");
    return r.tensor(h);
  }
  // The number of selected elements before an element says which one it gets.
  Handle at = r.as(int64, chosen);
  if (n > 1) at = detail::record(Op::cumsum, {&at}, int64, at->shape, r.site, jit::Attributes::along(0));
  at = r.where(chosen, r.op(Op::subtract, at, 1), 0);
  const Handle flat = r.reshape(from, {given});
  const Handle each = load_at(r.name, flat, at, 0, Bounds::check, r.site);
  return r.tensor(r.reshape(r.where(chosen, each, r.reshape(h, {n})), h->shape));
}

Tensor select_scatter(Arg x, Arg source, IntegerArg axis, IntegerArg index) {
  const Recorder r{"select_scatter", x.site()};
  const Handle h = Operand(r.name, x).take(), from = stored_as(r.name, source, h->dtype);
  return replaced_along(r, h, from, r.axis(axis, h), Index(index.value, r.site));
}

Tensor slice_scatter(Arg x, Arg source, IntegerArg axis, SliceBound start, SliceBound stop, SliceBound step) {
  const Recorder r{"slice_scatter", x.site()};
  const Handle h = Operand(r.name, x).take(), from = stored_as(r.name, source, h->dtype);
  return replaced_along(r, h, from, r.axis(axis, h), Index(slice(start, stop, step), r.site));
}

Tensor diagonal_scatter(Arg x, Arg source, IntegerArg offset, IntegerArg axis1, IntegerArg axis2) {
  const Recorder r{"diagonal_scatter", x.site()};
  const Handle h = Operand(r.name, x).take();
  Handle from = stored_as(r.name, source, h->dtype);
  const int rank = h->shape.size();
  if (rank < 2) r.fail<ShapeError>("takes two dimensions or more, not " + to_string(h->shape));
  const int rows = r.axis(axis1, h), columns = r.axis(axis2, h);
  if (rows == columns) r.fail<IndexError>("axis " + std::to_string(axis1.value) + " is named twice");
  check_devices(r.name, {&h, &from}, r.site);
  check_shape(r, from, diagonal(r.arg(h), offset, axis1, axis2).shape());
  const int64_t n = from->shape.back(), first = offset < 0 ? -offset.value : 0;
  if (numel(from->shape) == 0) return r.tensor(h);
  // The source's last axis goes to the rows' place, and begins at the diagonal's first row.
  Shape one;
  Dims order;
  for (int i = 0, other = 0; i < rank; ++i)
    if (i != columns) order.push_back(i == rows ? rank - 2 : other++);
  from = r.permute(from, order);
  for (int i = 0; i < rank; ++i) one.push_back(i == columns ? 1 : i == rows ? n : h->shape[i]);
  from = r.reshape(from, one);
  if (n < h->shape[rows]) {
    one[rows] = h->shape[rows];
    from = r.replaced(r.filled(0, h->dtype, one, h), from, rows, first);
  }
  const Handle on =
      r.op(Op::equal, r.op(Op::add, r.index(rows, h->shape, h), offset.value), r.index(columns, h->shape, h));
  return r.tensor(r.where(on, from, h));
}

namespace {

enum class Reduction : uint8_t { sum, prod, mean, amax, amin };

Reduction reduction_named(const Recorder& r, std::string_view name) {
  constexpr const char* names[] = {"sum", "prod", "mean", "amax", "amin"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<Reduction>(i);
  r.fail<Error>("reduce is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", not \"" + std::string(name) +
                "\"");
}

/// Returns the value that leaves all others as they are.
ScalarNumber neutral(Reduction how, DType t) {
  switch (how) {
    case Reduction::sum:
    case Reduction::mean: return 0;
    case Reduction::prod: return 1;
    case Reduction::amax:
      if (is_float(t)) return -std::numeric_limits<double>::infinity();
      return is_unsigned_int(t) ? ScalarNumber(0) : ScalarNumber(static_cast<int64_t>(iinfo(t).min));
    case Reduction::amin:
      if (is_float(t)) return std::numeric_limits<double>::infinity();
      return t == uint64 ? ScalarNumber(static_cast<uint64_t>(iinfo(t).max))
                         : ScalarNumber(static_cast<int64_t>(iinfo(t).max));
  }
  return 0;
}

Handle reduced(const Recorder& r, const Handle& base, const Handle& at, const Handle& from, int axis,
               Reduction how, bool include_self, Bounds bounds) {
  const Combine combine = how == Reduction::prod   ? Combine::multiply
                          : how == Reduction::amax ? Combine::max
                          : how == Reduction::amin ? Combine::min
                                                   : Combine::add;
  const auto store = [&](const Handle& to, const Handle& values, Combine c) {
    return store_at(r.name, to, at, values, axis, c, bounds, r.site);
  };
  if (include_self && how != Reduction::mean) return store(base, from, combine);
  // How many values go to each element.
  const Handle number =
      store(r.filled(0, int64, base->shape, base), r.filled(1, int64, at->shape, base), Combine::add);
  const Handle hit = r.op(Op::greater, number, 0);
  const Handle start = include_self ? base : r.where(hit, neutral(how, base->dtype), base);
  const Handle all = store(start, from, combine);
  if (how != Reduction::mean) return all;
  const Handle terms = include_self ? r.op(Op::add, number, 1) : r.op(Op::maximum, number, 1);
  const Handle by = r.as(base->dtype, terms);
  return r.where(hit, r.op(is_float(base->dtype) ? Op::divide : Op::floor_divide, all, by), base);
}

}  // namespace

Tensor scatter_reduce(Arg x, IntegerArg axis, Arg index, Arg values, const char* reduce, bool include_self,
                      Bounds bounds) {
  const Recorder r{"scatter_reduce", x.site()};
  const Reduction how = reduction_named(r, reduce);
  const Handle h = Operand(r.name, x).take(), at = index_of(r.name, index);
  Handle from = stored_as(r.name, values, h->dtype);
  if (is_bool(h->dtype)) r.fail<DtypeError>("takes no bool");
  const int rank = h->shape.size(), a = r.axis(axis, h);
  bool fits = at->shape.size() == rank && from->shape.size() == rank;
  for (int i = 0; fits && i < rank; ++i)
    fits = at->shape[i] <= from->shape[i] && (i == a || at->shape[i] <= h->shape[i]);
  if (!fits)
    r.fail<ShapeError>("an index of shape " + to_string(at->shape) + " does not fit " + to_string(h->shape) +
                       " and values of " + to_string(from->shape) + " along axis " + std::to_string(a));
  if (numel(at->shape) == 0) return r.tensor(h);
  const DType wide = is_half(h->dtype) ? float32 : h->dtype;
  Shape part = at->shape;
  part[a] = h->shape[a];
  const Dims none_of(rank, 0), each(rank, 1);
  from = r.as(wide, slice(from, none_of, each, at->shape, r.site));
  const Handle base = r.as(wide, slice(h, none_of, each, part, r.site));
  const Handle result = r.as(h->dtype, reduced(r, base, at, from, a, how, include_self, bounds));
  return r.tensor(part == h->shape ? result : slice_update(r.name, h, result, none_of, each, r.site));
}

}  // namespace lazy
