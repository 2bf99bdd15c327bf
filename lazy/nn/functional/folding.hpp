// Takes images apart into windows as columns, and adds columns up to images, by torch.nn.functional's names.
#pragma once
#include "lazy/nn/functional/convolution.hpp"

namespace lazy {

/// Holds one number for each spatial axis, or one for all.
struct FoldOptions {
  Axes stride = 1;    // distance between windows
  Axes padding = 0;   // elements of zeros before and after each spatial axis
  Axes dilation = 1;  // distance between the elements of a window
};

/// Returns the windows of an image as columns: x (N, C, S...) -> (N, C window..., L), L windows in row-major
/// order, as torch's im2col; two or three spatial axes, or one image (C, H, W) -> (C window..., L). R as in
/// conv(). Keeps the dtype.
Tensor unfold(Arg x, Axes window, const FoldOptions& options = {});
/// Adds the columns of windows up to an image of the spatial `extents`, two or three (one number: of both): x
/// (N, C window..., L) -> (N, C, S...), or (C window..., L) -> (C, S...), as torch's col2im. 16-bit floats
/// are added in float32. ShapeError unless L windows fit; DtypeError for bool.
Tensor fold(Arg x, Axes extents, Axes window, const FoldOptions& options = {});
inline Tensor im2col(Arg x, Axes window, const FoldOptions& options = {}) {
  return unfold(std::move(x), window, options);
}
inline Tensor col2im(Arg x, Axes extents, Axes window, const FoldOptions& options = {}) {
  return fold(std::move(x), extents, window, options);
}

}  // namespace lazy
