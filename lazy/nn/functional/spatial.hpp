// What convolution and pooling share: images (N, spatial..., C), their padding and windows. Internal to
// lazy/.
#pragma once
#include "lazy/core/build.hpp"
#include "lazy/nn/functional/convolution.hpp"

namespace lazy::detail {

/// The extent with its padding; ShapeError if it cannot be counted.
int64_t with_padding(const char* op, int64_t extent, int64_t padding, const Site&);

/// One extent for all of `count` spatial axes, or one each; each at least `least`. ShapeError otherwise.
Dims per_axis(const char* op, const char* what, const Dims& given, int count, int64_t least, const Site&);

/// The image with its channels last (a view), and a result of that layout as the user's layout has it (a
/// view).
Handle channels_to_last(const Handle&, ChannelLayout, const Site&);
Handle channels_from_last(const Handle&, ChannelLayout, const Site&);

/// The sliding of windows over the spatial axes 1 ... n of an image with its channels last.
struct Windows {
  Dims length, stride, dilation;  // by spatial axis
  Dims count;                     // how many windows there are
  int64_t taps = 1;               // elements of a window

  /// ShapeError if a window does not fit the padded image.
  Windows(const char* op, const Shape& image, const Dims& length, const Dims& stride, const Dims& padding,
          const Dims& dilation, const Site&);
  int spatial() const { return length.size(); }
  /// (N, count..., C): of each window the element at `position` (by spatial axis).
  Handle tap(const Handle& image, const Dims& position, const Site&) const;
  /// Moves `position` to the next element of a window, the last axis first; false after the last.
  bool next(Dims& position) const;
  /// (N, count..., C, length...), without a copy.
  Handle view(const Handle& image, const Site&) const;
};

/// The image with its spatial axes placed into larger ones of `value`: element i of axis a goes to
/// before[a] + i step[a]; `extents` are the new spatial extents.
Handle placed(const char* op, const Handle& image, const Dims& before, const Dims& step, const Dims& extents,
              const Number& value, const Site&);
/// `padding` elements of `value` before and after each spatial axis. Without padding the image itself, unless
/// it is to be laid out `anew`, row-major.
Handle padded(const char* op, const Handle& image, const Dims& padding, const Number& value, const Site&,
              bool anew = false);

}  // namespace lazy::detail
