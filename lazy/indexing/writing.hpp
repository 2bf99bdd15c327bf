// Returns tensors in which some elements are replaced, or combined with others. Nothing is written in place:
// x itself stays as it is.
//
// Results keep x's dtype; DtypeError for values of a higher kind. An index is of integers (DtypeError
// otherwise); Bounds says what one out of range means, as in gathering.hpp.
#pragma once
#include <vector>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"

namespace lazy {

/// Returns x with values put, or with `accumulate` added, at indices of the flattened tensor, in order: the
/// last one of several at an element stays. ShapeError unless there is one value for all, or one for each
/// index.
Tensor put(Arg x, Arg index, Arg values, bool accumulate = false, Bounds = Bounds::check);
/// Returns x with values put where x(index...) reads, or with `accumulate` added, once for each time that an
/// element is named. Values broadcast to the shape that x(index...) has (ShapeError).
Tensor index_put(Arg x, const std::vector<Index>& index, Arg values, bool accumulate = false);
/// Returns x with x[..., index[i], ...] += values[..., i, ...], for i ascending. The index has one dimension.
Tensor index_add(Arg x, IntegerArg axis, Arg index, Arg values, Bounds = Bounds::check);
/// Returns x with x[..., index[i], ...] = values[..., i, ...], for i ascending. The index has one dimension.
Tensor index_copy(Arg x, IntegerArg axis, Arg index, Arg values, Bounds = Bounds::check);
/// Returns x with x[..., index[i], ...] = value, which is a scalar or a 0-d tensor (ShapeError). The index
/// has one dimension.
Tensor index_fill(Arg x, IntegerArg axis, Arg index, Arg value, Bounds = Bounds::check);
/// Returns x with the elements where the mask, which broadcasts to x (ShapeError), is true replaced by those
/// of `source`, in row-major order. Too few of them throw IndexError when the value is computed; others are
/// left.
Tensor masked_scatter(Arg x, Arg mask, Arg source);

/// Returns x with select(x, axis, index) replaced by `source`, of its shape (ShapeError).
Tensor select_scatter(Arg x, Arg source, IntegerArg axis, IntegerArg index);
/// Returns x with a slice of an axis replaced by `source`, of its shape (ShapeError).
Tensor slice_scatter(Arg x, Arg source, IntegerArg axis = 0, SliceBound start = none, SliceBound stop = none,
                     SliceBound step = none);
/// Returns x with diagonal(x, offset, axis1, axis2) replaced by `source`, of its shape (ShapeError).
Tensor diagonal_scatter(Arg x, Arg source, IntegerArg offset = 0, IntegerArg axis1 = 0, IntegerArg axis2 = 1);

/// Returns x with each element replaced by a reduction of itself (unless `include_self` is false) and the
/// values that the index sends there: value[i][j] goes to x[index[i][j]][j] for axis 0, likewise for others,
/// as torch does. `reduce` is "sum", "prod", "mean" (of integers: rounded down), "amax" or "amin"; Error for
/// others. What no value goes to stays. The index is no longer than the values along any axis, nor than x
/// along the others (ShapeError). 16-bit floats are computed in float32 and rounded once; DtypeError for
/// bool.
Tensor scatter_reduce(Arg x, IntegerArg axis, Arg index, Arg values, const char* reduce,
                      bool include_self = true, Bounds = Bounds::check);

}  // namespace lazy
