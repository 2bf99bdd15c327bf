// Pads tensors on any axes.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Says what stands outside of a tensor: a number; the elements mirrored at the first and the last one; the
/// nearest one; or the tensor again.
enum class PadMode : uint8_t { constant, reflect, replicate, circular };

/// Adds elements: `pads` has how many before and after the last axis, then before and after the one before
/// it, and so on; other axes stay as they are. Keeps the dtype. A negative number removes elements.
/// ShapeError for an odd number of pads, for more pairs than axes, where more is removed than there is, and
/// where `reflect` would need as many elements as the axis has, `circular` more than that, `replicate` one of
/// none. `value` is for PadMode::constant; DtypeError if it does not go into x's dtype.
Tensor pad(Arg x, const std::vector<int64_t>& pads, PadMode mode = PadMode::constant, Number value = 0);

}  // namespace lazy
