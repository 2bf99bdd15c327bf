// Places the windows of convolutions and pooling as ONNX's attributes say: kernel, strides, dilations, pads
// and auto_pad.
#pragma once
#include "lazy/onnx/ops/call.hpp"

namespace lazy::onnx {

/// Holds a number for each spatial axis.
struct Windows {
  std::vector<int64_t> kernel, stride, dilation, before, after;
  bool ceil = false;

  /// Reads attributes for an image (N, C, S...) and windows of `kernel` elements. ShapeError where they don't
  /// fit.
  Windows(Call&, const Shape& image, std::vector<int64_t> kernel);
  size_t size() const { return kernel.size(); }
  Axes strides() const { return Axes(Dims(std::span<const int64_t>(stride))); }
  Axes dilations() const { return Axes(Dims(std::span<const int64_t>(dilation))); }
  Axes window() const { return Axes(Dims(std::span<const int64_t>(kernel))); }
  Axes padding() const { return Axes(Dims(std::span<const int64_t>(before))); }
  /// True if each axis has as many elements before it as after it.
  bool symmetric() const { return before == after; }
  /// True if padding is at most half a window, as pooling asks for.
  bool pads_at_most_half() const;
  /// Returns the extents of what the windows give.
  std::vector<int64_t> count(const Shape& image) const;
  /// Returns, for each axis, how many elements the last window needs beyond the padding.
  std::vector<int64_t> overhang(const Shape& image) const;
};

/// Adds elements before and after the spatial axes of an image.
Tensor pad_image(Call&, const Tensor& image, const std::vector<int64_t>& before,
                 const std::vector<int64_t>& after, const ScalarNumber& value);
/// Returns true if all are 0.
bool all_zero(const std::vector<int64_t>&);
/// Returns why attribute auto_pad is not supported; an empty text if it is.
std::string check_auto_pad(const NodeProto&);

}  // namespace lazy::onnx
