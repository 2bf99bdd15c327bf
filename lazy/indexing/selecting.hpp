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
/// Returns x at indices of one dimension along an axis: (n, 5) at (k) -> (k, 5). ShapeError for an index of
/// more dimensions.
Tensor index_select(Arg x, Integer axis, Arg index, Bounds = Bounds::check);
/// Returns result[i][j] = x[index[i][j]][j] for axis 0, likewise for others, as torch does: take_along_axis
/// without broadcasting. ShapeError if the numbers of dimensions differ or the index is longer than x on
/// another axis.
Tensor gather(Arg x, Integer axis, Arg index, Bounds = Bounds::check);
/// Returns take(), with `missing` where an index is not in [0, n). Keeps x's dtype; DtypeError where that
/// does not hold it.
Tensor take_or(Arg x, Arg index, Integer axis, Number missing);

// The next ones find elements that are != 0. They read x: the result's size depends on it.

/// Returns one tensor of int64 for each axis: the positions along it, in row-major order. ShapeError for a
/// 0-d tensor.
std::vector<Tensor> nonzero(Arg x);
/// Returns nonzero(), as NumPy's and torch's `where` of a condition alone do.
inline std::vector<Tensor> where(Arg condition) { return nonzero(std::move(condition)); }
/// Returns the positions as rows: (number, dimensions), int64.
Tensor argwhere(Arg x);
/// Returns the positions in the flattened tensor, int64.
Tensor flatnonzero(Arg x);

// The different elements of the flattened tensor, ascending; NaN counts as one, and comes last. These sort,
// and read where a new element begins.

Tensor unique(Arg x);
/// Holds the results of unique_counts().
struct UniqueCounts {
  Tensor values;
  Tensor counts;  // int64: how often each occurs
};
UniqueCounts unique_counts(Arg x);
/// Holds the results of unique_inverse().
struct UniqueInverse {
  Tensor values;
  Tensor inverse;  // int64, of x's shape: x is values at these positions
};
UniqueInverse unique_inverse(Arg x);

}  // namespace lazy
