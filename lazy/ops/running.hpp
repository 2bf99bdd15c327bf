// Reduces along one axis and shows each partial result; without an axis, of the flattened tensor. Elements
// are combined strictly upwards, in one pass. ShapeError for several axes, IndexError for one out of range.
// [float]: bools and integers are computed in the default dtype; 16-bit floats in float32, rounded once.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/ops/sorting.hpp"

namespace lazy {

/// Sums, or multiplies. Dtypes as for sum(): DtypeError for bool.
Tensor cumsum(Arg x, Axes axis = {}, MaybeDType dtype = {});
Tensor cumprod(Arg x, Axes axis = {}, MaybeDType dtype = {});
/// Work as cumsum and cumprod do, but the axis may be omitted only where there is one (ShapeError). With
/// `include_initial` the sum, or product, of no elements comes first: the axis has one more.
Tensor cumulative_sum(Arg x, Axes axis = {}, MaybeDType dtype = {}, bool include_initial = false);
Tensor cumulative_prod(Arg x, Axes axis = {}, MaybeDType dtype = {}, bool include_initial = false);
/// Return the largest and the smallest element so far, and the int64 position along the axis of the last that
/// equals it; positions that nobody reads are not computed. Once NaN, NaN stays, at the last NaN's position.
/// Keep the dtype.
Sorted cummax(Arg x, Axes axis = {});
Sorted cummin(Arg x, Axes axis = {});
/// [float] Returns log(cumsum(exp(x))) without overflow. It combines elements 1, 2, 4, ... apart, so it takes
/// log2(n) passes, and rounds as that tree does.
Tensor logcumsumexp(Arg x, Axes axis = {});

}  // namespace lazy
