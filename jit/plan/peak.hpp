// The memory that a run's own values take at once.
#pragma once
#include <cstdint>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns the most bytes that values of the program's own take at a time, with the captured graph's extents;
/// those that become tensors' values included, memory that is taken over from inputs and a tile group's
/// scratch not.
uint64_t peak_bytes(const Program&, const CapturedGraph&);

}  // namespace lazy::jit
