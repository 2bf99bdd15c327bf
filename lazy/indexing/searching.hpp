// Searches sorted values, interpolates between them, and counts values in bins. Dtypes promote (DtypeError
// otherwise).
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns where each value would be put into sorted ones, of one dimension, so that they stay sorted: before
/// equal ones, or with `right` behind them. int64, of the values' shape. NaN counts as the largest. Short
/// ones (up to 16) are all compared; others are searched in log2(n) steps, of which each reads an element.
/// ShapeError for other dimensions. What is not sorted ascending gives positions without meaning.
Tensor searchsorted(Arg sorted, Arg values, bool right = false);
/// Returns the number of the bin of each value, as NumPy does: 0 below the first edge; an edge belongs to the
/// bin above it, or with `right` to the one below. Edges ascend.
Tensor digitize(Arg values, Arg edges, bool right = false);
/// Returns searchsorted(boundaries, values, right): torch's name for it.
Tensor bucketize(Arg values, Arg boundaries, bool right = false);
/// Returns the line through points (xp, fp) at each x, fp's ends beyond; NaN stays. xp ascends. Bools and
/// integers are computed in the default dtype. ShapeError unless xp and fp have one dimension, of one extent
/// that is not 0.
Tensor interp(Arg x, Arg xp, Arg fp);

/// Counts how often each of 0, 1, ... occurs in x, int64: (largest + 1), or `minlength` if that is more.
/// Reads the largest element: the size depends on it. DtypeError for other than integers, ShapeError unless x
/// has one dimension, IndexError for a negative element or length.
Tensor bincount(Arg x, IntegerArg minlength = 0);
/// Sums weights of x's shape in place of counts, in their dtype; integers in the default one.
Tensor bincount(Arg x, TensorArg weights, IntegerArg minlength = 0);

/// Holds the results of histogram().
struct HistogramResult {
  Tensor counts;  // int64, (bins)
  Tensor edges;   // (bins + 1), of x's dtype; of bools and integers the default one, of 16-bit floats float32
};
/// Counts elements in `bins` bins of one width between the smallest element and the largest; bins contain
/// their lower edge, the last both. If all are equal, from 0.5 below to 0.5 above; of no elements from 0 to
/// 1; with NaN nothing is counted. ShapeError if `bins` is below 1.
HistogramResult histogram(Arg x, IntegerArg bins = 10);
/// Counts between `low` and `high`; others, and NaN, are left out. Error unless both are finite and low <=
/// high.
HistogramResult histogram(Arg x, IntegerArg bins, double low, double high);

}  // namespace lazy
