// Implements members of Tensor that select elements; lazy/ops/members.cpp has the others.
#include "lazy/indexing/selecting.hpp"

namespace lazy {

Tensor Tensor::take(Arg index, IntegerArg axis) const& {
  return lazy::take(Arg(*this, index.site()), std::move(index), axis);
}
Tensor Tensor::take(Arg index, IntegerArg axis) && {
  return lazy::take(Arg(std::move(*this), index.site()), std::move(index), axis);
}
Tensor Tensor::gather(IntegerArg axis, Arg index) const& {
  return lazy::gather(Arg(*this, index.site()), axis, std::move(index));
}
Tensor Tensor::gather(IntegerArg axis, Arg index) && {
  return lazy::gather(Arg(std::move(*this), index.site()), axis, std::move(index));
}
Tensor Tensor::masked_fill(Arg mask, Arg value) const& {
  return lazy::masked_fill(Arg(*this, mask.site()), std::move(mask), std::move(value));
}
Tensor Tensor::masked_fill(Arg mask, Arg value) && {
  return lazy::masked_fill(Arg(std::move(*this), mask.site()), std::move(mask), std::move(value));
}
std::vector<Tensor> Tensor::nonzero(Site s) const { return lazy::nonzero(Arg(*this, s)); }

}  // namespace lazy
