#include "lazy/indexing/indexing.hpp"

#include <array>
#include <cstring>

#include "lazy/core/build.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Describes what an index selects: a strided region of the base, and the shape that the result then has.
struct Region {
  Dims start, step;
  Shape extent;  // by axis of the base
  Shape shape;   // without the integers' axes, with the new ones
};

using Indices = std::array<const Index*, kMaxIndices>;

/// Clamps bounds to the axis, as Python's slice.indices() does.
void resolve(const Slice& r, int64_t n, const Site& s, int64_t& start, int64_t& step, int64_t& extent) {
  step = r.step.given ? r.step.value : 1;
  if (step == 0) fail<IndexError>("index", "the step of a slice can't be 0", s);
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
  const auto clamp = [&](const Bound& b, int64_t open) {
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

Region select(const Shape& base, const Indices& indices) {
  const Site& site = indices[0]->site;
  int used = 0, count = 0;
  bool dots = false;
  for (; count < kMaxIndices && indices[static_cast<size_t>(count)]->kind != Index::Kind::absent; ++count) {
    const Index::Kind k = indices[static_cast<size_t>(count)]->kind;
    if (k == Index::Kind::ellipsis) {
      if (dots) fail<IndexError>("index", "more than one ellipsis", site);
      dots = true;
    } else if (k != Index::Kind::newaxis) {
      ++used;
    }
  }
  const int rank = base.size();
  if (used > rank)
    fail<IndexError>("index",
                     std::to_string(used) + " indices for " + std::to_string(rank) + " dimensions of shape " +
                         to_string(base),
                     site);

  Region r{Dims(rank, 0), Dims(rank, 1), base, {}};
  int axis = 0;
  const auto append = [&](int64_t extent) {
    if (r.shape.size() == kMaxRank)
      fail<ShapeError>("index", "the result has more than " + std::to_string(kMaxRank) + " dimensions", site);
    r.shape.push_back(extent);
  };
  const auto whole = [&](int n) {
    for (; n > 0; --n) append(base[axis++]);
  };
  for (int i = 0; i < count; ++i) {
    const Index& index = *indices[static_cast<size_t>(i)];
    switch (index.kind) {
      case Index::Kind::integer: {
        const int64_t n = base[axis], at = index.value < 0 ? index.value + n : index.value;
        if (at < 0 || at >= n)
          fail<IndexError>("index",
                           std::to_string(index.value) + " is out of range for axis " + std::to_string(axis) +
                               " with extent " + std::to_string(n),
                           index.site);
        r.start[axis] = at;
        r.extent[axis++] = 1;
        break;
      }
      case Index::Kind::slice:
        resolve(index.range, base[axis], index.site, r.start[axis], r.step[axis], r.extent[axis]);
        append(r.extent[axis++]);
        break;
      case Index::Kind::all: whole(1); break;
      case Index::Kind::ellipsis: whole(rank - used); break;
      case Index::Kind::newaxis: append(1); break;
      case Index::Kind::absent: break;
    }
  }
  whole(rank - axis);
  return r;
}

Handle read_region(const Handle& h, const Region& r, const Site& s) {
  return detail::reshape(detail::slice(h, r.start, r.step, r.extent, s), r.shape, s);
}

/// Checks that the mask covers the leading axes of `x`; returns it with an axis of extent 1 for each of the
/// others.
Handle aligned_mask(const Handle& x, const Handle& mask, const Site& s) {
  if (!is_bool(mask->dtype))
    fail<DtypeError>(
        "index",
        std::string("a mask is of bool, not ") + name_of(mask->dtype) +
            ": compare with something. A tensor of positions is no index yet: x(i) takes one at a "
            "time, matmul(astype(expand_dims(i, 1) == arange(x.size(0)), x.dtype()), x) takes rows",
        s);
  Shape shape = mask->shape;
  bool good = shape.size() <= x->shape.size();
  for (int i = 0; good && i < shape.size(); ++i) good = shape[i] == x->shape[i];
  if (!good)
    fail<ShapeError>("index",
                     "a mask of shape " + to_string(mask->shape) +
                         " does not match the leading dimensions of " + to_string(x->shape),
                     s);
  while (shape.size() < x->shape.size()) shape.push_back(1);
  return detail::reshape(mask, shape, s);
}

/// Copies the selected elements, on the host: their number is not known before the mask is read.
Handle compress(const Handle& x, const Handle& mask, const Site& s) {
  (void)aligned_mask(x, mask, s);
  const Handle* both[] = {&x, &mask};
  jit::evaluate(both, jit::Cause::data, s);
  jit::BufferRef keep_mask, keep_x;
  const bool* chosen = static_cast<const bool*>(jit::contiguous_data(mask, jit::Cause::data, s, keep_mask));
  const char* from = static_cast<const char*>(jit::contiguous_data(x, jit::Cause::data, s, keep_x));
  const int64_t n = numel(mask->shape);
  Shape shape{0};
  for (int i = mask->shape.size(); i < x->shape.size(); ++i) shape.push_back(x->shape[i]);
  size_t row = size_of(x->dtype);
  for (int i = 1; i < shape.size(); ++i) row *= static_cast<size_t>(shape[i]);
  for (int64_t i = 0; i < n; ++i) shape[0] += chosen[i];
  std::vector<char> out(static_cast<size_t>(shape[0]) * row);
  char* to = out.data();
  for (int64_t i = 0; i < n && row; ++i) {
    if (!chosen[i]) continue;
    std::memcpy(to, from + static_cast<size_t>(i) * row, row);
    to += row;
  }
  return values(out.data(), x->dtype, shape, x, s);
}

}  // namespace

void Index::throw_above(uint64_t i, const Site& s) {
  fail<IndexError>("index", std::to_string(i) + " is out of range for any axis", s);
}

// Reading

View Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, Index h, Index i,
                        Index j) & {
  const Region r = select(node("index", a.site).shape, {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j});
  return View(*this, read_region(handle_, r, a.site), r.start, r.step, r.extent, a.site);
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, Index h, Index i,
                          Index j) const& {
  const Region r = select(node("index", a.site).shape, {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j});
  return Tensor(read_region(handle_, r, a.site));
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, Index h, Index i,
                          Index j) && {
  return std::as_const(*this)(a, b, c, d, e, f, g, h, i, j);
}
MaskedView Tensor::operator()(const Tensor& mask, Site s) & { return MaskedView(*this, mask, s); }
Tensor Tensor::operator()(const Tensor& mask, Site s) const& {
  (void)node("index", s);
  (void)mask.node("index", s);
  return Tensor(compress(handle_, mask.handle_, s));
}
Tensor Tensor::operator()(const Tensor& mask, Site s) && { return std::as_const(*this)(mask, s); }

