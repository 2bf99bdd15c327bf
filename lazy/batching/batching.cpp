#include "lazy/batching/batching.hpp"

#include <algorithm>

#include "jit/built_in/list.hpp"
#include "jit/graph/planes.hpp"
#include "lazy/batching/larger_batch.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/samples.hpp"

namespace lazy::detail {
namespace {

using jit::Attributes;

/// Returns a list with a number put before it.
template <class List>
List behind(int64_t first, const List& rest) {
  List r;
  r.push_back(first);
  for (const int64_t n : rest) r.push_back(n);
  return r;
}
/// Returns axes of a sample as those of its batch: the first of them, or all.
Dims past_samples(Dims axes, bool all) {
  for (int i = 0; i < axes.size(); ++i)
    if (all || i == 0) ++axes[i];
  return axes;
}

Handle record_like(Op op, const std::vector<Handle>& o, DType t, const Shape& shape, const Site& s,
                   const Attributes& attributes) {
  switch (o.size()) {
    case 1: return detail::record(op, {&o[0]}, t, shape, s, attributes);
    case 2: return detail::record(op, {&o[0], &o[1]}, t, shape, s, attributes);
    default: return detail::record(op, {&o[0], &o[1], &o[2]}, t, shape, s, attributes);
  }
}

/// Returns how many operands of a call, the first ones, have axes before those that it works on, as its
/// outputs have then; 0 if it takes none such.
size_t operands_with_leading_axes(const jit::CallDefinition& d, size_t operands) {
  namespace c = jit::calls;
  const jit::CallDefinition* const all[] = {
      &c::kSort, &c::kCholesky,   &c::kLu,     &c::kLuSolve, &c::kSolve,     &c::kSolveTriangular,
      &c::kQr,   &c::kEigh,       &c::kSvd,    &c::kEig,     &c::kMatrixExp, &c::kGcd,
      &c::kFft,  &c::kFftColumns, &c::kRealFft};
  if (&d == &c::kInverseRealFft) return 2;  // planes; the length is that of the third
  return std::find(std::begin(all), std::end(all), &d) != std::end(all) ? operands : 0;
}

}  // namespace

Handle Batching::sample(const Handle& batch) {
  if (is_complex(batch->dtype))
    return complex(sample(jit::real_plane(batch)), sample(jit::imaginary_plane(batch)), site_);
  const int64_t n = batch->shape[0];
  if (size_ >= 0 && n != size_)
    fail<ShapeError>(
        "vmap", "arguments have " + std::to_string(size_) + " and " + std::to_string(n) + " samples", site_);
  size_ = n;
  Shape shape;
  for (int i = 1; i < batch->shape.size(); ++i) shape.push_back(batch->shape[i]);
  Handle h = sample_of(batch->dtype, shape, batch->device, site_);
  keep(h, batch);
  return h;
}

Handle Batching::batch(const Handle& sample) {
  if (is_complex(sample->dtype))
    return complex(batch(jit::real_plane(sample)), batch(jit::imaginary_plane(sample)), site_);
  return whole(sample, site_);
}

void Batching::keep(const Handle& sample, Handle batch) {
  samples_.push_back(sample);
  batches_.insert_or_assign(sample.get(), std::move(batch));
}

const Handle* Batching::find(const Handle& sample) const {
  const auto at = batches_.find(sample.get());
  return at == batches_.end() ? nullptr : &at->second;
}
bool Batching::any(std::span<const Handle* const> operands) const {
  return std::any_of(operands.begin(), operands.end(), [&](const Handle* h) { return find(*h) != nullptr; });
}

Shape Batching::shape_of(const Shape& sample) const { return behind(size_, sample); }

Handle Batching::aligned(const Handle& h, int axes, const Site& s) const {
  const Handle* const batch = find(h);
  if (!batch) return h;
  Shape shape{size_};
  for (int i = h->shape.size(); i < axes; ++i) shape.push_back(1);
  for (const int64_t n : h->shape) shape.push_back(n);
  return detail::reshape(*batch, shape, s);
}

Handle Batching::whole(const Handle& h, const Site& s) const {
  if (const Handle* const batch = find(h)) return *batch;
  return detail::broadcast(h, shape_of(h->shape), s);
}

void Batching::recorded(const Recorded& r) {
  if (any(r.operands)) keep(r.result, apply(r));
}

/// Records an op on batches.
Handle Batching::apply(const Recorded& r) const {
  const DType t = r.result->dtype;
  const Shape shape = shape_of(r.result->shape);
  const int axes = r.result->shape.size();
  Attributes a = r.attributes;
  std::vector<Handle> operands;
  switch (jit::kind_of(r.op)) {
    case jit::OpKind::pointwise:
      for (const Handle* h : r.operands) operands.push_back(aligned(*h, axes, r.site));
      return record_like(r.op, operands, t, shape, r.site, a);
    case jit::OpKind::contract: return multiply(r);
    case jit::OpKind::view:
      if (r.op == Op::reshape) return detail::reshape(*find(*r.operands[0]), shape, r.site);
      if (r.op == Op::broadcast)
        return detail::broadcast(aligned(*r.operands[0], axes, r.site), shape, r.site);
      if (r.op == Op::permute) a.axes = behind(0, past_samples(a.axes, true));
      if (r.op == Op::slice) a.ints = behind(0, a.ints), a.steps = behind(1, a.steps);
      if (r.op == Op::window) a.axes = past_samples(a.axes, true);
      break;
    case jit::OpKind::update:
      if (r.op == Op::slice_update)
        // It is not known where a batch of the base has nothing.
        a = Attributes::slice_update(behind(0, a.ints), behind(1, a.steps));
      else a.axes = past_samples(a.axes, false);
      break;
    default: a.axes = past_samples(a.axes, false);
  }
  for (const Handle* h : r.operands) operands.push_back(whole(*h, r.site));
  return record_like(r.op, operands, t, shape, r.site, a);
}

/// Records a product of batches. Rows of samples by one matrix for all of them are rows of one product.
Handle Batching::multiply(const Recorded& r) const {
  const Handle &x = *r.operands[0], &y = *r.operands[1];
  const Shape& sample = r.result->shape;
  const DType t = r.result->dtype;
  if (!find(y) && y->shape.size() == 2) {
    const int64_t k = x->shape.back(), rows = size_ * (numel(sample) / std::max<int64_t>(sample.back(), 1));
    const Handle flat = detail::reshape(*find(x), {rows, k}, r.site);
    const Handle product =
        detail::record(Op::matmul, {&flat, &y}, t, {rows, sample.back()}, r.site, r.attributes);
    return detail::reshape(product, shape_of(sample), r.site);
  }
  const Handle a = aligned(x, sample.size(), r.site), b = aligned(y, sample.size(), r.site);
  return detail::record(Op::matmul, {&a, &b}, t, shape_of(sample), r.site, r.attributes);
}

bool Batching::wants_ops(const jit::CallSpec& spec, std::span<const Handle* const> operands) {
  return spec.definition().expand && any(operands) && !stays_whole(spec, *operands[0]);
}

void Batching::recorded_call(const RecordedCall& r) {
  if (!any(r.operands)) return;
  std::vector<Handle> outputs = call(r);
  for (size_t i = 0; i < outputs.size(); ++i) keep(r.outputs[i], std::move(outputs[i]));
}

/// Records a call on batches: one where it takes them, or samples are a larger batch, else one for each
/// sample.
std::vector<Handle> Batching::call(const RecordedCall& r) const {
  const jit::CallDefinition& d = r.spec.definition();
  if (d.runs_once())
    fail<Error>(r.spec.name(), "is done once, not for each sample: it cannot be in vmap", r.site);
  std::vector<Handle> batches;
  for (const Handle* h : r.operands) {
    const Handle* const batch = find(*h);
    batches.push_back(batch ? *batch : Handle());
  }
  if (std::vector<Handle> outputs = as_larger_batch(r, batches, size_); !outputs.empty()) return outputs;
  const size_t leading = operands_with_leading_axes(d, r.operands.size());
  std::vector<Handle> all;
  for (size_t i = 0; i < r.operands.size(); ++i)
    all.push_back(leading == 0 || i < leading ? whole(*r.operands[i], r.site) : *r.operands[i]);
  const auto pointers = [](const std::vector<Handle>& handles) {
    std::vector<const Handle*> p;
    for (const Handle& h : handles) p.push_back(&h);
    return p;
  };
  if (leading > 0) return detail::record_call(r.spec, pointers(all), r.site);
  std::vector<Handle> outputs;
  for (const Handle& h : r.outputs)
    outputs.push_back(overwritten(h->dtype, shape_of(h->shape), h->device, r.site));
  for (int64_t i = 0; i < size_; ++i) {
    std::vector<Handle> one;
    for (const Handle& h : all) {
      Shape shape = h->shape;
      shape[0] = 1;
      const Handle row =
          detail::slice(h, behind(i, Dims(h->shape.size() - 1, 0)), Dims(h->shape.size(), 1), shape, r.site);
      Shape sample;
      for (int axis = 1; axis < shape.size(); ++axis) sample.push_back(shape[axis]);
      one.push_back(detail::reshape(row, sample, r.site));
    }
    const std::vector<Handle> made = detail::record_call(r.spec, pointers(one), r.site);
    for (size_t o = 0; o < made.size(); ++o)
      outputs[o] = put_piece("vmap", outputs[o], detail::reshape(made[o], behind(1, made[o]->shape), r.site),
                             behind(i, Dims(made[o]->shape.size(), 0)), r.site);
  }
  return outputs;
}

void Batching::transferred(const Handle& from, const Handle& to, const Site& s) {
  if (const Handle* const batch = find(from)) keep(to, detail::transfer(*batch, to->device, s));
}

}  // namespace lazy::detail
