// How much a launch does: bytes touched and arithmetic, for reports.
#pragma once
#include "jit/ir/ir.hpp"

namespace lazy::jit {

struct Step;

/// Arithmetic of a kernel, casts left out. An elementary function counts as one operation.
struct Work {
  double per_index = 0;  // of the box
  double per_row = 0;    // of the parallel axes: the epilogue
};
/// `trips`: of each rolled loop of the kernel.
Work work_of(const loop::LoopKernel&, const std::vector<uint64_t>& trips);

/// What a launch with these arguments reads and writes. Each operand counts once, however often its elements
/// are read: its elements, or the memory they lie in if that is less.
struct Amount {
  double indices = 1, bytes = 0, flops = 0;
};
Amount amount_of(const Step&, const uint64_t* words);

}  // namespace lazy::jit
