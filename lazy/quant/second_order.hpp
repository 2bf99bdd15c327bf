// Rounds a linear map's weights so that its results change least: column by column, what rounding one column
// adds to the results is taken from the columns that are still to be rounded (GPTQ: Frantar et al., 2023),
// the columns that count most first.
#pragma once
#include <cstdint>

#include "lazy/quant/affine.hpp"

namespace lazy::quant {

/// Says how weights become integers. nearest: each by itself. second_order: by what linear maps are given
/// while a model is prepared; convolutions' and embeddings' weights are rounded to the nearest.
enum class Rounding : uint8_t { nearest, second_order };

/// Holds rounded weights.
struct RoundedWeights {
  Tensor integers;  // as quantize() returns them
  Affine affine;
};

/// Rounds the weights w, (n, k) of float32 or float64, of a linear map that was given rows x, of which
/// `products` is the sum of x^T x, (k, k). A column for which all x were 0 becomes 0. The same bits for the
/// same products. ShapeError where shapes don't fit; Error if `products` has values that are not finite.
RoundedWeights round_second_order(const Tensor& w, const Tensor& products, const Scheme&,
                                  Site = Site::current());

}  // namespace lazy::quant
