// Sizes of values in memory.
#pragma once
#include "jit/core/dtype.hpp"
#include "jit/core/shape.hpp"

namespace lazy {

/// Returns the bytes of a packed value.
inline size_t bytes_of(const Shape& shape, DType type) {
  return static_cast<size_t>(numel(shape)) * size_of(type);
}

}  // namespace lazy
