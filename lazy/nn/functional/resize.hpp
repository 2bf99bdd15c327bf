// Resizes images and samples them at given positions; moves elements between channels and space. By
// torch.nn.functional's names.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/nn/functional/convolution.hpp"

namespace lazy {

/// Says which elements make up one between them: the nearest (as torch or, `nearest_exact`, by the distance
/// of centres), a line through two, a cubic through four for each axis; or the mean of an area.
enum class Interpolation : uint8_t {
  nearest,
  nearest_exact,
  linear,
  cubic,
  area,
  bilinear = linear,
  trilinear = linear,
  bicubic = cubic
};

/// Holds options of interpolate(): exactly one of `size` and `scale_factor`, one for each spatial axis or one
/// for all.
struct InterpolateOptions {
  Axes size = {};                         // extents of the result
  std::vector<double> scale_factor = {};  // the result has floor(extent scale_factor) elements
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  // linear and cubic: the centres, not the edges, of the outer elements coincide
  ChannelLayout layout = channels_first;
  bool antialias = false;  // linear and cubic, two spatial axes: a smaller result averages all of x
};

/// Resizes the spatial axes, one to three, of x: (N, C, S...) or (N, S..., C). Linear, cubic and area:
/// floating point (integers become the default dtype); the nearest keeps the dtype. Cubic (A = -0.75, with
/// antialias -0.5) takes two spatial axes. ShapeError where the options don't fit, an extent would be less
/// than 1, and for images without elements.
Tensor interpolate(Arg x, const InterpolateOptions& options);
inline Tensor upsample(Arg x, const InterpolateOptions& options) {
  return interpolate(std::move(x), options);
}

/// Resizes a picture (height, width) or (height, width, channels) as bilinear interpolation does, where a
/// smaller one averages all pixels; of integers, the result is rounded and keeps their dtype. ShapeError for
/// other shapes and where interpolate() throws it; DtypeError for bool and complex numbers.
Tensor imresize(Arg picture, IntegerArg height, IntegerArg width);

/// Says how grid_sample() reads outside of an image: as 0, the nearest element, or mirrored at the border.
enum class GridPadding : uint8_t { zeros, border, reflection };
struct GridOptions {
  Interpolation mode = Interpolation::linear;  // or nearest; or, of two spatial axes, cubic (A = -0.75)
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;  // -1 and 1 are the centres, not the edges, of the outer elements
};
/// Reads x (N, C, S...) at the positions of grid (N, R..., n) -> (N, C, R...), n = 1 to 3 spatial axes: a
/// position has the last spatial axis first, -1 to 1 being the image. NaN counts as -1. Dtypes promote to a
/// floating-point one; positions are computed in it. ShapeError where the shapes don't fit.
Tensor grid_sample(Arg x, Arg grid, const GridOptions& options = {});
/// Returns the positions that affine maps send those of an image to, for grid_sample(): theta (N, n, n + 1),
/// n 2 or 3, for an image of `size` (N, C, S...) -> (N, S..., n). align_corners as there. ShapeError where
/// they don't fit.
Tensor affine_grid(Arg theta, ShapeArg size, bool align_corners = false);

/// Moves channels into blocks of r x r elements: (..., C r r, H, W) -> (..., C, H r, W r). ShapeError if the
/// channels don't make such blocks.
Tensor pixel_shuffle(Arg x, IntegerArg r);
/// Moves blocks of r x r elements into channels: (..., C, H r, W r) -> (..., C r r, H, W).
Tensor pixel_unshuffle(Arg x, IntegerArg r);
/// Exchanges the order of groups and channels in a group: x (N, groups c, ...), channel g c + i becomes
/// i groups + g. ShapeError if the channels make no such groups.
Tensor channel_shuffle(Arg x, IntegerArg groups);

}  // namespace lazy
