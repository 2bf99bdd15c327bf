// Where the emulated device is (tests/emulated_cuda).
#pragma once
#include <cstdlib>

namespace lazy::test {

/// The shared library: LAZY_TEST_EMULATED_CUDA, or where the build put it.
inline const char* emulated_cuda_path() {
  const char* path = std::getenv("LAZY_TEST_EMULATED_CUDA");
  return path ? path : LAZY_EMULATED_CUDA;
}

}  // namespace lazy::test
