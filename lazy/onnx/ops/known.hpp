// Computes small values at once: what an op with only known inputs gives is known, too.
#pragma once
#include "lazy/onnx/ops/call.hpp"

namespace lazy::onnx {

/// True if a result is to be known: it is small, and no larger than the largest input unless it has but few
/// elements. What grows by broadcasting, such as a mask, is no arithmetic on shapes: as ops, it is one
/// program for all sizes.
bool stays_small(const Shape& result, size_t largest);
/// True if all inputs that are there are known.
bool all_known(const Call&);
/// Gives output 0 the op of each element of one or of two inputs, which broadcast, computed as float64 or
/// int64 and rounded to the dtype of the first input, or given as bools. Returns false if that can't be: an
/// input is not known, or the result too large.
bool known_unary(Call&, double (*real)(double), int64_t (*integer)(int64_t));
bool known_binary(Call&, double (*real)(double, double), int64_t (*integer)(int64_t, int64_t),
                  bool compares = false);
/// Returns the shape to which two broadcast; none if they don't fit.
std::optional<Shape> broadcast_shape(const Shape&, const Shape&);
/// Returns the element at each place of a shape that a known value broadcasts to.
std::vector<size_t> broadcast_places(const Shape& from, const Shape& to);
/// Returns the elements at these places, under a shape.
Known known_at(const Known&, const std::vector<size_t>& places, const Shape& shape);

}  // namespace lazy::onnx
