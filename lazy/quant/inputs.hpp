// Says how what a layer is given - its activations - is rounded before integers multiply it.
#pragma once
#include "lazy/quant/affine.hpp"

namespace lazy::quant {

/// Says what is done with what a layer is given. none: it is multiplied as it is, by the weights' integers.
/// dynamic: it is rounded too, with scales that are found in each call: one for each row of a linear map, one
/// for all of an image. fixed: with one scale, which was found before (prepare_()). Products of integers are
/// summed in int32, exactly.
enum class Activations : uint8_t { none, dynamic, fixed };

/// int8, symmetric: how activations are rounded unless it is said otherwise.
inline constexpr Scheme kActivationScheme{.granularity = Granularity::tensor};

/// Says all of it, for one layer.
struct Inputs {
  Activations activations = Activations::none;
  Scheme scheme = kActivationScheme;  // which numbers share a scale goes by `activations`
  /// Scale (), float32, and for an affine scheme zero point (), if activations are `fixed`.
  Affine fixed = {};
  /// (depth), float32, of a linear map whose weights and activations are balanced: what it is given is
  /// multiplied by this, and its integers stand for the weights divided by it. Else undefined.
  Tensor factor = {};

  /// Returns the scheme with one scale for each row, or for all.
  Scheme by(Granularity g) const {
    Scheme how = scheme;
    how.granularity = g;
    return how;
  }
};

/// Holds what a layer is given as int8, whatever its scheme: unsigned integers are lowered by
/// Scheme::middle(), and so are zero points.
struct RoundedInputs {
  Tensor integers;
  Affine affine;  // zero points are int32; undefined if they are 0
};
/// Rounds by the scale that is there, else by one for all or for each index of the first axis.
RoundedInputs round_inputs(const Tensor& x, const Inputs&, Granularity, const Site&);

}  // namespace lazy::quant
