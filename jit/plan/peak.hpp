// Works out how much memory the values of a run take at once.
#pragma once
#include <cstdint>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns the most bytes that values that the program computes take at a time, with the captured graph's
/// extents. Values that become tensors' count; memory that is taken over from inputs, and a tile group's
/// scratch, do not.
uint64_t peak_bytes(const Program&, const CapturedGraph&);

}  // namespace lazy::jit
