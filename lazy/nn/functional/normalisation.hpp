// Normalises values to mean 0 and variance 1, or to length 1, by torch.nn.functional's names.
//
// Operands, the weights and biases that are given among them, promote to a floating-point dtype (integers to
// the default one); 16-bit floats are computed in float32 and rounded once. A default-constructed Tensor is
// no weight, no bias. Variances divide by n unless said otherwise. ShapeError where shapes don't fit.
#pragma once
#include <optional>

#include "lazy/core/tensor.hpp"
#include "lazy/nn/functional/convolution.hpp"

namespace lazy {

/// Returns (x - mean) / sqrt(var + eps) weight + bias over the last axes of x, whose extents `normalized`
/// says; weight and bias have that shape.
Tensor layer_norm(Arg x, ShapeArg normalized, const MaybeTensor& weight = {}, const MaybeTensor& bias = {},
                  double eps = 1e-5);
/// Returns x / sqrt(mean(x^2) + eps) weight over the last axes of x; eps is the dtype's epsilon (of float32
/// for 16-bit floats) if not given.
Tensor rms_norm(Arg x, ShapeArg normalized, const MaybeTensor& weight = {},
                std::optional<double> eps = std::nullopt);

/// Returns (x - mean) / sqrt(var + eps) weight + bias with given statistics, one number for each channel, for
/// x (N, C, ...), or (N, ..., C) with channels last: batch normalisation for inference.
Tensor batch_norm(Arg x, const MaybeTensor& running_mean, const MaybeTensor& running_var,
                  const MaybeTensor& weight = {}, const MaybeTensor& bias = {}, double eps = 1e-5,
                  ChannelLayout layout = channels_first);

struct BatchNormOptions {
  Tensor weight = {};     // (C); none if default-constructed
  Tensor bias = {};       // likewise
  double momentum = 0.1;  // share of the new statistics, 0 to 1
  double eps = 1e-5;      // added to variances
  ChannelLayout layout = channels_first;
};
struct BatchNormResult {
  Tensor output;                     // x's shape
  Tensor running_mean, running_var;  // (C); default-constructed if none were given
};
/// Normalises x (N, C, ...) with the mean and variance of each channel, and returns running statistics moved
/// towards them: (1 - momentum) running + momentum new, the new variance divided by n - 1. ShapeError if a
/// channel has only one element.
BatchNormResult batch_norm_training(Arg x, const MaybeTensor& running_mean = {},
                                    const MaybeTensor& running_var = {},
                                    const BatchNormOptions& options = {});

/// Normalises each group of C / groups channels of each image: x (N, C, ...), weight and bias (C). ShapeError
/// if the channels make no such groups.
Tensor group_norm(Arg x, IntegerArg groups, const MaybeTensor& weight = {}, const MaybeTensor& bias = {},
                  double eps = 1e-5);
/// Normalises each channel of each image, x (N, C, S...), by itself; weight and bias (C).
Tensor instance_norm(Arg x, const MaybeTensor& weight = {}, const MaybeTensor& bias = {}, double eps = 1e-5);
/// Does the same and returns running statistics, (C), moved as batch_norm_training() moves them towards the
/// means over all images of each channel's mean and variance; the layout is channels_first.
BatchNormResult instance_norm_training(Arg x, const MaybeTensor& running_mean = {},
                                       const MaybeTensor& running_var = {},
                                       const BatchNormOptions& options = {});
/// Returns x / (k + alpha mean(x^2 over `size` neighbouring channels))^beta for x (N, C, ...): the channels
/// from size / 2 before to (size - 1) / 2 after, those that don't exist being 0.
Tensor local_response_norm(Arg x, IntegerArg size, double alpha = 1e-4, double beta = 0.75, double k = 1);
/// Returns x / max(norm, eps) with the p-norm along the axes (none: all): sum(|x|^p)^(1/p), for p = inf the
/// largest |x|.
Tensor normalize(Arg x, double p = 2, Axes axes = 1, double eps = 1e-12);

}  // namespace lazy
