// Views the same elements in other ways. None of the functions moves data; each is recorded as a change of
// index.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns the elements in row-major order under a new shape; one extent may be -1 and follows from the rest.
/// ShapeError if the sizes differ.
Tensor reshape(Arg x, ShapeArg shape);
/// Permutes axes: axis i of the result is axis axes[i] of x; all axes must be named once.
Tensor permute_dims(Arg x, Axes axes);
inline Tensor permute(Arg x, Axes axes) {
  const detail::Spelled as("permute_dims", "permute");
  return permute_dims(std::move(x), axes);
}
/// Permutes as permute_dims does; without axes it reverses their order.
Tensor transpose(Arg x, Axes axes = {});
/// Exchanges two axes, as torch's transpose does.
Tensor transpose(Arg x, IntegerArg a, IntegerArg b);
/// Exchanges the last two axes; ShapeError for fewer than two dimensions.
Tensor matrix_transpose(Arg x);
Tensor swapaxes(Arg x, IntegerArg a, IntegerArg b);
/// Moves axes `from` to positions `to`; the others keep their order.
Tensor moveaxis(Arg x, Axes from, Axes to);
/// Drops axes of extent 1: the named ones (ShapeError if one is longer), or all.
Tensor squeeze(Arg x, Axes axes = {});
/// Adds an axis of extent 1 at position `axis` of the result.
Tensor expand_dims(Arg x, IntegerArg axis = 0);
inline Tensor unsqueeze(Arg x, IntegerArg axis) {
  const detail::Spelled as("expand_dims", "unsqueeze");
  return expand_dims(std::move(x), axis);
}
/// Repeats axes of extent 1 and adds leading ones. ShapeError if the shapes don't fit.
Tensor broadcast_to(Arg x, ShapeArg shape);
std::vector<Tensor> broadcast_arrays(std::initializer_list<Arg>);
inline std::vector<Tensor> broadcast_tensors(std::initializer_list<Arg> xs) {
  const detail::Spelled as("broadcast_arrays", "broadcast_tensors");
  return broadcast_arrays(xs);
}
/// Reverses the named axes, or all.
Tensor flip(Arg x, Axes axes = {});
/// Returns windows of `window[i]` elements along each of `axes` (all, if none are named): the axis then
/// counts windows, which start `step` apart, and a new last axis for each runs along the window, whose
/// elements are `dilation` apart. (n) with window 3 -> (n - 2, 3). Windows overlap without a copy. `step` and
/// `dilation`: one number for all or one for each axis. ShapeError if a window is longer than its axis.
Tensor sliding_window_view(Arg x, Axes window, Axes axes = {}, Axes step = 1, Axes dilation = 1);
/// Returns all elements in one dimension.
Tensor flatten(Arg x);
/// Makes one axis of those from `start` to `end`: (2, 3, 4), from 1 -> (2, 12). IndexError if `start` comes
/// after `end`.
Tensor flatten(Arg x, IntegerArg start, IntegerArg end = -1);
inline Tensor ravel(Arg x) {
  const detail::Spelled as("flatten", "ravel");
  return flatten(std::move(x));
}

}  // namespace lazy
