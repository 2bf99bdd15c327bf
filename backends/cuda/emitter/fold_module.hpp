// Writes a module that combines several values of as many elements, which lie one behind the other.
#pragma once
#include <cstdint>
#include <string>

#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::cuda_backend {

inline constexpr const char* kFoldFunction = "fold";
inline constexpr unsigned kFoldThreads = 256;  // of a block; each has an element

/// Holds the words of a launch.
struct FoldWords {
  uint64_t values, to;  // addresses
  uint64_t count, n;    // of values; of the elements of each
};

/// Returns the module's text: elements are combined in the order of the values, by add, multiply, minimum or
/// maximum, 16-bit floats in float32. Its one function is kFoldFunction. The bits are those of
/// lazy/distributed/sums.
std::string emit_fold(DType, jit::Op);

}  // namespace lazy::cuda_backend