Arg::Arg(const MaskedView& v, Site site) : owned_(v.read(site).handle()), is_tensor_(true), site_(site) {}

// Writing a region

void View::write(const char* op, const Arg& v) {
  const Handle& base = base_->handle_;
  Handle value = stored_as(op, v, base->dtype);
  const Shape& selected = handle()->shape;
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
  const Site& s = v.site();
  if (!good)
    fail<ShapeError>(op,
                     "a value of shape " + to_string(value->shape) + " does not broadcast to the selected " +
                         to_string(selected),
                     s);
  value = detail::reshape(detail::broadcast(detail::reshape(value, trimmed, s), selected, s), extent_, s);
  if (numel(extent_) == 0) return;

  // Regions are recorded with ascending steps: for a descending one the value is reversed.
  Dims start = start_, step = step_, value_start(start_.size(), 0), value_step(start_.size(), 1);
  bool everything = true;
  for (int i = 0; i < start.size(); ++i) {
    if (step[i] < 0) {
      start[i] += (extent_[i] - 1) * step[i];
      step[i] = -step[i];
      value_start[i] = extent_[i] - 1;
      value_step[i] = -1;
    }
    everything = everything && extent_[i] == base->shape[i];
  }
  value = detail::slice(value, value_start, value_step, extent_, s);
  check_devices(op, {&base, &value}, s);
  base_->rebind(everything ? value : slice_update(op, base, value, start, step, s));
}

template <class F>
View& View::update(F op, const Arg& v) {
  const Tensor r = op(Arg(handle(), v.site()), v);
  write("assign", Arg(r.handle(), v.site()));
  return *this;
}

