// Implements members of Tensor that are functions of networks.
#include "lazy/nn/functional/activation.hpp"

namespace lazy {

Tensor Tensor::softmax(IntegerArg axis, Site s) const& { return lazy::softmax(Arg(*this, s), axis); }
Tensor Tensor::softmax(IntegerArg axis, Site s) && { return lazy::softmax(Arg(std::move(*this), s), axis); }
Tensor Tensor::log_softmax(IntegerArg axis, Site s) const& { return lazy::log_softmax(Arg(*this, s), axis); }
Tensor Tensor::log_softmax(IntegerArg axis, Site s) && {
  return lazy::log_softmax(Arg(std::move(*this), s), axis);
}

}  // namespace lazy
