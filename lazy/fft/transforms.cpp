#include "lazy/fft/transforms.hpp"

#include <cmath>

#include "jit/built_in/fft/fft.hpp"
#include "lazy/core/operands.hpp"
#include "support/float_mode.hpp"

namespace lazy::detail {
namespace {

/// Records a transform along the last axis.
std::vector<Handle> transform(const jit::CallDefinition& d, std::initializer_list<const Handle*> operands,
                              const Site& s) {
  return detail::record_call(jit::intern_call(d, std::string_view()),
                             std::span(operands.begin(), operands.size()), s);
}

/// Records a transform of complex numbers. Back is forward with both parts exchanged.
Handle transform_planes(const jit::CallDefinition& d, const Handle& h, bool forward, const Site& s) {
  const Planes p = planes_of(h);
  const Handle* const operands[] = {forward ? &p.re : &p.im, forward ? &p.im : &p.re};
  const std::vector<Handle> y = detail::record_call(jit::intern_call(d, std::string_view()), operands, s);
  return jit::complex(y[forward ? 0 : 1], y[forward ? 1 : 0], s);
}

/// Moves the axis to the end, and what f returns back.
template <class F>
Handle along_last(const Recorder& r, const Handle& x, int axis, F&& f) {
  const int rank = x->shape.size();
  if (axis == rank - 1) return f(x);
  const Dims order = with_last(axis, rank);
  return r.permute(f(r.permute(x, order)), order);
}

}  // namespace

Transforms::Transforms(const char* n, const Site& s, const std::string& norm) : Recorder{n, s} {
  if (norm == "backward") norm_ = Norm::backward;
  else if (norm == "ortho") norm_ = Norm::ortho;
  else if (norm == "forward") norm_ = Norm::forward;
  else fail<Error>("norm is \"backward\", \"ortho\" or \"forward\", not \"" + norm + "\"");
}

Handle Transforms::taken(Arg& x) const {
  const Handle h = Operand(name, x).take();
  if (h->shape.empty()) fail<ShapeError>("needs a dimension");
  return as(wide_float(h->dtype), h);
}

int64_t Transforms::length(int64_t given, int64_t extent) const {
  const int64_t n = given >= 0 ? given : extent;
  if (n < 1) fail<ShapeError>("a transform has one element at least, not " + std::to_string(n));
  return n;
}

Handle Transforms::resized(const Handle& x, int axis, int64_t n) const {
  const int64_t extent = x->shape[axis];
  if (extent == n) return x;
  if (extent > n) return part(x, axis, 0, n);
  Shape shape = x->shape;
  shape[axis] = n;
  check_countable(name, shape, site);
  return replaced(filled(0, x->dtype, shape, x), x, axis, 0);
}

Handle Transforms::scaled(const Handle& x, int64_t n, bool forward) const {
  const auto length = static_cast<double>(n);
  if (norm_ == Norm::ortho)
    return op(Op::multiply, x, in_default_mode([&] { return 1 / std::sqrt(length); }));
  if ((norm_ == Norm::forward) != forward) return x;
  return op(Op::multiply, x, in_default_mode([&] { return 1 / length; }));
}

Handle Transforms::complex(const Handle& given, int axis, int64_t n, bool forward) const {
  const Handle x = resized(cast(given, complex_type(given->dtype), site), axis, n);
  const int rank = x->shape.size();
  if (axis == rank - 1) return scaled(transform_planes(jit::calls::kFft, x, forward, site), n, forward);
  // The axis runs along columns of matrices, whose rows are the axes behind it.
  Shape matrices;
  for (int i = 0; i <= axis; ++i) matrices.push_back(x->shape[i]);
  int64_t across = 1;
  for (int i = axis + 1; i < rank; ++i) across *= x->shape[i];
  matrices.push_back(across);
  const Shape shape = x->shape;
  const Handle y =
      transform_planes(jit::calls::kFftColumns, rank - axis == 2 ? x : reshape(x, matrices), forward, site);
  return scaled(rank - axis == 2 ? y : reshape(y, shape), n, forward);
}

Handle Transforms::half(const Handle& given, int axis, int64_t n, bool forward) const {
  need_real(name, given->dtype, site);
  const Handle x = resized(given, axis, n);
  return scaled(along_last(*this, x, axis,
                           [&](const Handle& h) {
                             const std::vector<Handle> y = transform(jit::calls::kRealFft, {&h}, site);
                             return jit::complex(y[0], forward ? y[1] : op(Op::negative, y[1]), site);
                           }),
                n, forward);
}

Handle Transforms::whole(const Handle& given, int axis, int64_t n, bool forward) const {
  const Handle x = resized(cast(given, complex_type(given->dtype), site), axis, n / 2 + 1);
  return scaled(along_last(*this, x, axis,
                           [&](const Handle& h) {
                             const Planes p = planes_of(h);
                             const Handle im = forward ? op(Op::negative, p.im) : p.im;
                             const Handle length = filled(false, bool_, {n, 0}, p.re);
                             return transform(jit::calls::kInverseRealFft, {&p.re, &im, &length}, site)[0];
                           }),
                n, forward);
}

}  // namespace lazy::detail
