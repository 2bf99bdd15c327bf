// Shares positions in the flattened spatial axes of images (N, C, S...) between pooling with indices, its
// inverses and folding. Internal to lazy/.
#pragma once
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/spatial.hpp"

namespace lazy::detail {

/// Slides windows over a plane, the spatial axes of an image (N, C, S...). A position is an int64: the index
/// of an element in the flattened plane without its padding, or -1 in the padding.
struct Plane {
  const Formula& f;
  Dims extents;  // of the plane, without padding
  Dims padding;
  Windows windows;

  /// Throws ShapeError unless the image has one to three spatial axes and the windows fit it. `extra` as in
  /// Windows.
  Plane(const Formula& f, const Shape& image, const Dims& window, const Dims& stride, const Dims& padding,
        const Dims& dilation, const Dims& extra = {});

  int64_t elements() const { return numel(Shape(extents)); }
  /// Returns the number of windows.
  int64_t count() const { return numel(Shape(windows.count)); }
  /// Returns the positions of elements `tap` (int64: numbers in row-major order in a window) of windows,
  /// whose axes are the axes of `shape` from `first` on. A tap in the padding is replaced by the first
  /// element of the window that is not, if `inside`; else its position is -1.
  Handle positions(const Handle& tap, const Shape& shape, int first, bool inside) const;
  /// Returns the position of every element of every window: (1, 1, taps windows).
  Handle every_position(const Handle& like) const;
  /// Returns an image of the shape with values (N, C, M) added at positions (N, C, M), or (1, 1, M); at
  /// position -1 nothing is.
  Handle added(const Handle& values, const Handle& positions, const Shape& image) const;
};

/// Returns values (N, C, M) put at positions of a plane of zeros, or added there.
Handle put_in_planes(const Formula& f, const Handle& values, const Handle& positions, const Shape& image,
                     Combine combine, Bounds bounds);

}  // namespace lazy::detail
