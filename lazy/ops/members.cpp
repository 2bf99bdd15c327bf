// Implements the member spellings: each passes its tensor and the user's line to the free function.
#include "lazy/core/members.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/ops/creation.hpp"
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

#define LAZY_MEMBER_OF_OPS(result, name, function, site, parameters, ...) \
  LAZY_DEFINE_MEMBER(result, name, function, site, parameters, __VA_ARGS__)
#define LAZY_OR(value)
#include "lazy/core/tensor_members.def"

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
  if (lazy::is_complex(n.dtype)) {
    const auto [re, im] = detail::planes_of(handle_);
    return Tensor(detail::complex(Tensor(re).copy(s).handle(), Tensor(im).copy(s).handle(), s));
  }
  // Gradients, hooks and scopes tell the copy from this variable.
  if (n.underived) return detach(s);
  if (n.attachment) return Tensor(detail::alias_of(handle_, s));
  if (!n.ready() || !n.buffer || !n.buffer->borrowed()) return *this;
  jit::BufferRef keep;
  const void* data = jit::contiguous_data(handle_, jit::Cause::data, s, keep);
  return Tensor(detail::values(data, n.dtype, n.shape, handle_, s));
}

}  // namespace lazy
