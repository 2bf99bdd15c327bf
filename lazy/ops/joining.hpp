// Joins tensors side by side. Dtypes promote.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Joins along an existing axis: (2, 3) and (4, 3) along 0 -> (6, 3). ShapeError for no tensors, for 0-d
/// ones, and where another axis differs; IndexError for the axis.
Tensor concat(const std::vector<Tensor>& xs, IntegerArg axis = 0, Site = Site::current());
/// Joins the flattened tensors.
Tensor concat(const std::vector<Tensor>& xs, NoneType, Site = Site::current());
inline Tensor cat(const std::vector<Tensor>& xs, IntegerArg axis = 0, Site s = Site::current()) {
  const detail::Spelled as("concat", "cat");
  return concat(xs, axis, s);
}
inline Tensor concatenate(const std::vector<Tensor>& xs, IntegerArg axis = 0, Site s = Site::current()) {
  const detail::Spelled as("concat", "concatenate");
  return concat(xs, axis, s);
}
inline Tensor concatenate(const std::vector<Tensor>& xs, NoneType, Site s = Site::current()) {
  const detail::Spelled as("concat", "concatenate");
  return concat(xs, none, s);
}
/// Joins along a new axis at position `axis` of the result: two of (3) along 0 -> (2, 3). ShapeError for no
/// tensors and where shapes differ; IndexError for the axis.
Tensor stack(const std::vector<Tensor>& xs, IntegerArg axis = 0, Site = Site::current());

}  // namespace lazy
