// Names the activations that configs of models choose from.
#pragma once
#include <cstdint>

#include "lazy/core/tensor.hpp"

namespace lazy::models {

/// gelu_tanh is gelu by its approximation (Approximate::tanh), quick_gelu x sigmoid(1.702 x).
enum class Activation : uint8_t { gelu, gelu_tanh, quick_gelu, relu, silu, tanh, sigmoid, mish };

/// Records the activation of x.
Tensor activate(Activation, Arg x);

}  // namespace lazy::models
