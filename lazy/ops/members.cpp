// Implements the member spellings: each passes its tensor and the user's line to the free function.
#include "lazy/core/build.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {

// A member of a temporary moves its value into the Arg, so each has two forms.
#define LAZY_MEMBER(declaration, function, ...)                                                          \
  Tensor Tensor::declaration const& { return lazy::function(Arg(*this, s) __VA_OPT__(, ) __VA_ARGS__); } \
  Tensor Tensor::declaration&& { return lazy::function(Arg(std::move(*this), s) __VA_OPT__(, ) __VA_ARGS__); }
#define LAZY_REDUCTION(name) LAZY_MEMBER(name(Axes axes, KeepDims keep, Site s), name, axes, keep)
LAZY_REDUCTION(mean)
LAZY_REDUCTION(max)
LAZY_REDUCTION(min)
LAZY_REDUCTION(any)
LAZY_REDUCTION(all)
LAZY_REDUCTION(argmax)
LAZY_REDUCTION(argmin)

LAZY_MEMBER(sum(Axes axes, KeepDims keep, MaybeDType t, Site s), sum, axes, keep, t)
LAZY_MEMBER(prod(Axes axes, KeepDims keep, MaybeDType t, Site s), prod, axes, keep, t)
LAZY_MEMBER(var(Axes axes, KeepDims keep, double correction, Site s), var, axes, keep, correction)
LAZY_MEMBER(stdev(Axes axes, KeepDims keep, double correction, Site s), stdev, axes, keep, correction)
LAZY_MEMBER(std(Axes axes, KeepDims keep, double correction, Site s), std, axes, keep, correction)
LAZY_MEMBER(cumsum(Axes axis, MaybeDType t, Site s), cumsum, axis, t)
LAZY_MEMBER(reshape(ShapeArg shape, Site s), reshape, shape)
LAZY_MEMBER(flatten(Site s), flatten)
LAZY_MEMBER(ravel(Site s), flatten)
LAZY_MEMBER(squeeze(Axes axes, Site s), squeeze, axes)
LAZY_MEMBER(unsqueeze(Integer axis, Site s), expand_dims, axis)
LAZY_MEMBER(transpose(Axes axes, Site s), transpose, axes)
LAZY_MEMBER(permute(Axes axes, Site s), permute_dims, axes)
LAZY_MEMBER(swapaxes(Integer a, Integer b, Site s), swapaxes, a, b)
LAZY_MEMBER(T(Site s), transpose)
LAZY_MEMBER(mT(Site s), matrix_transpose)
LAZY_MEMBER(astype(DType dtype, Site s), astype, dtype)
Tensor Tensor::clip(Arg low, Arg high) const& { return lazy::clip(Arg(*this, low.site()), low, high); }
Tensor Tensor::clip(Arg low, Arg high) && { return lazy::clip(Arg(std::move(*this), low.site()), low, high); }
LAZY_MEMBER(round(Site s), round)
Tensor Tensor::dot(Arg other) const& { return lazy::dot(Arg(*this, other.site()), other); }
Tensor Tensor::dot(Arg other) && { return lazy::dot(Arg(std::move(*this), other.site()), other); }

#undef LAZY_REDUCTION
#undef LAZY_MEMBER

Tensor Tensor::copy(Site s) const {
  const jit::Node& n = node("copy", s);
  if (!n.ready() || !n.buffer || !n.buffer->borrowed()) return *this;
  jit::BufferRef keep;
  const void* data = jit::contiguous_data(handle_, jit::Cause::data, s, keep);
  return Tensor(detail::values(data, n.dtype, n.shape, handle_, s));
}

}  // namespace lazy
