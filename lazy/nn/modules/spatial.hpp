// Shares what layers of images have in common. Internal to lazy/.
#pragma once
#include <string>
#include <utility>

#include "lazy/core/tensor.hpp"

namespace lazy::nn::detail {

/// Returns the number for each of D axes: one that is given is for all. ShapeError for another count.
Dims for_each_axis(const char* layer, const char* what, const Dims& given, int axes, const Site&);

/// Returns x with a batch axis, if it is an image (C, S...) with `axes` spatial axes; else x itself.
Tensor with_batch(Arg& x, int axes, bool& added);
/// Returns y without its first axis, of extent 1.
Tensor without_batch(const Tensor& y, const Site&);

/// Calls f with an image that has a batch axis, and takes the axis off again if it was added: torch's layers
/// take single images.
template <class F>
Tensor batched(Arg x, int axes, F&& f) {
  bool added = false;
  const Site site = x.site();
  Tensor image = with_batch(x, axes, added);
  Tensor y = f(Arg(std::move(image), site));
  return added ? without_batch(y, site) : y;
}

/// Throws ShapeError unless x has as many dimensions as `least` to `most` says.
void check_rank(const char* layer, const Arg& x, int least, int most);

/// Returns "Conv2d" of "Conv" and 2.
inline std::string with_axes(const char* name, int axes) { return name + std::to_string(axes) + "d"; }

}  // namespace lazy::nn::detail
