// Implements members of Tensor that draw its elements anew.
#include "jit/graph/node.hpp"
#include "lazy/random/random.hpp"

namespace lazy {

Tensor& Tensor::uniform_(ScalarNumber low, ScalarNumber high, Site s) & {
  const jit::Node& n = node("uniform_", s);
  const Tensor drawn = lazy::uniform(low, high, n.shape, n.dtype, n.device, s);
  update_to(drawn.handle(), s);
  return *this;
}

Tensor& Tensor::normal_(ScalarNumber mean, ScalarNumber std, Site s) & {
  const jit::Node& n = node("normal_", s);
  const Tensor drawn = lazy::normal(mean, std, n.shape, n.dtype, n.device, s);
  update_to(drawn.handle(), s);
  return *this;
}

}  // namespace lazy
