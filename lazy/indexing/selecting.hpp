// Selects elements by masks and indices under NumPy's and torch's names, and finds where elements are.
//
// An index is of integers (DtypeError otherwise); Bounds says what one out of range means, as in
// gathering.hpp. Functions whose result's size depends on values say so: they compute what is pending for
// that.
#pragma once
#include <vector>

#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"

namespace lazy {

/// Returns x with `value` where the mask (of bool: DtypeError otherwise) is true. All broadcast; keeps x's
/// dtype, DtypeError for a value of another kind.
Tensor masked_fill(Arg x, Arg mask, Arg value);
/// Returns the elements where the mask is true, in one dimension. Both broadcast. Reads the mask.
Tensor masked_select(Arg x, Arg mask);
/// Returns x without an axis, at one position of it: (n, 5) at axis 0 -> (5). A view; IndexError for a
/// position out of range.
Tensor select(Arg x, IntegerArg axis, IntegerArg index);
namespace detail {
/// Returns x with a slice of one axis: the member slice().
Tensor slice_along(Arg x, IntegerArg axis, SliceBound start, SliceBound stop, SliceBound step);
}  // namespace detail
/// Returns x at indices of one dimension along an axis: (n, 5) at (k) -> (k, 5). ShapeError for an index of
/// more dimensions.
Tensor index_select(Arg x, IntegerArg axis, Arg index, Bounds = Bounds::check);
/// Returns result[i][j] = x[index[i][j]][j] for axis 0, likewise for others, as torch does: take_along_axis
/// without broadcasting. ShapeError if the numbers of dimensions differ or the index is longer than x on
/// another axis.
Tensor gather(Arg x, IntegerArg axis, Arg index, Bounds = Bounds::check);
/// Returns take(), with `missing` where an index is not in [0, n). Keeps x's dtype; DtypeError where that
/// does not hold it.
Tensor take_or(Arg x, Arg index, IntegerArg axis, ScalarNumber missing);

/// Returns the element with each index of the flattened tensor, of the index' shape.
Tensor take(Arg x, Arg index, Bounds = Bounds::check);
/// Returns choices[index[i]][i]: each element from the tensor that the index says. Index and choices
/// broadcast, dtypes of choices promote. ShapeError for no choices.
Tensor choose(Arg index, const std::vector<Tensor>& choices, Bounds = Bounds::check);
/// Returns the parts of x along an axis where the condition, of one dimension, is != 0; it may be shorter
/// than the axis (ShapeError if it is longer). Reads the condition.
Tensor compress(Arg condition, Arg x, IntegerArg axis);
/// Works on the flattened tensor.
Tensor compress(Arg condition, Arg x);
/// Returns the elements where the condition, of as many elements (ShapeError otherwise), is != 0, in one
/// dimension. Reads the condition.
Tensor extract(Arg condition, Arg x);

/// Returns positions in a flattened tensor of a shape, int64, from positions along each of its axes, which
/// broadcast. Bounds says what one out of range means; Error for `mask`. ShapeError unless there is a tensor
/// for each axis.
Tensor ravel_multi_index(const std::vector<Tensor>& index, ShapeArg shape, Bounds = Bounds::check,
                         Site = Site::current());
/// Returns the position along each axis, int64, of positions in a flattened tensor of a shape. One out of
/// range throws IndexError when the value is computed.
std::vector<Tensor> unravel_index(Arg index, ShapeArg shape);
/// Returns indices that select each combination of the lists' entries: x(ix_({i, j})) has at (a, b) what x
/// has at (i[a], j[b]). A list is a tensor of integers or bool of one dimension (a mask is read), or C++
/// integers. ShapeError and DtypeError for others.
std::vector<Index> ix_(const std::vector<Index>& lists, Site = Site::current());

// The next ones find elements that are != 0. They read x: the result's size depends on it.

/// Returns one tensor of int64 for each axis: the positions along it, in row-major order. ShapeError for a
/// 0-d tensor.
std::vector<Tensor> nonzero(Arg x);
/// Returns nonzero(), as NumPy's and torch's `where` of a condition alone do.
inline std::vector<Tensor> where(Arg condition) {
  const detail::Spelled as("nonzero", "where");
  return nonzero(std::move(condition));
}
/// Returns the positions as rows: (number, dimensions), int64.
Tensor argwhere(Arg x);
/// Returns the positions in the flattened tensor, int64.
Tensor flatnonzero(Arg x);

}  // namespace lazy
