// Multiplies and convolves what DequantizeLinear makes of integers by these integers, exactly in int32, in
// the place of the floating-point numbers that they stand for.
#pragma once
#include <optional>

#include "lazy/nn/functional/convolution.hpp"
#include "lazy/onnx/ops/call.hpp"
#include "lazy/onnx/ops/window.hpp"

namespace lazy::onnx {

/// Multiplies matrices of 8 bits less their zero points, exactly: int32. Zero points are int32 and broadcast
/// over the matrices; undefined is 0. Products are those of the operands as they are, for which there are
/// instructions; sums of rows and columns take out what zero points add, and those of weights stay.
Tensor product_less_zeros(Call&, const Tensor& a, const Tensor& a_zero, const Tensor& b,
                          const Tensor& b_zero);

/// Returns x w for inputs 0 and 1, or x w^T, if both were dequantised: x of integers of 8 bits with one scale
/// and a zero point that is known, w, a matrix, of those of weights with a scale for each output, or one, in
/// the middle of whose range is the zero point. Nothing otherwise.
std::optional<Tensor> product_of_integers(Call&, bool transposed);
/// Returns the convolution likewise, with the bias of the options.
std::optional<Tensor> convolution_of_integers(Call&, const Windows&, const ConvOptions&);
/// Returns the sums, int32, of a convolution of integers of 8 bits less their zero points, where those are as
/// product_of_integers() says. Nothing otherwise.
std::optional<Tensor> sums_of_convolution(Call&, const Value& x, const Value& x_zero, const Value& w,
                                          const Value& w_zero, const Windows&, const ConvOptions&);

}  // namespace lazy::onnx
