// Defines types of the driver that only rows of the tests use (driver.def).
#pragma once
#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

/// Represents CUfunction_attribute.
enum class FunctionAttribute : int {
  shared_bytes = 1,
  registers = 4,
  max_dynamic_shared_bytes = 8,
};

}  // namespace lazy::cuda_backend::api
