// Sorts along an axis. NaN comes last, ascending or descending; -0 and 0 are equal. Any dtype.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Holds the result of sort(): `auto [values, indices] = sort(x)`.
struct Sorted {
  Tensor values;
  Tensor indices;  // int64: values is x at these positions of the axis
};

/// Sorts values and finds their indices in one pass; an unread one is not computed. Elements that are equal
/// keep their order even if `stable` is false: so the result is the same on any number of threads and on any
/// device. IndexError for the axis; a 0-d tensor has none.
Sorted sort(Arg x, IntegerArg axis = -1, bool descending = false, bool stable = false);
/// Returns the indices of sort().
Tensor argsort(Arg x, IntegerArg axis = -1, bool descending = false, bool stable = false);

}  // namespace lazy
