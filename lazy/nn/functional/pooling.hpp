// Computes pooling: a value for each window of an image.
#pragma once
#include "lazy/nn/functional/convolution.hpp"

namespace lazy {

/// Holds one number for each spatial axis, or one for all.
struct PoolOptions {
  Axes stride = {};  // if empty, the window's extents, so that windows touch
  Axes padding = 0;
  Axes dilation = 1;
  ChannelLayout layout = channels_first;
  bool count_padding =
      true;  // avg_pool divides by the window's size, or by how many of its elements are not padding
  bool ceil_mode = false;  // counts a window that reaches beyond the padding too, if it begins before its end
  IntegerArg divisor_override = 0;  // avg_pool divides by this number unless it is 0
};

/// Returns the largest element of each window over the spatial axes of x: (N, C, S...) or (N, S..., C).
/// Padding never wins; NaN does. `window`: one extent for all spatial axes or one each. R as in conv().
/// ShapeError where it does not fit. In ceil_mode R rounds up; elements beyond the padding count as padding
/// in max_pool, and do not count in what avg_pool divides by.
Tensor max_pool(Arg x, Axes window, const PoolOptions& options = {});
/// Holds the results of max_pool_with_indices().
struct MaxPoolResult {
  Tensor values;   // max_pool()
  Tensor indices;  // int64: where each is in the flattened spatial axes of its channel, without padding
};
/// Returns the largest elements and where they are: the first of equal ones, the first NaN.
MaxPoolResult max_pool_with_indices(Arg x, Axes window, const PoolOptions& options = {});
/// Puts values where indices of max_pool_with_indices() say, among zeros; a later one replaces an earlier
/// one. The spatial axes have `extents`, or (R - 1) stride - 2 padding + window. Indices out of range throw
/// IndexError when the value is computed.
Tensor max_unpool(Arg x, Arg indices, Axes window, const PoolOptions& options = {}, Axes extents = {});
/// Returns sum(x^p)^(1 / p) over each window, without padding; of p infinite the largest element. Floating
/// point (integers become the default dtype). Error if p is 0.
Tensor lp_pool(Arg x, double p, Axes window, const PoolOptions& options = {});
/// Returns the mean of each window; floating point (integers become the default dtype).
Tensor avg_pool(Arg x, Axes window, const PoolOptions& options = {});
/// Returns means of windows such that the result has `extents` (one number: for all spatial axes) spatial
/// elements: element i covers [floor(i S / R), ceil((i + 1) S / R)).
Tensor adaptive_avg_pool(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool(Arg x, Axes extents, ChannelLayout layout = channels_first);
MaxPoolResult adaptive_max_pool_with_indices(Arg x, Axes extents, ChannelLayout layout = channels_first);

// Return gradients with respect to x, of `grad`, that of the result.

/// x gives shape and dtype, its values are not read.
Tensor avg_pool_backward(Arg grad, Arg x, Axes window, const PoolOptions& options = {});
Tensor adaptive_avg_pool_backward(Arg grad, Arg x, ChannelLayout layout = channels_first);
/// Adds grad where the indices of max_pool_with_indices() say.
Tensor max_pool_backward(Arg grad, Arg x, Arg indices, ChannelLayout layout = channels_first);

// Pool images of exactly one, two, three spatial axes, as the functions without that number do.

Tensor max_pool1d(Arg x, Axes window, const PoolOptions& options = {});
Tensor max_pool2d(Arg x, Axes window, const PoolOptions& options = {});
Tensor max_pool3d(Arg x, Axes window, const PoolOptions& options = {});
Tensor avg_pool1d(Arg x, Axes window, const PoolOptions& options = {});
Tensor avg_pool2d(Arg x, Axes window, const PoolOptions& options = {});
Tensor avg_pool3d(Arg x, Axes window, const PoolOptions& options = {});
Tensor adaptive_max_pool1d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool2d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool3d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_avg_pool1d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_avg_pool2d(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_avg_pool3d(Arg x, Axes extents, ChannelLayout layout = channels_first);

}  // namespace lazy
