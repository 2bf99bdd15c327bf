#include "lazy/indexing/computed.hpp"

#include <algorithm>

#include "lazy/core/scalar.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {
namespace {

/// Holds the positions that one index gives along the axes it stands for, seen as one axis.
struct Positions {
  Handle at;
  int axis, axes;
  bool in_range;  // none is negative or too large
};

std::string out_of_range(int64_t i, int axis, int64_t extent) {
  return std::to_string(i) + " is out of range for axis " + std::to_string(axis) + " with extent " +
         std::to_string(extent);
}

Positions of_list(const Recorder& r, const Handle& base, const FoundIndices::Entry& e) {
  const int64_t n = base->shape[e.axis];
  std::vector<int64_t> list = e.index->computed->list;
  for (int64_t& i : list) {
    if (i < -n || i >= n) fail<IndexError>(r.name, out_of_range(i, e.axis, n), e.index->site);
    if (i < 0) i += n;
  }
  const Shape shape{static_cast<int64_t>(list.size())};
  if (list.empty()) return {r.filled(0, int64, shape, base), e.axis, 1, true};
  return {values(list.data(), int64, shape, base, r.site), e.axis, 1, true};
}

Positions of_mask(const Recorder& r, const Handle& base, const FoundIndices::Entry& e) {
  const Handle& mask = e.index->computed->tensor;
  (void)aligned_mask(r.name, base, mask, e.axis, e.index->site);
  const Handle flat = reshape(mask, {numel(mask->shape)}, e.index->site);
  const int64_t count = count_of(r.name, flat, e.index->site);
  return {positions_of(r.name, flat, count, e.index->site), e.axis, e.axes, true};
}

Positions of_tensor(const Recorder& r, const Handle& base, const FoundIndices::Entry& e) {
  const Handle& at = e.index->computed->tensor;
  if (!is_int(at->dtype))
    fail<DtypeError>(r.name,
                     std::string("an index is of integers, a mask of bool, not ") + name_of(at->dtype),
                     e.index->site);
  if (numel(at->shape) > 0) check_any(r.name, base->shape[e.axis], Bounds::check, e.index->site);
  if (at->op != Op::constant || at->dtype == uint64) return {at, e.axis, 1, false};
  const int64_t n = base->shape[e.axis], i = convert(at->scalar, at->dtype, int64).as<int64_t>();
  if (i < -n || i >= n) fail<IndexError>(r.name, out_of_range(i, e.axis, n), e.index->site);
  return {r.filled(i < 0 ? i + n : i, int64, at->shape, base), e.axis, 1, true};
}

Positions positions(const Recorder& r, const Handle& base, const FoundIndices::Entry& e) {
  if (e.index->kind == Index::Kind::list) return of_list(r, base, e);
  check_devices(r.name, {&base, &e.index->computed->tensor}, e.index->site);
  return is_bool(e.index->computed->tensor->dtype) ? of_mask(r, base, e) : of_tensor(r, base, e);
}

Handle from_start(const Recorder& r, const Positions& p, const Handle& base) {
  if (p.in_range || numel(p.at->shape) == 0) return r.as(int64, p.at);
  return counted_from_start(r.name, p.at, base->shape[p.axis], base, r.site);
}

/// Adds up what is known of the position along the merged axis.
struct Sum {
  const Recorder& r;
  Handle total;  // empty: nothing but the offset
  int64_t offset = 0;
  void add(const Handle& h, int64_t stride) {
    const Handle term = stride == 1 ? h : r.op(Op::multiply, h, stride);
    total = total ? r.op(Op::add, total, term) : term;
  }
};

/// Returns the position along the merged axis, of axes [first, last), for each element of `lookup`: the
/// indices' common shape `all`, then the axes between them that slices keep.
Handle merged_positions(const Recorder& r, const Handle& base, const std::vector<Positions>& parts,
                        const FoundIndices& found, const Region& region, int first, int last,
                        const Shape& all, const Shape& lookup) {
  const int more = lookup.size() - all.size();
  Sum sum{r, {}, 0};
  int64_t stride = 1;
  for (int a = first; a < last; ++a) stride *= base->shape[a];
  int kept = all.size();
  for (int a = first; a < last; ++a) {
    stride /= base->shape[a];  // not 0: something is selected
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const Positions& p) { return p.axis <= a && a < p.axis + p.axes; });
    if (part != parts.end()) {
      if (a == part->axis + part->axes - 1) sum.add(padded(part->at, 0, more, r.site), stride);
      continue;
    }
    if (found.kept >> a & 1) {
      Shape along(lookup.size(), 1);
      along[kept] = lookup[kept];
      sum.add(r.index(kept++, along, base), region.step[a] * stride);
    }
    sum.offset += region.start[a] * stride;
  }
  if (!sum.total) sum.total = r.filled(0, int64, {}, base);
  if (sum.offset != 0) sum.total = r.op(Op::add, sum.total, sum.offset);
  return r.broadcast(sum.total, lookup);
}

Shape with_merged(const Computed& c) {
  Shape s = c.outer;
  s.push_back(c.merged);
  for (int64_t n : c.inner) s.push_back(n);
  return s;
}

