// Finds elements by their rank: the largest few, the median, quantiles, in less time than sorting takes. NaN
// counts as larger than any number, as in sort(). An axis out of range throws IndexError.
#pragma once
#include <initializer_list>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/sorting.hpp"

namespace lazy {

/// Returns the k largest (or smallest) elements along an axis, and their int64 positions: (..., n) -> (...,
/// k). They are in order, even if `sorted` is false; of equal ones those before. NaN comes last either way.
/// Any dtype. ShapeError unless k is in [0, n].
Sorted topk(Arg x, IntegerArg k, IntegerArg axis = -1, bool largest = true, bool sorted = true);
/// Returns the k-th smallest element along an axis, counted from 1, and its position. ShapeError unless
/// k is in [1, n].
Sorted kthvalue(Arg x, IntegerArg k, IntegerArg axis = -1, KeepDims keep = dropdims);
/// Return the largest, or the smallest, element along an axis and its int64 position, as max() and argmax()
/// find them: (..., n) -> (...). What torch's max(axis) returns. ShapeError for an empty axis.
Sorted max_with_indices(Arg x, IntegerArg axis, KeepDims keep = dropdims);
Sorted min_with_indices(Arg x, IntegerArg axis, KeepDims keep = dropdims);

// The next ones take the elements of all the axes together; none named means all axes. The result is NaN if
// an element is. Bools and integers are computed in the default dtype, 16-bit floats in float32. ShapeError
// for no elements.

/// Returns the element in the middle, or the mean of the two that are, as NumPy does.
Tensor median(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// Returns the element at place q (n - 1) of the sorted ones, between two on the line through them. Error
/// unless q is in [0, 1].
Tensor quantile(Arg x, double q, Axes axes = {}, KeepDims keep = dropdims);
/// Returns several, along a new first axis.
Tensor quantile(Arg x, std::initializer_list<double> q, Axes axes = {}, KeepDims keep = dropdims);
Tensor quantile(Arg x, const std::vector<double>& q, Axes axes = {}, KeepDims keep = dropdims);
/// Return quantiles of q / 100.
Tensor percentile(Arg x, double q, Axes axes = {}, KeepDims keep = dropdims);
Tensor percentile(Arg x, std::initializer_list<double> q, Axes axes = {}, KeepDims keep = dropdims);
Tensor percentile(Arg x, const std::vector<double>& q, Axes axes = {}, KeepDims keep = dropdims);

}  // namespace lazy
