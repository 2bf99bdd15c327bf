// Shares images, windows and gradients between the functions that pool. Internal to lazy/.
#pragma once
#include "lazy/nn/functional/pooling.hpp"
#include "lazy/nn/functional/spatial.hpp"

namespace lazy::detail {

// A window of up to so many elements is one expression, fused into its readers; a larger one is reduced.
inline constexpr int64_t kMostPooledTaps = 64;

struct Pool {
  const char* name;
  Site site;
  ChannelLayout layout;
  Handle given;         // the image as the user has it
  Handle image;         // with its channels last
  Dims padding, extra;  // elements around, and the more of them after, each spatial axis
  Windows windows;

  /// Returns the axis of the given image at which its spatial axes begin.
  int first() const { return layout == channels_first ? 2 : 1; }
};

void check_image(const char* name, const Handle& x, const Site&);
Pool pool(const char* name, const Handle& x, const Axes& window, const PoolOptions&, const Site&);

/// Returns the lowest number of a dtype.
ScalarNumber lowest(DType);
/// Returns the image with its padding of `value`, its channels last.
Handle framed_image(const Pool&, const ScalarNumber& value);
/// Combines the elements of each window by `op`, in ascending order.
Handle combined(const Pool&, Op op, const Handle& image);
/// Returns what windows are divided by: (count..., 1), or one number.
Handle divisors(const Pool&, const PoolOptions&, DType);

// Return the gradient of the image for `g`, that of the result, in the image's dtype.

/// A gradient goes to the first of the largest elements of its window.
Handle max_pool_gradient(const Pool&, const Handle& g);
Handle avg_pool_gradient(const Pool&, const PoolOptions&, const Handle& g);

}  // namespace lazy::detail
