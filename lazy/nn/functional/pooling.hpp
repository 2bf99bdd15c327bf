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
  Integer divisor_override = 0;  // avg_pool divides by this number unless it is 0
};

/// Returns the largest element of each window over the spatial axes of x: (N, C, S...) or (N, S..., C).
/// Padding never wins; NaN does. `window`: one extent for all spatial axes or one each. R as in conv().
/// ShapeError where it does not fit. In ceil_mode R rounds up; elements beyond the padding count as padding
/// in max_pool, and do not count in what avg_pool divides by.
Tensor max_pool(Arg x, Axes window, const PoolOptions& options = {});
/// Returns the mean of each window; floating point (integers become the default dtype).
Tensor avg_pool(Arg x, Axes window, const PoolOptions& options = {});
/// Returns means of windows such that the result has `extents` (one number: for all spatial axes) spatial
/// elements: element i covers [floor(i S / R), ceil((i + 1) S / R)).
Tensor adaptive_avg_pool(Arg x, Axes extents, ChannelLayout layout = channels_first);
Tensor adaptive_max_pool(Arg x, Axes extents, ChannelLayout layout = channels_first);

}  // namespace lazy
