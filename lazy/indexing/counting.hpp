// Finds the most frequent elements and the ranks of those that are not NaN, repeats elements by counts, and
// lists combinations. An axis out of range throws IndexError.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/sorting.hpp"

namespace lazy {

/// Returns the most frequent element along an axis, of several the smallest, and the position of its last
/// occurrence, int64. NaN counts as one element, larger than any number. ShapeError for an empty axis and a
/// 0-d tensor.
Sorted mode(Arg x, IntegerArg axis = -1, KeepDims keep = dropdims);

// The next ones take the elements of all the axes together that are not NaN; none named means all axes. NaN
// where none is left. Bools and integers are computed in the default dtype, 16-bit floats in float32.
// ShapeError for no elements.

Tensor nanmedian(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// Returns the element at place q (n - 1) of the n sorted ones, between two on the line through them. Error
/// unless q is in [0, 1].
Tensor nanquantile(Arg x, double q, Axes axes = {}, KeepDims keep = dropdims);
/// Returns several, along a new first axis.
Tensor nanquantile(Arg x, const std::vector<double>& q, Axes axes = {}, KeepDims keep = dropdims);
/// Return quantiles of q / 100.
Tensor nanpercentile(Arg x, double q, Axes axes = {}, KeepDims keep = dropdims);
Tensor nanpercentile(Arg x, const std::vector<double>& q, Axes axes = {}, KeepDims keep = dropdims);

/// Repeats each element along an axis as often as its count says, without one those of the flattened tensor:
/// {5, 6} by {2, 3} -> {5, 5, 6, 6, 6}. Counts have the axis' extent or one element; DtypeError unless they
/// are integers, Error for a negative one. `total` is their sum, if it is known; else it is read: the size
/// depends on it.
Tensor repeat(Arg x, TensorArg counts, Axes axis = {}, IntegerArg total = -1);
inline Tensor repeat_interleave(Arg x, TensorArg counts, Axes axis = {}, IntegerArg total = -1) {
  return repeat(std::move(x), std::move(counts), axis, total);
}

/// Returns all choices of `length` elements of a vector in its order, (n) -> (number, length), with
/// repetitions if `with_replacement`. ShapeError for other dimensions and a negative length.
Tensor combinations(Arg x, IntegerArg length = 2, bool with_replacement = false);

}  // namespace lazy
