#include "lazy/indexing/recording.hpp"

#include "jit/built_in/compress.hpp"
#include "jit/core/rules.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {
namespace {

/// Returns what an error of a load or store calls the function: as the composite around it says, if there is
/// one, for it is the composite that the user called.
const char* called(const char* op) {
  const char* const whole = jit::Purpose::current();
  return whole ? whole : op;
}

}  // namespace

Handle index_of(const char* op, Arg& index) {
  Handle h = Operand(op, index).take();
  if (!is_int(h->dtype))
    fail<DtypeError>(op, std::string("an index is of integers, not ") + name_of(h->dtype), index.site());
  return h;
}

void check_any(const char* op, int64_t extent, Bounds bounds, const Site& s) {
  if (extent == 0 && bounds != Bounds::mask)
    fail<IndexError>(op, "no index is in range for an axis of 0 elements", s);
}

Handle load_at(const char* op, const Handle& x, const Handle& index, int axis, Bounds bounds, const Site& s) {
  check_devices(op, {&x, &index}, s);
  const bool nothing = numel(index->shape) == 0;
  if (!nothing) check_any(op, x->shape[axis], bounds, s);
  if (nothing || x->shape[axis] == 0) return constant(0, x->dtype, index->shape, x, s);
  const jit::Purpose purpose(called(op));
  return detail::record(Op::gather, {&x, &index}, x->dtype, index->shape, s,
                        jit::Attributes::gather(axis, bounds));
}

void check_combines(const char* op, const Handle& x, Combine combine, const Site& s) {
  const Op by = jit::combining_op(combine);
  if (by != Op::cast && !jit::loop::accepts(by, compute_type(x->dtype)))
    fail<DtypeError>(op, std::string(name_of(x->dtype)) + " does not combine by " + jit::name_of(by), s);
}

Handle store_at(const char* op, const Handle& x, const Handle& index, const Handle& values, int axis,
                Combine combine, Bounds bounds, const Site& s) {
  check_combines(op, x, combine, s);
  check_devices(op, {&x, &index, &values}, s);
  if (numel(index->shape) == 0) return x;
  check_any(op, x->shape[axis], bounds, s);
  if (x->shape[axis] == 0) return x;
  const jit::Purpose purpose(called(op));
  return detail::record(Op::scatter, {&x, &index, &values}, x->dtype, x->shape, s,
                        jit::Attributes::scatter(axis, bounds, combine));
}

Handle padded(const Handle& h, int before, int after, const Site& s) {
  Shape shape(before, 1);
  for (int64_t d : h->shape) shape.push_back(d);
  for (int i = 0; i < after; ++i) shape.push_back(1);
  return reshape(h, shape, s);
}

Handle counted_from_start(const char* op, const Handle& positions, int64_t extent, const Handle& like,
                          const Site& s, Bounds bounds) {
  const Recorder r{op, s};
  if (numel(positions->shape) == 0) return r.as(int64, positions);
  const Handle at = positions->shape.empty() ? r.reshape(positions, {1}) : positions;
  Handle start = r.as(int64, at);
  if (bounds == Bounds::check && !is_unsigned_int(at->dtype))
    start = r.where(r.op(Op::less, start, 0), r.op(Op::add, start, extent), start);
  // A load checks them, from one 0 that stands for each element of the axis without memory for it.
  const int64_t zero = 0;
  const int last = at->shape.size() - 1;
  Shape axis = at->shape;
  axis[last] = extent;
  const Handle one = values(&zero, int64, Shape(axis.size(), 1), like, s);
  const Handle checked = load_at(op, r.broadcast(one, axis), at, last, bounds, s);
  return r.reshape(r.op(Op::add, start, checked), positions->shape);
}

// A load from an axis of one element by the opposite of the condition, a bool: if that is true, it is out of
// range, of which jit/flush/faults.cpp says `otherwise`. It costs a compare and a test where it is used.
Handle zeros_if(const char* otherwise, DType t, const Handle& condition, const Site& s) {
  const Recorder r{otherwise, s};
  if (numel(condition->shape) == 0) return r.filled(0, t, condition->shape, condition);
  const Handle is_bad = r.opposite(condition->shape.empty() ? r.reshape(condition, {1}) : condition);
  const uint64_t zero = 0;
  Shape one = is_bad->shape;
  one[one.size() - 1] = 1;
  const Handle from = r.broadcast(values(&zero, t, Shape(one.size(), 1), condition, s), one);
  const jit::Purpose purpose(otherwise);
  const Handle zeros = detail::record(Op::gather, {&from, &is_bad}, t, is_bad->shape, s,
                                      jit::Attributes::gather(one.size() - 1, Bounds::strict));
  return r.reshape(zeros, condition->shape);
}

int64_t count_of(const char* op, const Handle& mask, const Site& s) {
  if (numel(mask->shape) == 0) return 0;
  const jit::Purpose purpose(called(op));
  const Handle sum = reduce(op, Op::sum, cast(mask, int64, s), {}, dropdims, s);
  jit::BufferRef keep;
  int64_t count = 0;
  std::memcpy(&count, jit::contiguous_data(sum, jit::Cause::count, s, keep), sizeof count);
  return count;
}

namespace {

Handle compress(const char* op, const Handle& mask, int64_t count, const Handle* rows, const Site& s) {
  const jit::Purpose purpose(called(op));
  // It has no elements: its shape tells the call how many rows it makes.
  const Handle counted = constant(0, bool_, {count, 0}, mask, s);
  const Handle* operands[] = {&mask, &counted, rows};
  return detail::record_call(jit::intern_call(jit::calls::kCompress, std::string_view()),
                             std::span(operands, rows ? 3 : 2), s)[0];
}

}  // namespace

Handle selected_rows(const char* op, const Handle& x, const Handle& mask, int64_t count, const Site& s) {
  check_devices(op, {&x, &mask}, s);
  Shape shape = x->shape;
  shape[0] = count;
  if (numel(shape) == 0) return constant(0, x->dtype, shape, x, s);
  return compress(op, mask, count, &x, s);
}

Handle positions_of(const char* op, const Handle& mask, int64_t count, const Site& s) {
  if (count == 0) return constant(0, int64, {0}, mask, s);
  return compress(op, mask, count, nullptr, s);
}

}  // namespace lazy::detail
