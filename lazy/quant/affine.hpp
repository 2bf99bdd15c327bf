// Converts tensors to integers with scales and zero points, and back, by torch's formulas
// (torch.ao.quantization's observers, torch.fake_quantize_per_channel_affine).
//
//   const auto how = quant::Scheme{.granularity = quant::Granularity::channel};
//   const auto a = quant::affine_of(w, how);
//   const Tensor q = quant::quantize(w, a, how);           // int8
//   const Tensor near = quant::dequantize(q, a, how);      // float32
//
// Scales have the shape () for one of a tensor, (n) for those of n channels, and (n, m) for those of m groups
// in each of n rows. Rows of groups are filled up with zeros to whole groups: quantize() gives (n, m * group)
// for a matrix (n, k).
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/quant/scheme.hpp"

namespace lazy::quant {

/// Holds scales, float32 or float64, and zero points, of the integers' dtype. Zero points are undefined where
/// the scheme is symmetric: then they are Scheme::middle().
struct Affine {
  Tensor scale, zero_point;
};

/// Returns the scales and zero points for numbers between these bounds, of one shape. The range contains 0;
/// scales are (most - least) / (highest - lowest), of a symmetric scheme the larger magnitude divided by
/// (highest - lowest) / 2, of floats of 8 bits by their largest number, and 2^-23 at least.
Affine affine_of(const Tensor& least, const Tensor& most, const Scheme&, Site = Site::current());
/// Returns those for the numbers of x. ShapeError if it has no elements, or is no matrix of groups.
Affine affine_of(const Tensor& x, const Scheme&, Site = Site::current());

/// Rounds x to integers, or to codes of a float of 8 bits: x times the reciprocal of the scale, halves to
/// even, the zero point added, cut to the scheme's range. ShapeError where the scales are not x's.
Tensor quantize(const Tensor& x, const Affine&, const Scheme&, Site = Site::current());
/// Returns (q - zero_point) scale, in the scale's dtype, of q's shape.
Tensor dequantize(const Tensor& q, const Affine&, const Scheme&, Site = Site::current());
/// Returns dequantize(quantize(x)) in x's shape and dtype. The gradient goes through where the integer was
/// not cut (Bengio et al., 2013; Jacob et al., 2018); scales have none.
Tensor fake_quantize(const Tensor& x, const Affine&, const Scheme&, Site = Site::current());

/// Returns the scales from which learning begins, 2 mean|x| / sqrt(highest - middle) of the numbers that
/// share one (Esser et al., 2020), and 2^-23 at least. The scheme is symmetric, and of integers.
Tensor first_steps(const Tensor& x, const Scheme&, Site = Site::current());
/// Returns fake_quantize() by these scales, which have a gradient, too: by the differences that rounding
/// makes, and where x is cut by the bound, times `gradient_factor` (torch's grad_factor).
Tensor fake_quantize_learned(const Tensor& x, const Tensor& scale, const Scheme&, double gradient_factor,
                             Site = Site::current());

/// Returns integers of 4 bits, uint8 (n, k), two in a byte (n, k / 2): the order of
/// jit/built_in/nn/group_dots.hpp. k is a multiple of 32.
Tensor pack_4(const Tensor& q, Site = Site::current());
Tensor unpack_4(const Tensor& packed, Site = Site::current());

namespace detail {
/// Returns weights by groups as the matrix of all that each index of the first axis has, others as they are.
Tensor in_rows(const Tensor& weights, const Scheme&, const Site&);
}  // namespace detail

}  // namespace lazy::quant
