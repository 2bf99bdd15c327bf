// Counts what a launch does, bytes touched and arithmetic, for reports.
#pragma once
#include "jit/ir/ir.hpp"

namespace lazy::jit {

struct Step;

/// Counts the operations of a kernel, without casts. An elementary function counts as one.
struct Work {
  double per_index = 0;  // operations of the body at one index of the box
  double per_row = 0;    // operations of the epilogue at one index of the parallel axes
  double gathered = 0;   // bytes that one index of the box reads at computed indices
};
/// Counts the operations of a kernel. `trips` has, by rolled loop of the kernel, how many iterations it has.
Work work_of(const loop::LoopKernel&, const std::vector<uint64_t>& trips);

/// Counts what a launch does. Each operand's bytes count once, however often its elements are read: those of
/// its elements, or of the memory that they lie in if that is less. What is read at computed indices counts
/// each time.
struct Amount {
  double indices = 1, bytes = 0, flops = 0;
};
/// Returns what a launch with these arguments does.
Amount amount_of(const Step&, const uint64_t* words);

}  // namespace lazy::jit
