// Implements the member spellings: each passes its tensor and the user's line to the free function.
#include "lazy/core/build.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/ops/diagonals.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/numbers.hpp"
#include "lazy/ops/ordering.hpp"
#include "lazy/ops/products.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/statistics.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {

// A member of a temporary moves its value into the Arg, so each has two forms.
#define LAZY_MEMBER_OF(type, declaration, site, function, ...)                                            \
  type Tensor::declaration const& { return lazy::function(Arg(*this, site) __VA_OPT__(, ) __VA_ARGS__); } \
  type Tensor::declaration&& {                                                                            \
    return lazy::function(Arg(std::move(*this), site) __VA_OPT__(, ) __VA_ARGS__);                        \
  }
#define LAZY_MEMBER(declaration, function, ...) LAZY_MEMBER_OF(Tensor, declaration, s, function, __VA_ARGS__)
// A member with an operand takes the line of that.
#define LAZY_MEMBER_WITH(operand, declaration, function, ...) \
  LAZY_MEMBER_OF(Tensor, declaration, operand.site(), function, __VA_ARGS__)
#define LAZY_UNARY(name) LAZY_MEMBER(name(Site s), name)
#define LAZY_REDUCTION(name) LAZY_MEMBER(name(Axes axes, KeepDims keep, Site s), name, axes, keep)
LAZY_REDUCTION(mean)
LAZY_REDUCTION(max)
LAZY_REDUCTION(min)
LAZY_REDUCTION(any)
LAZY_REDUCTION(all)
LAZY_REDUCTION(argmax)
LAZY_REDUCTION(argmin)
LAZY_REDUCTION(ptp)
LAZY_UNARY(abs)
LAZY_UNARY(square)
LAZY_UNARY(sqrt)
LAZY_UNARY(exp)
LAZY_UNARY(log)
LAZY_UNARY(tanh)
LAZY_UNARY(sigmoid)
LAZY_UNARY(relu)

LAZY_MEMBER(sum(Axes axes, KeepDims keep, MaybeDType t, Site s), sum, axes, keep, t)
LAZY_MEMBER(prod(Axes axes, KeepDims keep, MaybeDType t, Site s), prod, axes, keep, t)
LAZY_MEMBER(var(Axes axes, KeepDims keep, double correction, Site s), var, axes, keep, correction)
LAZY_MEMBER(stdev(Axes axes, KeepDims keep, double correction, Site s), stdev, axes, keep, correction)
LAZY_MEMBER(std(Axes axes, KeepDims keep, double correction, Site s), std, axes, keep, correction)
LAZY_MEMBER(cumsum(Axes axis, MaybeDType t, Site s), cumsum, axis, t)
LAZY_MEMBER(cumprod(Axes axis, MaybeDType t, Site s), cumprod, axis, t)
LAZY_MEMBER(norm(double order, Axes axes, KeepDims keep, Site s), norm, order, axes, keep)
LAZY_MEMBER(trace(IntegerArg offset, Site s), trace, offset)
LAZY_MEMBER(diagonal(IntegerArg offset, IntegerArg a, IntegerArg b, Site s), diagonal, offset, a, b)
LAZY_MEMBER_OF(Sorted, sort(IntegerArg axis, bool descending, Site s), s, sort, axis, descending)
LAZY_MEMBER_OF(Sorted, topk(IntegerArg k, IntegerArg axis, bool largest, Site s), s, topk, k, axis, largest)
LAZY_MEMBER(argsort(IntegerArg axis, bool descending, Site s), argsort, axis, descending)
LAZY_MEMBER(reshape(ShapeArg shape, Site s), reshape, shape)
LAZY_MEMBER(view(ShapeArg shape, Site s), reshape, shape)
LAZY_MEMBER(expand(ShapeArg shape, Site s), expand, shape)
LAZY_MEMBER(tile(ShapeArg repetitions, Site s), tile, repetitions)
LAZY_MEMBER(flip(Axes axes, Site s), flip, axes)
LAZY_MEMBER(flatten(Site s), flatten)
LAZY_MEMBER(flatten(IntegerArg start, IntegerArg end, Site s), flatten, start, end)
LAZY_MEMBER(ravel(Site s), flatten)
LAZY_MEMBER(squeeze(Axes axes, Site s), squeeze, axes)
LAZY_MEMBER(unsqueeze(IntegerArg axis, Site s), expand_dims, axis)
LAZY_MEMBER(transpose(Axes axes, Site s), transpose, axes)
LAZY_MEMBER(transpose(IntegerArg a, IntegerArg b, Site s), transpose, a, b)
LAZY_MEMBER(permute(Axes axes, Site s), permute_dims, axes)
LAZY_MEMBER(swapaxes(IntegerArg a, IntegerArg b, Site s), swapaxes, a, b)
LAZY_MEMBER(T(Site s), transpose)
LAZY_MEMBER(mT(Site s), matrix_transpose)
LAZY_MEMBER(astype(DType dtype, Site s), astype, dtype)
LAZY_MEMBER(to(DType dtype, Site s), astype, dtype)
LAZY_MEMBER(round(Site s), round)
LAZY_MEMBER(round(IntegerArg decimals, Site s), round, decimals)
LAZY_MEMBER_WITH(low, clip(Arg low, Arg high), clip, std::move(low), std::move(high))
LAZY_MEMBER_WITH(low, clamp(Arg low, Arg high), clip, std::move(low), std::move(high))
LAZY_MEMBER_WITH(other, dot(Arg other), dot, std::move(other))
LAZY_MEMBER_WITH(other, matmul(Arg other), matmul, std::move(other))
LAZY_MEMBER_WITH(other, mm(Arg other), mm, std::move(other))
LAZY_MEMBER_WITH(exponent, pow(Arg exponent), pow, std::move(exponent))

#undef LAZY_REDUCTION
#undef LAZY_UNARY
#undef LAZY_MEMBER_WITH
#undef LAZY_MEMBER
#undef LAZY_MEMBER_OF

namespace {

void check_matrix(const Shape& shape, const Site& s) {
  if (shape.size() > 2)
    detail::fail<ShapeError>("t", "needs at most two dimensions, not " + to_string(shape), s);
}

}  // namespace

Tensor Tensor::t(Site s) const& {
  check_matrix(node("t", s).shape, s);
  return T(s);
}
Tensor Tensor::t(Site s) && {
  check_matrix(node("t", s).shape, s);
  return std::move(*this).T(s);
}

Tensor Tensor::contiguous(Site s) const {
  (void)node("contiguous", s);
  return to_memory_format(channels_first, s);
}

Tensor Tensor::contiguous(ChannelLayout format, Site s) const {
  (void)node("contiguous", s);
  return to_memory_format(format, s);
}

Tensor Tensor::clone(Site s) const {
  (void)node("clone", s);
  return copy(s);
}

Tensor Tensor::copy(Site s) const {
  const jit::Node& n = node("copy", s);
  if (detail::any_recipes() && detail::recipe_of(handle_)) return Tensor(Arg(*this, s).take());
  // Gradients, hooks and scopes tell the copy from this variable.
  if (n.underived) return detach(s);
  if (n.attachment) return Tensor(detail::alias_of(handle_, s));
  if (!n.ready() || !n.buffer || !n.buffer->borrowed()) return *this;
  jit::BufferRef keep;
  const void* data = jit::contiguous_data(handle_, jit::Cause::data, s, keep);
  return Tensor(detail::values(data, n.dtype, n.shape, handle_, s));
}

}  // namespace lazy
