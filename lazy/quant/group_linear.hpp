// Multiplies rows by a matrix of small integers that have a scale for each group or row. Internal to lazy/.
#pragma once
#include "lazy/quant/affine.hpp"

namespace lazy::quant::detail {

/// Returns x w^T for x (r, k), float32, or int8 beside integers of 4 bits, and the (n, k) numbers that the
/// integers, packed if they have 4 bits, stand for: (r, n), float32. An intention: a few rows read the
/// integers where they lie, more of them what is written out as float32 for the product. Gradients go to x.
Tensor group_linear(const Tensor& x, const Tensor& q, const Affine&, const Scheme&, const Site&);

/// Returns x w^T for x (r, k), float32, and the (n, k) numbers q scale[:, None], q int8, scale (n) float32:
/// (r, n), float32. An intention: a few rows read the integers where they lie, in sums of groups of k; more
/// of them are a product by q in float32, which is scaled. Gradients go to x.
Tensor channel_linear(const Tensor& x, const Tensor& q, const Tensor& scale, const Site&);

}  // namespace lazy::quant::detail
