// Carries channels-last memory from op to op. An image (N, C, spatial...) in that format is a view of a value
// (N, spatial..., C), and is marked (Node::channels_last). The functions that carry it on record what they
// compute of that value, and return a view of the result, marked again: so nothing is reordered between them,
// gradients go the same way, and neither graph nor keys know of formats. Views of other kinds, and other
// functions, give results without the mark. Internal to lazy/.
#pragma once
#include <initializer_list>

#include "lazy/core/channel_layout.hpp"
#include "lazy/core/record.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::detail {

/// Sees an image (N, C, spatial...) as (N, spatial..., C).
Handle seen_last(const Handle& image, const Site&);
/// Sees (N, spatial..., C) as an image (N, C, spatial...) in channels-last memory.
Handle seen_first(const Handle& last, const Site&);

/// Sees a gradient in the memory format of its value: what updates the value goes along its memory then.
inline Handle in_format_of(const Handle& value, Handle gradient, const Site& s) {
  if (!value->channels_last || gradient->channels_last) [[likely]]
    return gradient;
  return seen_first(seen_last(gradient, s), s);
}

/// True for the axes of seen_last().
bool moves_channels_last(const Dims& axes);
/// Returns which axis of (N, spatial..., C) an axis of (N, C, spatial...) is.
inline int axis_last(int axis, int rank) { return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1; }

/// True if a pointwise op of these operands, whose result has `shape`, is recorded of their channels-last
/// values: one of that shape is in this format.
bool carries_format(std::initializer_list<const Handle*> operands, const Shape& shape);
/// Sees an operand that broadcasts to images of `rank` axes with its channels last.
Handle broadcast_last(const Handle& operand, int rank, const Site&);

/// True if a function of images that is asked for channels first is given one in channels-last memory.
inline bool lies_last(const Arg& x, ChannelLayout asked) {
  return asked == channels_first && x.handle() && x.handle()->channels_last;
}
/// Sees a function's argument as (N, spatial..., C), its result as an image in channels-last memory.
inline Arg arg_last(const Arg& x) { return Arg(seen_last(x.handle(), x.site()), x.site()); }
inline Tensor image_first(const Tensor& last, const Site& s) { return Tensor(seen_first(last.handle(), s)); }

}  // namespace lazy::detail
