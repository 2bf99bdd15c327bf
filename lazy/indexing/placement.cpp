#include "lazy/indexing/placement.hpp"

#include "lazy/core/scalar.hpp"
#include "lazy/indexing/computed.hpp"
#include "lazy/indexing/recording.hpp"

namespace lazy::detail {
namespace {

/// Clamps bounds to the axis, as Python's slice.indices() does.
void resolve(const char* op, const Slice& r, int64_t n, const Site& s, int64_t& start, int64_t& step,
             int64_t& extent) {
  step = r.step.given ? r.step.value : 1;
  if (step == 0) fail<IndexError>(op, "the step of a slice can't be 0", s);
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
  const auto clamp = [&](const SliceBound& b, int64_t open) {
    if (!b.given) return open;
    const int64_t v = b.value < 0 ? (b.value < -n ? lowest : b.value + n) : b.value;
    return v < lowest ? lowest : v > highest ? highest : v;
  };
  start = clamp(r.start, step < 0 ? highest : lowest);
  const int64_t stop = clamp(r.stop, step < 0 ? lowest : highest);
  const int64_t distance = step > 0 ? stop - start : start - stop;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  extent = distance > 0 ? static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1 : 0;
  if (extent <= 1) step = 1;  // the step is never taken: one form for all
  if (extent == 0) start = 0;
}

bool is_computed(const Index& i) { return i.kind == Index::Kind::tensor || i.kind == Index::Kind::list; }

/// Returns how many axes of the base an index stands for; an ellipsis counts as none.
int axes_of(const char* op, const Index& i) {
  switch (i.kind) {
    case Index::Kind::absent:
    case Index::Kind::ellipsis:
    case Index::Kind::newaxis: return 0;
    case Index::Kind::tensor:
      if (!i.computed->tensor) throw_empty(op, i.site);
      return is_bool(i.computed->tensor->dtype) ? i.computed->tensor->shape.size() : 1;
    default: return 1;
  }
}

class Placing {
 public:
  /// Fills the region, which is all of the base.
  Placing(const char* op, const Handle& base, const Site& site, Region& region)
      : op_(op), base_(base), site_(site), region_(region) {}

  void place(Indices indices) {
    count(indices);
    const Shape& base = base_->shape;
    for (const Index* i : indices) add(*i);
    whole(base.size() - axis_);
    if (computed_) add_computed(op_, base_, found_, region_, site_);
  }

 private:
  void count(Indices indices) {
    bool dots = false;
    for (const Index* i : indices) {
      if (i->kind == Index::Kind::ellipsis) {
        if (dots) fail<IndexError>(op_, "more than one ellipsis", site_);
        dots = true;
      }
      used_ += axes_of(op_, *i);
      computed_ = computed_ || is_computed(*i);
    }
    const int rank = base_->shape.size();
    if (used_ > rank)
      fail<IndexError>(op_,
                       std::to_string(used_) + " indices for " + std::to_string(rank) +
                           " dimensions of shape " + to_string(base_->shape),
                       site_);
  }

  void add(const Index& i) {
    using enum Index::Kind;
    if (i.kind == absent) return;
    const bool selects = i.kind == integer || is_computed(i);
    if (computed_) found_.note(selects, region_.shape.size());
    switch (i.kind) {
      case integer: add_integer(i); break;
      case slice:
        resolve(op_, i.range, base_->shape[axis_], i.site, region_.start[axis_], region_.step[axis_],
                region_.extent[axis_]);
        found_.kept |= 1u << axis_;
        append(region_.extent[axis_++]);
        break;
      case all: whole(1); break;
      case ellipsis: whole(base_->shape.size() - used_); break;
      case newaxis: append(1); break;
      default: found_.entries.push_back({&i, axis_, axes_of(op_, i)}); axis_ += found_.entries.back().axes;
    }
  }

  void add_integer(const Index& i) {
    const int64_t n = base_->shape[axis_], at = i.value < 0 ? i.value + n : i.value;
    if (at < 0 || at >= n)
      fail<IndexError>(op_,
                       std::to_string(i.value) + " is out of range for axis " + std::to_string(axis_) +
                           " with extent " + std::to_string(n) + " of " + to_string(base_->shape),
                       i.site);
    region_.start[axis_] = at;
    region_.extent[axis_++] = 1;
  }

