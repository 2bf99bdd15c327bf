// Shares images (N, spatial..., C), their padding and windows between convolution and pooling. Internal to
// lazy/.
#pragma once
#include "lazy/core/build.hpp"
#include "lazy/nn/functional/convolution.hpp"

namespace lazy::detail {

/// Returns the extent with its padding; ShapeError if it cannot be counted.
int64_t with_padding(const char* op, int64_t extent, int64_t padding, const Site&);

/// Returns one extent for each of `count` spatial axes, each at least `least`; one given extent is for all.
/// ShapeError otherwise.
Dims per_axis(const char* op, const char* what, const Dims& given, int count, int64_t least, const Site&);

/// Move an image's channels from the user's layout to the last axis, and a result's back; both are
/// views.
Handle channels_to_last(const Handle&, ChannelLayout, const Site&);
Handle channels_from_last(const Handle&, ChannelLayout, const Site&);

/// Slides windows over the spatial axes 1 ... n of an image with its channels last.
struct Windows {
  Dims length, stride, dilation;  // by spatial axis
  Dims count;                     // number of windows, by spatial axis
  int64_t taps = 1;               // elements of a window

  /// Throws ShapeError if a window does not fit the padded image, which has `extra` more elements after each
  /// spatial axis (none if empty).
  Windows(const char* op, const Shape& image, const Dims& length, const Dims& stride, const Dims& padding,
          const Dims& dilation, const Site&, const Dims& extra = {});
  int spatial() const { return length.size(); }
  /// Returns (N, count..., C): the element at `position` (by spatial axis) of each window.
  Handle tap(const Handle& image, const Dims& position, const Site&) const;
  /// Moves `position` to the next element of a window, the last axis first; false after the last.
  bool next(Dims& position) const;
  /// Returns the view (N, count..., C, length...), without a copy.
  Handle view(const Handle& image, const Site&) const;
};

/// Places the image's spatial axes into larger ones filled with `value`: element i of axis a goes to
/// before[a] + i step[a]; `extents` are the new spatial extents.
Handle placed(const char* op, const Handle& image, const Dims& before, const Dims& step, const Dims& extents,
              const ScalarNumber& value, const Site&);
/// Adds `padding` elements of `value` before and after each spatial axis, and `extra` more after it (none if
/// empty). Without padding returns the image itself, unless it is to be copied `anew`, row-major.
Handle padded(const char* op, const Handle& image, const Dims& padding, const ScalarNumber& value,
              const Site&, bool anew = false, const Dims& extra = {});

/// Multiplies spatial axis `axis` of an image (N, spatial..., C), of `extent` elements, by a matrix (count,
/// extent).
Handle multiplied(const char* op, const Handle& image, int axis, const Handle& matrix, const Site&);

}  // namespace lazy::detail
