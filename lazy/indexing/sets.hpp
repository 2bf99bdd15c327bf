// Treats tensors as sets of their elements.
//
// Functions whose result's size depends on values compute what is pending for that. Elements that compare
// equal are one, the two zeros too.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns the different elements of the flattened tensor, ascending; NaN counts as one, and comes last.
Tensor unique(Arg x);

// The array API's functions: as unique(), but each NaN is an element of its own.

Tensor unique_values(Arg x);
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
/// Holds the results of unique_all().
struct UniqueAll {
  Tensor values;
  Tensor indices;  // int64: where each occurs first in the flattened tensor
  Tensor inverse;
  Tensor counts;
};
UniqueAll unique_all(Arg x);

/// Returns whether each element of x is among those of `among` (with `invert`: is not), of x's shape. NaN is
/// not. Dtypes promote (DtypeError otherwise). Sorts `among`, and reads nothing.
Tensor isin(Arg x, Arg among, bool invert = false);
/// Returns the different elements that are in a and not in b, ascending. Dtypes promote.
Tensor setdiff1d(Arg a, Arg b);
/// Returns the different elements that are in both, ascending. Dtypes promote.
Tensor intersect1d(Arg a, Arg b);
/// Returns the different elements that are in either, ascending. Dtypes promote.
Tensor union1d(Arg a, Arg b);

}  // namespace lazy
