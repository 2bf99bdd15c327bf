// Says how the layers of a model become layers of integers.
#pragma once
#include <string>

#include "lazy/quant/histogram.hpp"
#include "lazy/quant/inputs.hpp"
#include "lazy/quant/second_order.hpp"

namespace lazy::quant {

/// Says how a layer is computed.
struct Config {
  Scheme weights = {};
  Activations activations = Activations::none;
  /// Says what rounded activations become: integers of 2 to 8 bits. With zero points, as of uint8 that begins
  /// at 0 after a ReLU, they can't multiply weights by groups.
  Scheme activation_scheme = kActivationScheme;
  bool embeddings = false;                // rows of embeddings, too
  Range range = Range::min_max;           // of fixed activations
  Rounding rounding = Rounding::nearest;  // second_order needs prepare_()
  /// From 0 to 1: how much of the spread of what linear maps are given goes over to their weights, so that
  /// both are easy to round (SmoothQuant's alpha: Xiao et al., 2023); 0 is none. Column j of a map is divided
  /// by max|x_j|^balance / max|w_j|^(1 - balance), and its weights are multiplied by that. Needs prepare_().
  double balance = 0;
  /// Trains the scales of symmetric weights, and of fixed symmetric activations, with all else: prepare_(...,
  /// Prepare::train) gives layers parameters `weight_step` and `input_step` (Esser et al., "Learned Step Size
  /// Quantization", 2020).
  bool learned_steps = false;
  Inputs inputs() const { return {activations, activation_scheme}; }
  friend bool operator==(const Config&, const Config&) = default;
};

/// Weights of int8 by channel: a quarter of the memory, activations as they are.
Config int8_weights();
/// Weights of 4 bits, affine in groups of so many: an eighth of the memory and the scales.
Config int4_weights(int64_t group = 128);
/// Weights of floats of 8 bits by channel: a quarter of the memory, activations as they are.
Config float8_weights(Float8 format = Float8::e4m3);
/// Weights of int8 by channel, activations rounded to int8 in each call.
Config int8_dynamic();
/// Weights as of int4_weights(), what linear maps are given rounded to int8 in each call: the fastest for few
/// rows.
Config int4_dynamic(int64_t group = 128);
/// Weights of int8 by channel, activations rounded to int8 by scales that prepare_() finds.
Config int8_fixed();
std::string to_string(const Config&);

/// Throws Error for a config of which one part can't be with another.
void check(const char* function, const Config&, const Site&);

}  // namespace lazy::quant
