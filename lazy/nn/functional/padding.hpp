// Pads tensors on any axes.
#pragma once
#include <concepts>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Says what stands outside of a tensor: a number; the elements mirrored at the first and the last one; the
/// nearest one; or the tensor again.
enum class PadMode : uint8_t { constant, reflect, replicate, circular };

/// Takes how many elements are added before and after the last axis, then before and after the one before it,
/// and so on: `{1, 2}`, or a vector. A negative number removes elements. (A pair for each axis is none of
/// these.)
struct Pads {
  std::vector<int64_t> values;
  template <IntegerType... T>
  Pads(T... n) : values{IntegerArg(n).value...} {}
  template <std::same_as<std::vector<int64_t>> V>
  Pads(const V& v) : values(v) {}
};

/// Adds elements around x, as `pads` says; other axes stay as they are. Keeps the dtype. ShapeError for an
/// odd number of pads, for more pairs than axes, where more is removed than there is, and where `reflect`
/// would need as many elements as the axis has, `circular` more than that, `replicate` one of none. `value`
/// is for PadMode::constant; DtypeError if it does not go into x's dtype.
Tensor pad(Arg x, const Pads& pads, PadMode mode = PadMode::constant, ScalarNumber value = 0);

}  // namespace lazy
