// Describes a call of a layer's function to the weights that it is given (recipe.hpp).
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {
struct ConvOptions;
}

namespace lazy::detail {

/// Holds a call of a layer's function with a variable as its weights: a linear map or a convolution.
struct LayerCall {
  const char* function;
  const Arg& x;
  const Tensor& bias;                 // undefined if there is none
  const ConvOptions* conv = nullptr;  // null: of a linear map
  bool inputs_first = false;          // the weights of a linear map are (in, out), else (out, in)
};

}  // namespace lazy::detail
