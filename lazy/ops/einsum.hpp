// Sums products over any axes. The promoted dtype is the result's: 16-bit floats accumulate in float32,
// integers wrap; for bool the result is true if any product is.
#pragma once
#include <initializer_list>
#include <string_view>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Sums as Einstein's convention has it, in NumPy's notation: einsum("bij,bjk->bik", {a, b}). Each operand's
/// axes are letters; equal letters are iterated together (so their extents are equal), "ii" is a diagonal,
/// and letters missing after "->" are summed. Without "->" the result has the letters that occur once, in
/// alphabetical order. Products are taken from left to right, as matrix products where something is summed.
/// ShapeError for subscripts that cannot be read ("..." is not supported: name the axes) and for extents that
/// do not fit.
Tensor einsum(std::string_view subscripts, std::initializer_list<Arg> operands, Site = Site::current());

/// Take the operands one after another.
inline Tensor einsum(std::string_view subscripts, Arg a) { return einsum(subscripts, {a}, a.site()); }
inline Tensor einsum(std::string_view subscripts, Arg a, Arg b) {
  return einsum(subscripts, {a, b}, a.site());
}
inline Tensor einsum(std::string_view subscripts, Arg a, Arg b, Arg c) {
  return einsum(subscripts, {a, b, c}, a.site());
}

/// Sums over the last `axes` axes of a and the first ones of b, whose extents are equal in turn. The result
/// has the other axes of a, then those of b.
Tensor tensordot(Arg a, Arg b, IntegerArg axes = 2);
/// Sums likewise over the given axes of each, in pairs.
Tensor tensordot(Arg a, Arg b, Axes of_a, Axes of_b);

}  // namespace lazy
