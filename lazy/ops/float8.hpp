// Stores numbers as floats of 8 bits, which have no dtype of their own: their codes are uint8.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Names the formats of Micikevicius et al., FP8 Formats for Deep Learning (2022), by their bits of exponent
/// and mantissa. e4m3 reaches to 448 and has a NaN but no infinity; e5m2, the upper half of a float16,
/// reaches to 57344.
enum class Float8 : uint8_t { e4m3, e5m2 };

/// Returns the largest number of a format.
constexpr double largest_of(Float8 f) { return f == Float8::e4m3 ? 448 : 57344; }

/// Returns the codes, uint8, of the nearest numbers, halves to even. Larger magnitudes than the largest
/// number, and infinities, become that. Codes have no derivative. x is of a floating-point dtype
/// (DtypeError).
Tensor to_float8(Arg x, Float8 format = Float8::e4m3);
/// Returns the numbers of codes, exactly, in a floating-point dtype (DtypeError); DtypeError unless the codes
/// are uint8.
Tensor from_float8(Arg codes, Float8 format = Float8::e4m3, DType dtype = float32);

}  // namespace lazy
