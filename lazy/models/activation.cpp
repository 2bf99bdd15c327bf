#include "lazy/models/activation.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy::models {

Tensor activate(Activation f, Arg x) {
  switch (f) {
    case Activation::gelu_tanh: return gelu(std::move(x), Approximate::tanh);
    case Activation::quick_gelu: {
      const Tensor t(lazy::detail::Operand("quick_gelu", x).take());
      return t * sigmoid(t * 1.702);
    }
    case Activation::relu: return relu(std::move(x));
    case Activation::silu: return silu(std::move(x));
    case Activation::tanh: return lazy::tanh(std::move(x));
    case Activation::sigmoid: return sigmoid(std::move(x));
    case Activation::mish: return mish(std::move(x));
    case Activation::gelu: break;
  }
  return gelu(std::move(x));
}

}  // namespace lazy::models
