#include "lazy/ops/joining.hpp"

#include <algorithm>

#include "jit/built_in/concat.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/memory_format.hpp"

namespace lazy {
namespace {

using detail::fail;
using jit::Handle;

DType common_dtype(const char* op, const std::vector<Tensor>& xs, const Site& s) {
  if (xs.empty()) fail<ShapeError>(op, "expected at least one tensor", s);
  for (const Tensor& x : xs)
    if (!x.defined()) detail::throw_empty(op, s);
  DType t = xs[0].dtype(s);
  for (const Tensor& x : xs) t = detail::promote(op, t, x.dtype(s), s);
  return t;
}

// Up to so many parts are computed and copied in place by separate kernels, which move memory faster than a
// call does; for more parts the program would grow too long.
constexpr size_t kMostUpdates = 64;

/// True if the parts are many, and at least half of them will be in memory anyway: one op copies all.
/// Otherwise the kernel that computes a part stores it into its place in the result.
bool copies_all(const std::vector<Handle>& parts) {
  if (parts.size() <= kMostUpdates || parts.size() > static_cast<size_t>(jit::kMostOperands)) return false;
  const auto computed = std::count_if(parts.begin(), parts.end(), [](const Handle& p) {
    const jit::Node* n = p.get();
    while (n->op == jit::Op::reshape && !n->ready()) n = n->operand[0];
    const jit::OpKind k = jit::kind_of(n->op);
    return !n->ready() && (k == jit::OpKind::pointwise || k == jit::OpKind::view ||
                           k == jit::OpKind::constant || k == jit::OpKind::iota);
  });
  return static_cast<size_t>(computed) * 2 <= parts.size();
}

Handle copied(const std::vector<Handle>& parts, int axis, const Site& s) {
  std::vector<const Handle*> operands;
  for (const Handle& p : parts)
    if (p->shape[axis] != 0) operands.push_back(&p);
  if (operands.size() < 2) return operands.empty() ? parts[0] : *operands[0];
  const jit::calls::ConcatAttributes attributes{static_cast<uint8_t>(axis)};
  return detail::record_call(jit::intern_call(jit::calls::kConcat, attributes), operands, s)[0];
}

/// Joins parts whose shapes are equal except along the axis.
Handle joined(const char* op, const std::vector<Handle>& parts, int axis, const Site& s) {
  Shape shape = parts[0]->shape;
  detail::Wide extent = 0;
  for (const Handle& p : parts) extent += p->shape[axis];
  shape[axis] = detail::narrow(op, "an extent of", extent, s);
  detail::check_countable(op, shape, s);
  if (copies_all(parts)) return copied(parts, axis, s);
  Handle all = detail::overwritten(parts[0]->dtype, shape, parts[0]->device, s);
  Dims start(shape.size(), 0);
  for (const Handle& p : parts) {
    if (p->shape[axis] == shape[axis]) return p;  // the other parts are empty
    if (numel(p->shape) > 0) all = detail::put_piece(op, all, p, start, s);
    start[axis] += p->shape[axis];
  }
  return all;
}

}  // namespace

Tensor concat(const std::vector<Tensor>& xs, IntegerArg axis, Site s) {
  const char* const op = "concat";
  const DType t = common_dtype(op, xs, s);
  const Shape first = xs[0].shape(s);
  if (first.size() == 0) fail<ShapeError>(op, "a 0-d tensor has no axis to join along: stack makes one", s);
  const int a = detail::normal_axis(op, axis, first.size(), s);
  std::vector<Handle> parts;
  for (const Tensor& x : xs) {
    const Arg arg(x, s);
    const Shape& shape = x.shape(s);
    bool good = shape.size() == first.size();
    for (int i = 0; good && i < shape.size(); ++i) good = i == a || shape[i] == first[i];
    if (!good)
      fail<ShapeError>(op,
                       "shapes " + to_string(first) + " and " + to_string(shape) +
                           " differ in more than axis " + std::to_string(a),
                       s);
    parts.push_back(detail::Operand(op, arg, t).take());
  }
  bool last = parts.size() > 1;
  for (const Handle& p : parts) last = last && p->channels_last;
  if (last) {
    for (Handle& p : parts) p = detail::seen_last(p, s);
    return Tensor(detail::seen_first(joined(op, parts, detail::axis_last(a, first.size()), s), s));
  }
  return detail::returned(joined(op, parts, a, s), Arg(xs[0], s));
}

Tensor concat(const std::vector<Tensor>& xs, NoneType, Site s) {
  std::vector<Tensor> flat;
  for (const Tensor& x : xs) {
    const detail::Operand h("concat", Arg(x, s));
    flat.push_back(detail::returned(detail::reshape(h, {numel(h->shape)}, s), Arg(x, s)));
  }
  return concat(flat, 0, s);
}

Tensor stack(const std::vector<Tensor>& xs, IntegerArg axis, Site s) {
  const char* const op = "stack";
  const DType t = common_dtype(op, xs, s);
  const Shape first = xs[0].shape(s);
  if (first.size() == kMaxRank)
    fail<ShapeError>(op, to_string(first) + " has the most dimensions possible", s);
  const int a = detail::normal_axis(op, axis, first.size() + 1, s);
  Shape shape;
  for (int i = 0; i <= first.size(); ++i) shape.push_back(i == a ? 1 : first[i - (i > a)]);
  std::vector<Handle> parts;
  for (const Tensor& x : xs) {
    const Arg arg(x, s);
    if (x.shape(s) != first)
      fail<ShapeError>(op, "shapes " + to_string(first) + " and " + to_string(x.shape(s)) + " differ", s);
    parts.push_back(detail::reshape(detail::Operand(op, arg, t), shape, s));
  }
  return Tensor(joined(op, parts, a, s));
}

}  // namespace lazy
