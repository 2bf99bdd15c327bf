// Reads and writes elements at computed indices: take, take_along_axis; scatter, put_along_axis.
//
// Indices are of any integer dtype; DtypeError otherwise. Bounds says what an index out of range means
// (docs/semantics.md): the default throws IndexError, with the line of the op, when the value is computed.
#pragma once
#include "jit/graph/indexed.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns x with its axis replaced by the index' axes: result[..., i, ...] = x[..., index[i], ...].
/// ShapeError where that has too many dimensions.
Tensor take(Arg x, Arg index, IntegerArg axis, Bounds = Bounds::check);
/// Returns result[..., i, ...] = x[..., index[..., i, ...], ...]. The other axes of x and the index
/// broadcast.
Tensor take_along_axis(Arg x, Arg index, IntegerArg axis, Bounds = Bounds::check);

/// Returns x with `values` put where the index says along an axis: x[..., index[..., i, ...], ...] becomes,
/// or is combined with, values[..., i, ...]. Updates of one element happen in ascending order of i. Index and
/// values broadcast to x on the other axes, and to each other. Keeps x's dtype; DtypeError for values of
/// another kind, and for a bool that is to be combined.
Tensor put_along_axis(Arg x, Arg index, Arg values, IntegerArg axis, Combine = Combine::set,
                      Bounds = Bounds::check);
/// Works as put_along_axis, with another order of arguments.
Tensor scatter(Arg x, IntegerArg axis, Arg index, Arg values, Combine = Combine::set, Bounds = Bounds::check);
Tensor scatter_add(Arg x, IntegerArg axis, Arg index, Arg values, Bounds = Bounds::check);

}  // namespace lazy
