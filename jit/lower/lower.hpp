// Makes loop kernels of fused groups of trace values, and says how their operands are bound.
#pragma once
#include "jit/passes/passes.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

struct LowerOptions {
  bool strict_layout = false;  // assume nothing about layouts: the variant that needs no layout guards
  bool exact_casts = false;    // round 16-bit floats after every op
};

/// Fills a program's steps, slots, results, paths and layout guards. `kernels[i]` is what step i runs; it is
/// not compiled yet.
void lower(const Trace&, const Fusion&, const LowerOptions&, Program&,
           std::vector<loop::LoopKernel>& kernels);

}  // namespace lazy::jit
