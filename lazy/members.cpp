// The member spellings: each hands its tensor and the user's line to the free function.
#include "lazy/build.hpp"
#include "lazy/elementwise.hpp"
#include "lazy/matmul.hpp"
#include "lazy/promotion.hpp"
#include "lazy/reductions.hpp"
#include "lazy/views.hpp"

namespace lazy {

#define LAZY_REDUCTION(name)                                    \
  Tensor Tensor::name(Axes axes, KeepDims keep, Site s) const { \
    return lazy::name(Arg(*this, s), axes, keep);               \
  }
LAZY_REDUCTION(mean)
LAZY_REDUCTION(max)
LAZY_REDUCTION(min)
LAZY_REDUCTION(any)
LAZY_REDUCTION(all)
LAZY_REDUCTION(argmax)
LAZY_REDUCTION(argmin)
#undef LAZY_REDUCTION

Tensor Tensor::sum(Axes axes, KeepDims keep, MaybeDType t, Site s) const {
  return lazy::sum(Arg(*this, s), axes, keep, t);
}
Tensor Tensor::prod(Axes axes, KeepDims keep, MaybeDType t, Site s) const {
  return lazy::prod(Arg(*this, s), axes, keep, t);
}
Tensor Tensor::var(Axes axes, KeepDims keep, double correction, Site s) const {
  return lazy::var(Arg(*this, s), axes, keep, correction);
}
Tensor Tensor::std(Axes axes, KeepDims keep, double correction, Site s) const {
  return lazy::std(Arg(*this, s), axes, keep, correction);
}
Tensor Tensor::cumsum(Axes axis, MaybeDType t, Site s) const { return lazy::cumsum(Arg(*this, s), axis, t); }
Tensor Tensor::reshape(ShapeArg shape, Site s) const { return lazy::reshape(Arg(*this, s), shape); }
Tensor Tensor::flatten(Site s) const { return lazy::flatten(Arg(*this, s)); }
Tensor Tensor::ravel(Site s) const { return lazy::flatten(Arg(*this, s)); }
Tensor Tensor::squeeze(Axes axes, Site s) const { return lazy::squeeze(Arg(*this, s), axes); }
Tensor Tensor::unsqueeze(int64_t axis, Site s) const { return lazy::expand_dims(Arg(*this, s), axis); }
Tensor Tensor::transpose(Axes axes, Site s) const { return lazy::transpose(Arg(*this, s), axes); }
Tensor Tensor::permute(Axes axes, Site s) const { return lazy::permute_dims(Arg(*this, s), axes); }
Tensor Tensor::swapaxes(int64_t a, int64_t b, Site s) const { return lazy::swapaxes(Arg(*this, s), a, b); }
Tensor Tensor::T(Site s) const { return lazy::transpose(Arg(*this, s)); }
Tensor Tensor::mT(Site s) const { return lazy::matrix_transpose(Arg(*this, s)); }
Tensor Tensor::astype(DType dtype, Site s) const { return lazy::astype(Arg(*this, s), dtype); }
Tensor Tensor::clip(Arg low, Arg high) const { return lazy::clip(Arg(*this, low.site()), low, high); }
Tensor Tensor::round(Site s) const { return lazy::round(Arg(*this, s)); }
Tensor Tensor::dot(Arg other) const { return lazy::dot(Arg(*this, other.site()), other); }

Tensor Tensor::copy(Site s) const {
  const jit::Node& n = node("copy", s);
  if (!n.ready() || !n.buffer || !n.buffer->borrowed()) return *this;
  jit::BufferRef keep;
  const void* data = jit::contiguous_data(handle_, jit::Cause::data, s, keep);
  return Tensor(jit::from_bytes(data, n.dtype, n.shape, s));
}

}  // namespace lazy
