// Computes gradients of layers with respect to their operands, as torch's *_backward functions do: `grad` is
// the gradient of the layer's result. Operands promote to a floating-point dtype; 16-bit floats are computed
// in float32 and rounded once. ShapeError where shapes don't fit. pooling.hpp has those of pooling.
#pragma once
#include "lazy/nn/functional/convolution.hpp"

namespace lazy {

/// Holds gradients of conv().
struct ConvGradients {
  Tensor input, weight;  // of the operands' shapes
  Tensor bias;           // (O)
};
/// Takes the operands and options of conv(); the options' bias is not read. Error for same_padding and a
/// padding_mode.
ConvGradients convolution_backward(Arg grad, Arg x, Arg w, const ConvOptions& options = {});

/// Holds gradients of a normalisation.
struct NormGradients {
  Tensor input;         // of x's shape
  Tensor weight, bias;  // of the weight's shape
};
/// Takes the operands of layer_norm(); without a weight it counts as 1.
NormGradients layer_norm_backward(Arg grad, Arg x, ShapeArg normalized, const MaybeTensor& weight = {},
                                  double eps = 1e-5);
/// Takes the operands of group_norm(), likewise.
NormGradients group_norm_backward(Arg grad, Arg x, IntegerArg groups, const MaybeTensor& weight = {},
                                  double eps = 1e-5);

/// Adds up rows of grad (..., width) for the rows of weights that ids (...) named: -> (rows, width). Ids
/// out of range, negative ones too, throw IndexError when the value is computed. Row `padding_idx`
/// stays 0, none if it is negative.
Tensor embedding_dense_backward(Arg grad, Arg ids, IntegerArg rows, IntegerArg padding_idx = -1);

}  // namespace lazy
