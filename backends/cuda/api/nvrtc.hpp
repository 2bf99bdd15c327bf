// Declares NVRTC, the compiler of CUDA C++, as a table of functions.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

struct Nvrtc {
#define LAZY_NVRTC(field, name, ...) Result (*field)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/nvrtc.def"
  int major = 0, minor = 0;
  std::vector<int> architectures;  // it compiles for these: 75, 80, ...
};

/// Returns the compiler. The first call opens it. `newest` is the driver's major version, which the
/// compiler's must not exceed; 0: any. Throws DeviceError, at each call again, if there is none.
const Nvrtc& nvrtc(int newest = 0);

}  // namespace lazy::cuda_backend::api
