#include "lazy/linalg/matrices.hpp"

#include <algorithm>

#include "jit/built_in/linalg/eig.hpp"
#include "jit/built_in/linalg/eigh.hpp"
#include "jit/built_in/linalg/lu.hpp"
#include "jit/built_in/linalg/planes.hpp"
#include "jit/built_in/linalg/svd.hpp"
#include "lazy/core/operands.hpp"
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

DType Matrices::wide_type(std::initializer_list<const Arg*> args) const {
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
  const DType t = wide_type({&x});
  Handle h = Operand(name, x, t).take();
  need_matrix(h->shape, square);
  return h;
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

std::vector<Handle> planes_of_all(std::span<const Handle* const> operands, const Site& s) {
  std::vector<Handle> planes;
  for (const Handle* h : operands) {
    planes.push_back(real_part(*h));
    if (is_float(planes.back()->dtype)) planes.push_back(imaginary_part(*h, s));
  }
  return planes;
}

bool any_complex(std::span<const Handle* const> operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Handle* h) { return is_complex((*h)->dtype); });
}

/// Returns the derivative of one plane of a function of complex numbers by all planes of its operands.
Derivative of_plane(const Derivative& whole, int which) {
  return [whole, which](const Differentiated& d) {
    std::vector<Handle> operands;
    uint64_t wanted = 0;
    for (size_t i = 0; i < d.operands.size(); i += 2) {
      operands.push_back(jit::complex(d.operands[i], d.operands[i + 1], d.site));
      if (d.wants(i) || d.wants(i + 1)) wanted |= uint64_t{1} << (i / 2);
    }
    const Handle none = no_imaginary_part(d.gradient, d.site);
    const Handle g =
        which == 0 ? jit::complex(d.gradient, none, d.site) : jit::complex(none, d.gradient, d.site);
    std::vector<Handle> planes;
    for (const Handle& h : whole({operands, Handle(), g, wanted, d.again, d.site}))
      for (const bool real : {true, false})
        planes.push_back(!h ? Handle() : real ? real_part(h) : imaginary_part(h, d.site));
    return planes;
  };
}

}  // namespace

std::vector<Handle> Matrices::call(const jit::CallDefinition& d, uint32_t flags,
                                   std::initializer_list<const Handle*> operands) const {
  const jit::Purpose function(std::string_view(name) == d.name ? nullptr
                                                               : name);  // which errors of the call name
  const std::span given(operands.begin(), operands.size());
  const bool complex = any_complex(given);
  const auto& spec =
      jit::intern_call(d, jit::calls::MatrixAttributes{flags | (complex ? jit::calls::kOfPlanes : 0)});
  if (!complex && &d != &jit::calls::kEig) return detail::record_call(spec, given, site);
  const std::vector<Handle> planes = complex ? planes_of_all(given, site) : std::vector{*given[0]};
  std::vector<jit::Meta> metas;
  for (const Handle* h : given) metas.push_back({(*h)->dtype, (*h)->shape});
  const std::vector<Handle> out = detail::record_call(spec, pointers_to(planes), site);
  std::vector<Handle> whole;
  size_t at = 0;
  for (const jit::CallOutput& o : jit::calls::infer_whole(spec, metas)) {
    const bool pair = is_complex(o.meta.dtype);
    whole.push_back(pair ? jit::complex(out[at], out[at + 1], site) : out[at]);
    at += pair ? 2 : 1;
  }
  return whole;
}

Handle Matrices::derived(std::initializer_list<const Handle*> operands, const std::function<Handle()>& value,
                         const Derivative& derivative) const {
  const std::span all(operands.begin(), operands.size());
  if (!any_complex(all)) {
    Composite whole(name, operands, site);
    return whole.result(value(), derivative);
  }
  const Handle v = value();
  if (!observed()) return v;
  // Both planes are computed before either is announced: an alias is what the composite computes.
  const std::vector<Handle> h = planes_of_all(all, site);
  const auto announced = [&](const Handle& plane, int which) {
    Composite part = h.size() == 2 ? Composite(name, {&h[0], &h[1]}, site)
                                   : Composite(name, {&h[0], &h[1], &h[2], &h[3]}, site);
    return part.result(alias_of(plane, site), of_plane(derivative, which));
  };
  const Planes p = planes_of(v);
  return jit::complex(announced(p.re, 0), announced(p.im, 1), site);
}

Handle Matrices::solved(const jit::CallDefinition& d, uint32_t flags, const Handle& a,
                        const Handle& rows) const {
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
  const Handle signs = r.where(r.op(Op::less, out[0], 0), -1, r.filled(1, out[0]->dtype, out[0]->shape, x));
  return {r.adjoint(out[1]), magnitudes, r.op(Op::multiply, out[1], r.with_axes(signs, 1))};
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