/// Returns the axes of what is read in the order that the result has.
Dims order_of(const Computed& c, int rank) {
  Dims order;
  for (int i = 0; i < c.moved; ++i) order.push_back(c.outer.size() + i);
  for (int i = 0; i < rank; ++i)
    if (i < c.outer.size() || i >= c.outer.size() + c.moved) order.push_back(i);
  return order;
}

}  // namespace

void add_computed(const char* op, const Handle& base, const FoundIndices& found, Region& region,
                  const Site& s) {
  const Recorder r{op, s};
  int first = base->shape.size(), last = 0;
  std::vector<Positions> parts;
  Shape all;
  for (const FoundIndices::Entry& e : found.entries) {
    first = std::min(first, e.axis);
    last = std::max(last, e.axis + e.axes);
    parts.push_back(positions(r, base, e));
    all = broadcast_shapes(op, all, parts.back().at->shape, s);
  }
  const auto too_many = [&](int rank) {
    if (rank > kMaxRank)
      r.fail<ShapeError>("the result has more than " + std::to_string(kMaxRank) + " dimensions");
  };
  too_many(all.size() + region.shape.size());
  auto c = std::make_shared<Computed>();
  Shape lookup = all;
  for (int a = 0; a < base->shape.size(); ++a) {
    if (a >= first && a < last) c->merged *= base->shape[a];
    if (!(found.kept >> a & 1)) continue;
    (a < first ? c->outer : a >= last ? c->inner : lookup).push_back(region.extent[a]);
  }
  const bool one = parts.size() == 1 && (parts[0].axes == last - first);
  if (numel(lookup) == 0) {
    c->index = r.filled(0, int64, lookup, base);
  } else if (one) {
    c->index = parts[0].at;
  } else {
    for (Positions& p : parts)
      p.at = from_start(r, p, base);  // in this order: the first at fault is reported
    c->index = merged_positions(r, base, parts, found, region, first, last, all, lookup);
  }
  const bool all_in_range = std::ranges::all_of(parts, [](const Positions& p) { return p.in_range; });
  c->bounds = one && !all_in_range ? Bounds::check : Bounds::clip;
  c->stores = all_in_range ? Bounds::clip : Bounds::check;
  for (int a = first; a < last; ++a) {
    region.start[a] = 0;
    region.step[a] = 1;
    region.extent[a] = base->shape[a];
  }
  const bool apart = found.state == FoundIndices::State::apart;
  c->moved = apart ? all.size() : 0;
  const Shape others = region.shape;
  const int place = apart ? 0 : found.place;
  region.shape = {};
  for (int i = 0; i <= others.size(); ++i) {
    for (int k = 0; i == place && k < all.size(); ++k) region.shape.push_back(all[k]);
    if (i < others.size()) region.shape.push_back(others[i]);
  }
  check_countable(op, region.shape, s);
  region.computed = std::move(c);
}

Handle read_computed(const char* op, const Handle& part, const Computed& c, const Site& s) {
  const Shape whole = with_merged(c);
  const Handle at = c.index->shape.empty() ? reshape(c.index, {1}, s) : c.index;
  const int before = c.outer.size(), axis = before + at->shape.size() - 1;
  Shape own = c.outer, shape = c.outer;
  for (int i = 1; i < at->shape.size(); ++i) own.push_back(1);
  for (int i = before; i < whole.size(); ++i) own.push_back(whole[i]);
  for (int64_t n : at->shape) shape.push_back(n);
  for (int64_t n : c.inner) shape.push_back(n);
  Shape wide = shape;
  wide[axis] = c.merged;
  const Handle from = broadcast(reshape(part, own, s), wide, s);
  const Handle index = broadcast(padded(at, before, c.inner.size(), s), shape, s);
  const Handle read = load_at(op, from, index, axis, c.bounds, s);
  return c.moved ? permute(read, order_of(c, shape.size()), s) : read;
}

Handle write_computed(const char* op, const Handle& part, const Computed& c, const Handle& value,
                      Combine combine, const Site& s) {
  const Shape whole = with_merged(c);
  const int before = c.outer.size();
  Shape shape = c.outer, stored = whole;
  for (int64_t n : c.index->shape) shape.push_back(n);
  for (int64_t n : c.inner) shape.push_back(n);
  const Dims order = order_of(c, shape.size());
  Shape permuted(shape.size(), 1);
  Dims back(shape.size(), 0);
  for (int i = 0; i < shape.size(); ++i) {
    permuted[i] = shape[static_cast<int>(order[i])];
    back[static_cast<int>(order[i])] = i;
  }
  stored[before] = numel(c.index->shape);
  const Handle values = reshape(permute(reshape(value, permuted, s), back, s), stored, s);
  const Handle flat = reshape(c.index, {stored[before]}, s);
  const Handle index = broadcast(padded(flat, before, c.inner.size(), s), stored, s);
  return store_at(op, reshape(part, whole, s), index, values, before, combine, c.stores, s);
}

}  // namespace lazy::detail
