// Computes layers that draw random numbers, by torch.nn.functional's names; random.hpp has dropout(). Each
// takes a Generator first, or none: then it draws from default_generator(). Operands become floating point
// (integers of the default dtype); 16-bit floats are computed in float32 and rounded once. Without `training`
// they return x.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/random/generator.hpp"

namespace lazy {

/// Replaces whole channels of x (N, C, ...) by 0 with probability p and divides the others by 1 - p.
/// ShapeError for fewer than two dimensions; Error unless 0 <= p <= 1.
Tensor feature_dropout(Generator&, Arg x, double p = 0.5, bool training = true);
/// Replaces elements by the lowest value of selu() with probability p, then moves and scales all so that mean
/// and variance stay (Klambauer et al. 2017). Error unless 0 <= p <= 1.
Tensor alpha_dropout(Generator&, Arg x, double p = 0.5, bool training = false);
/// Does that to whole channels, as feature_dropout().
Tensor feature_alpha_dropout(Generator&, Arg x, double p = 0.5, bool training = false);
/// Returns x where x >= 0, and elsewhere slope x, with a slope drawn from [lower, upper) for each element, or
/// their mean if not `training`. Error unless lower <= upper.
Tensor rrelu(Generator&, Arg x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);
/// Returns softmax((logits + noise) / tau) along an axis, the noise being of the standard Gumbel
/// distribution; with `hard` 1 at the largest and 0 elsewhere. Error unless tau > 0; IndexError for the axis.
Tensor gumbel_softmax(Generator&, Arg logits, double tau = 1, bool hard = false, IntegerArg axis = -1);

inline Tensor feature_dropout(Arg x, double p = 0.5, bool training = true) {
  return feature_dropout(default_generator(), std::move(x), p, training);
}
inline Tensor dropout1d(Arg x, double p = 0.5, bool training = true) {
  return feature_dropout(std::move(x), p, training);
}
inline Tensor dropout2d(Arg x, double p = 0.5, bool training = true) {
  return feature_dropout(std::move(x), p, training);
}
inline Tensor dropout3d(Arg x, double p = 0.5, bool training = true) {
  return feature_dropout(std::move(x), p, training);
}
inline Tensor alpha_dropout(Arg x, double p = 0.5, bool training = false) {
  return alpha_dropout(default_generator(), std::move(x), p, training);
}
inline Tensor feature_alpha_dropout(Arg x, double p = 0.5, bool training = false) {
  return feature_alpha_dropout(default_generator(), std::move(x), p, training);
}
inline Tensor rrelu(Arg x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false) {
  return rrelu(default_generator(), std::move(x), lower, upper, training);
}
inline Tensor gumbel_softmax(Arg logits, double tau = 1, bool hard = false, IntegerArg axis = -1) {
  return gumbel_softmax(default_generator(), std::move(logits), tau, hard, axis);
}

}  // namespace lazy
