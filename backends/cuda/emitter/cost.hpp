// Estimates how much a kernel's code costs, for deciding how many copies of it are worth having.
#pragma once
#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// Returns roughly the number of instructions of one evaluation of body[first, last).
int cost_of(const jit::loop::LoopKernel&, size_t first, size_t last);
/// Counts the operands that body[first, last) loads; if `sequential` >= 0, only those that move along that
/// axis.
int count_loads(const jit::loop::LoopKernel&, size_t first, size_t last, int sequential = -1);

}  // namespace lazy::cuda_backend
