#include "lazy/linalg/matrices.hpp"

#include <algorithm>

#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/svd.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/ops/diagonals.hpp"

namespace lazy::detail {

Shape leading(const Shape& s, int count) {
  Shape r = s;
  r.resize(s.size() - count);
  return r;
}

Shape extended(const Shape& s, std::initializer_list<int64_t> axes) {
  Shape r = s;
  for (const int64_t a : axes) r.push_back(a);
  return r;
}

DType Matrices::real_type(std::initializer_list<const Arg*> args) const {
  const DType t = float_type(common_type(name, args));
  if (is_half(t)) fail<DtypeError>(std::string("float32 or float64 is needed, not ") + name_of(t));
  return t;
}

void Matrices::need_matrix(const Shape& s, bool square) const {
  if (s.size() >= 2 && (!square || s.back() == s[s.size() - 2])) return;
  fail<ShapeError>(std::string("a ") + (square ? "square " : "") +
                   "matrix, or a batch of them, is needed; the shape is " + to_string(s));
}

Handle Matrices::matrix(Arg& x, bool square) const {
  const DType t = real_type({&x});
  Handle h = Operand(name, x, t).take();
  need_matrix(h->shape, square);
  return h;
}

std::vector<Handle> Matrices::call(const jit::CallDefinition& d, uint32_t flags,
                                   std::initializer_list<const Handle*> operands) const {
  const jit::Purpose function(std::string_view(name) == d.name ? nullptr
                                                               : name);  // which errors of the call name
  return detail::record_call(jit::intern_call(d, jit::calls::MatrixAttributes{flags}),
                             std::span(operands.begin(), operands.size()), site);
}

Handle Matrices::identity(int64_t n, DType t, const Handle& like) const {
  return as(t, op(Op::equal, index(0, {n, n}, like), index(1, {n, n}, like)));
}

Handle Matrices::diagonal(const Handle& h) const { return lazy::diagonal(arg(h), 0, -2, -1).handle(); }

Handle Matrices::with_axes(const Handle& h, int count) const {
  Shape s = h->shape;
  for (int i = 0; i < count; ++i) s.push_back(1);
  return reshape(h, s);
}

Handle Matrices::over(const Shape& batch, const Handle& h, int kept) const {
  Shape s = batch;
  for (int i = h->shape.size() - kept; i < h->shape.size(); ++i) s.push_back(h->shape[i]);
  return broadcast(h, s);
}

namespace {

/// Joins two values along an axis that counts from the end.
Handle beside(const Recorder& r, const Handle& a, const Handle& b, int axis) {
  const int at = a->shape.size() + axis;
  Shape shape = a->shape;
  shape[at] += b->shape[at];
  Handle all = overwritten(a->dtype, shape, a->device, r.site);
  Dims start(shape.size(), 0);
  all = put_piece(r.name, all, a, start, r.site);
  start[at] = a->shape[at];
  return put_piece(r.name, all, b, start, r.site);
}

/// Solves a complex system as the real one of twice the size that it stands for: of A + iB
///
///   A -B   with right-hand sides  re
///   B  A                          im
Handle solved_by_parts(const Matrices& r, uint32_t flags, const Handle& a, const Handle& rows) {
  const Planes m = planes_of(a), b = planes_of(r.as(a->dtype, rows));
  const Handle above = beside(r, m.re, r.op(Op::negative, m.im), -1), below = beside(r, m.im, m.re, -1);
  const Handle x =
      r.solved(jit::calls::kSolve, flags, beside(r, above, below, -2), beside(r, b.re, b.im, -1));
  const int last = x->shape.size() - 1;
  const int64_t n = x->shape[last] / 2;
  return jit::complex(r.part(x, last, 0, n), r.part(x, last, n, n), r.site);
}

}  // namespace

Handle Matrices::solved(const jit::CallDefinition& d, uint32_t flags, const Handle& a,
                        const Handle& rows) const {
  if (is_complex(a->dtype) && &d == &jit::calls::kSolve) return solved_by_parts(*this, flags, a, rows);
  const int rank = rows->shape.size();
  if (a->shape.size() == 2 && rank > 2) {  // one matrix is factored once
    const Shape all = leading(rows->shape, 1);
    const Handle flat = reshape(rows, {numel(all), rows->shape.back()});
    return reshape(call(d, flags, {&a, &flat})[0], rows->shape);
  }
  const Shape batch = broadcast_shapes(name, leading(a->shape, 2), leading(rows->shape, 2), site);
  const Handle m = over(batch, a, 2), b = over(batch, rows, 2);
  return call(d, flags, {&m, &b})[0];
}

Thin thin_svd(const Matrices& r, const Handle& x) {
  std::vector<Handle> out = r.call(jit::calls::kSvd, 0, {&x});
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

Handle singular_values(const Matrices& r, const Handle& x) {
  return r.call(jit::calls::kSvd, jit::calls::kSingularValuesOnly, {&x})[0];
}

Thin symmetric_svd(const Matrices& r, const Handle& x, bool values_only) {
  const std::vector<Handle> out = r.call(jit::calls::kEigh, values_only ? jit::calls::kValuesOnly : 0, {&x});
  const Handle magnitudes = r.op(Op::abs, out[0]);
  if (values_only) return {Handle(), magnitudes, Handle()};
  const Handle signs = r.where(r.op(Op::less, out[0], 0), -1, r.filled(1, x->dtype, out[0]->shape, x));
  return {r.transposed(out[1]), magnitudes, r.op(Op::multiply, out[1], r.with_axes(signs, 1))};
}

Handle cutoff(const Matrices& r, const Handle& s, const Shape& matrix, std::optional<double> relative) {
  const int64_t side = std::max(matrix.back(), matrix[matrix.size() - 2]);
  const double factor = relative.value_or(static_cast<double>(side) * finfo(s->dtype).eps);
  return r.op(Op::multiply, r.reduce(Op::max, s, {-1}, keepdims), factor);
}

Handle reciprocals(const Matrices& r, const Handle& s, const Handle& cutoff) {
  return r.where(r.op(Op::greater, s, cutoff), r.op(Op::divide, 1, s), 0);
}

Handle inverse_or_infinite(const Matrices& r, const Handle& x) {
  const Handle rows = r.identity(x->shape.back(), x->dtype, x);
  return r.transposed(r.solved(jit::calls::kSolve, jit::calls::kInfinite, x, rows));
}

Handle inverse(const Matrices& r, const Handle& x) {
  const Handle rows = r.identity(x->shape.back(), x->dtype, x);
  return r.transposed(r.solved(jit::calls::kSolve, 0, x, rows));
}

}  // namespace lazy::detail