  void append(int64_t extent) {
    if (region_.shape.size() == kMaxRank)
      fail<ShapeError>(op_, "the result has more than " + std::to_string(kMaxRank) + " dimensions", site_);
    region_.shape.push_back(extent);
  }
  void whole(int n) {
    for (; n > 0; --n) {
      found_.kept |= 1u << axis_;
      append(base_->shape[axis_++]);
    }
  }

  const char* op_;
  const Handle& base_;
  const Site& site_;
  int used_ = 0, axis_ = 0;
  bool computed_ = false;
  FoundIndices found_;
  Region& region_;
};

/// Replaces a strided region of the base by a value of its shape.
Handle replaced_region(const char* op, const Handle& base, Handle value, const Region& r, const Site& s) {
  // Regions are recorded with ascending steps: for a descending one the value is reversed.
  Dims start = r.start, step = r.step, value_start(start.size(), 0), value_step(start.size(), 1);
  bool everything = true;
  for (int i = 0; i < start.size(); ++i) {
    if (step[i] < 0) {
      start[i] += (r.extent[i] - 1) * step[i];
      step[i] = -step[i];
      value_start[i] = r.extent[i] - 1;
      value_step[i] = -1;
    }
    everything = everything && r.extent[i] == base->shape[i];
  }
  value = slice(value, value_start, value_step, r.extent, s);
  check_devices(op, {&base, &value}, s);
  return everything ? value : slice_update(op, base, value, start, step, s);
}

}  // namespace

Handle fitting_value(const char* op, const Arg& v, const Handle& base, const Shape& selected) {
  Handle value = stored_as(op, v, base->dtype);
  // NumPy drops leading axes of extent 1.
  Shape trimmed;
  const int extra = value->shape.size() - selected.size();
  for (int i = 0; i < value->shape.size(); ++i)
    if (i >= extra || value->shape[i] != 1) trimmed.push_back(value->shape[i]);
  bool good = trimmed.size() <= selected.size();
  for (int i = 1; good && i <= trimmed.size(); ++i) {
    const int64_t n = trimmed[trimmed.size() - i];
    good = n == 1 || n == selected[selected.size() - i];
  }
  if (!good)
    fail<ShapeError>(op,
                     "a value of shape " + to_string(value->shape) + " does not broadcast to the selected " +
                         to_string(selected),
                     v.site());
  return broadcast(reshape(value, trimmed, v.site()), selected, v.site());
}

Region place(const char* op, const Handle& base, Indices indices, const Site& s) {
  const int rank = base->shape.size();
  Region region{Dims(rank, 0), Dims(rank, 1), base->shape, {}, {}};
  Placing(op, base, s, region).place(indices);
  return region;
}

Handle read_region(const char* op, const Handle& base, const Region& r, const Site& s) {
  const Handle part = slice(base, r.start, r.step, r.extent, s);
  return reshape(r.computed ? read_computed(op, part, *r.computed, s) : part, r.shape, s);
}

Handle written_region(const char* op, const Handle& base, const Region& r, const Arg& v, Combine combine) {
  const Site& s = v.site();
  check_combines(op, base, combine, s);
  Handle value = fitting_value(op, v, base, r.shape);
  if (numel(r.shape) == 0) return base;
  if (r.computed) {
    const Handle part = slice(base, r.start, r.step, r.extent, s);
    value = write_computed(op, part, *r.computed, value, combine, s);
  } else if (combine != Combine::set) {
    const Handle part = reshape(slice(base, r.start, r.step, r.extent, s), r.shape, s);
    value = binary(op, jit::combining_op(combine), part, value, s);
  }
  return replaced_region(op, base, reshape(value, r.extent, s), r, s);
}

Handle aligned_mask(const char* op, const Handle& base, const Handle& mask, int axis, const Site& s) {
  if (!is_bool(mask->dtype))
    fail<DtypeError>(op, std::string("an index is of integers, a mask of bool, not ") + name_of(mask->dtype),
                     s);
  const Shape& shape = mask->shape;
  bool good = axis + shape.size() <= base->shape.size();
  for (int i = 0; good && i < shape.size(); ++i) good = shape[i] == base->shape[axis + i];
  if (!good)
    fail<ShapeError>(
        op,
        "a mask of shape " + to_string(shape) + " does not match the " +
            (axis == 0 ? "leading dimensions" : "dimensions from " + std::to_string(axis) + " on") + " of " +
            to_string(base->shape),
        s);
  return padded(mask, 0, base->shape.size() - axis - shape.size(), s);
}

}  // namespace lazy::detail
