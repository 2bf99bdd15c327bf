// Implements what lanes of a warp do together: shuffles, votes, __syncwarp.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/emulated_cuda/module_interface.hpp"

namespace emulated {

/// Holds one call that lanes of a warp make together; done when all of the mask have arrived.
struct Meeting {
  Collective kind;
  uint32_t mask;
  int width;
  uint32_t arrived;
  std::array<uint64_t, 32> value;
  std::array<uint32_t, 32> argument;
};

/// Returns the result of lane `lane`. A lane that reads from outside the mask gets garbage.
uint64_t outcome(const Meeting&, int lane);
/// Returns null, or why `lane` cannot take part in a call of a warp of `lanes`.
const char* complaint(uint32_t mask, int width, int lane, int lanes);
/// Returns the name that the language has for it.
const char* name_of(Collective);

}  // namespace emulated
