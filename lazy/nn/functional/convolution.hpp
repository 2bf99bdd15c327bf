// Composes convolutions of windows (which never copy), one copy of what a block of outputs reads, and a
// matrix product. They are cross-correlations, as in every neural network library.
//
//   y = conv2d(x, w, {.stride = 2, .padding = 1});                  // x (N, C, H, W), w (O, C, 3, 3)
//   y = conv2d(x, w, {.padding = 1, .layout = channels_last});      // x (N, H, W, C), w (3, 3, C, O)
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/nn/functional/padding.hpp"

namespace lazy {

/// Asks for as much padding as gives the result the image's extents.
struct SamePadding {};
inline constexpr SamePadding same_padding{};

/// Takes the number of elements before and after each spatial axis, one for each or one for all, or
/// same_padding.
struct ConvPadding : Axes {
  bool same = false;
  ConvPadding() = default;
  ConvPadding(SamePadding) : Axes(0), same(true) {}
  ConvPadding(const Axes& a) : Axes(a) {}
  ConvPadding(std::initializer_list<IntegerArg> v, Site s = Site::current()) : Axes(v, s) {}
  template <IntegerType T>
  ConvPadding(T n) : Axes(n) {}
};

/// Holds one number for each spatial axis, or one for all.
struct ConvOptions {
  Axes stride = 1;          // distance between windows
  ConvPadding padding = 0;  // number of elements before and after each spatial axis
  Axes dilation = 1;        // distance between the elements of a window
  IntegerArg groups = 1;
  ChannelLayout layout = channels_first;
  Axes output_padding = 0;  // conv_transpose: extents added at the end of each spatial axis
  Tensor bias = {};         // (O), added to each channel of the result; none if default-constructed
  PadMode padding_mode = PadMode::constant;  // what the padding has: zeros, or elements of the image
  MaybeDType dtype = {};  // of the result, to which operands convert: sums of int8 in int32 are exact
};

/// Convolves over the spatial axes: all but the batch and the channels.
///
///   channels_first   x (N, C, S...)   w (O, C / groups, K...)   ->  (N, O, R...)
///   channels_last    x (N, S..., C)   w (K..., C / groups, O)   ->  (N, R..., O)
///   R = (S + 2 padding - dilation (K - 1) - 1) / stride + 1
///
/// Dtypes promote; 16-bit floats accumulate in float32. ShapeError where the shapes don't fit each other, for
/// same_padding with a stride, and where padding_mode has too few elements (padding.hpp). same_padding adds
/// dilation (K - 1) elements, half of them before, the smaller half if that is odd.
Tensor conv(Arg x, Arg w, const ConvOptions& options = {});
/// Convolve over exactly one, two, three spatial axes, as conv() does.
Tensor conv1d(Arg x, Arg w, const ConvOptions& options = {});
Tensor conv2d(Arg x, Arg w, const ConvOptions& options = {});
Tensor conv3d(Arg x, Arg w, const ConvOptions& options = {});

/// Computes the gradient of conv() with respect to its input: each input element adds a window to the result.
///
///   channels_first   x (N, C, S...)   w (C, O / groups, K...)   ->  (N, O, R...)
///   channels_last    x (N, S..., C)   w (K..., C, O / groups)   ->  (N, R..., O)
///   R = (S - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1
///
/// Error for same_padding and a padding_mode.
Tensor conv_transpose(Arg x, Arg w, const ConvOptions& options = {});

}  // namespace lazy
