// Sorting along an axis. NaN comes last, ascending or descending; -0 and 0 are equal. Any dtype.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// The result of sort(): `auto [values, indices] = sort(x)`.
struct Sorted {
  Tensor values;
  Tensor indices;  // int64: values is x at these positions of the axis
};

/// Both in one pass; what nobody reads is not computed. Elements that are equal keep their order, also where
/// `stable` doesn't ask for it: so the result is the same on any number of threads and on any device.
/// IndexError for the axis; a 0-d tensor has none.
Sorted sort(Arg x, Integer axis = -1, bool descending = false, bool stable = false);
/// The indices of sort().
Tensor argsort(Arg x, Integer axis = -1, bool descending = false, bool stable = false);

}  // namespace lazy