View& View::operator=(const View& v) && {
  write("assign", Arg(v.handle(), v.site_));
  return *this;
}
View& View::operator=(Arg v) && {
  write("assign", v);
  return *this;
}
View& View::operator+=(Arg v) && { return update(add, v); }
View& View::operator-=(Arg v) && { return update(subtract, v); }
View& View::operator*=(Arg v) && { return update(multiply, v); }
View& View::operator/=(Arg v) && { return update(divide, v); }
View& View::operator%=(Arg v) && { return update(remainder, v); }
View& View::operator&=(Arg v) && { return update(bitwise_and, v); }
View& View::operator|=(Arg v) && { return update(bitwise_or, v); }
View& View::operator^=(Arg v) && { return update(bitwise_xor, v); }
View& View::operator<<=(Arg v) && { return update(bitwise_left_shift, v); }
View& View::operator>>=(Arg v) && { return update(bitwise_right_shift, v); }

// Writing through a mask

MaskedView::MaskedView(Tensor& base, const Tensor& mask, const Site& site)
    : base_(&base), value_(base), mask_(mask), site_(site) {
  (void)base.node("index", site);
  (void)mask.node("index", site);
  (void)aligned_mask(base.handle(), mask.handle(), site);
}

Tensor MaskedView::read(const Site& s) const { return Tensor(compress(value_.handle(), mask_.handle(), s)); }

/// Returns the value in a form that fits every selected element: it may broadcast to the axes that the mask
/// does not cover, no further.
Arg MaskedView::fitting(const char* op, const Arg& v) const {
  if (!v.is_tensor()) return v;
  const Operand value(op, v);
  const Shape &shape = value->shape, &base = value_.handle()->shape;
  const int rest = base.size() - mask_.handle()->shape.size();
  if (numel(shape) == 1 && shape.size() > rest) return Arg(detail::reshape(value, {}, v.site()), v.site());
  bool good = shape.size() <= rest;
  for (int i = 1; good && i <= shape.size(); ++i)
    good = shape[shape.size() - i] == 1 || shape[shape.size() - i] == base[base.size() - i];
  if (!good)
    fail<ShapeError>(op,
                     "a value of shape " + to_string(shape) +
                         " does not fit each element that a mask selects from " + to_string(base) +
                         ": where(mask, value, x) takes one per element",
                     v.site());
  return v;
}

void MaskedView::write(const char* op, const Arg& v) {
  const Handle& base = value_.handle();
  base_->rebind(detail::where(op, aligned_mask(base, mask_.handle(), v.site()), stored_as(op, v, base->dtype),
                              base, v.site()));
}

template <class F>
MaskedView& MaskedView::update(F op, const Arg& v) {
  const Tensor r = op(Arg(value_.handle(), v.site()), fitting("assign", v));
  write("assign", Arg(r.handle(), v.site()));
  return *this;
}

MaskedView& MaskedView::operator=(const MaskedView& v) && {
  write("assign", fitting("assign", Arg(v.read(v.site_).handle(), v.site_)));
  return *this;
}
MaskedView& MaskedView::operator=(Arg v) && {
  write("assign", fitting("assign", v));
  return *this;
}
MaskedView& MaskedView::operator+=(Arg v) && { return update(add, v); }
MaskedView& MaskedView::operator-=(Arg v) && { return update(subtract, v); }
MaskedView& MaskedView::operator*=(Arg v) && { return update(multiply, v); }
MaskedView& MaskedView::operator/=(Arg v) && { return update(divide, v); }
MaskedView& MaskedView::operator%=(Arg v) && { return update(remainder, v); }
MaskedView& MaskedView::operator&=(Arg v) && { return update(bitwise_and, v); }
MaskedView& MaskedView::operator|=(Arg v) && { return update(bitwise_or, v); }
MaskedView& MaskedView::operator^=(Arg v) && { return update(bitwise_xor, v); }
MaskedView& MaskedView::operator<<=(Arg v) && { return update(bitwise_left_shift, v); }
MaskedView& MaskedView::operator>>=(Arg v) && { return update(bitwise_right_shift, v); }

}  // namespace lazy
