// Implements LAZY_DUMP_DIR: writes the trace as a graph, and each kernel's loop IR, schedule and machine
// code.
#pragma once
#include <vector>

#include "jit/passes/passes.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Writes PREFIX.dot, PREFIX.trace.txt and PREFIX.kernelK.{ir,asm}.txt, PREFIX being programN. Does nothing
/// if the variable is unset; a directory that can't be written costs one warning.
void dump_program(const Trace&, const Fusion&, const Program&, const std::vector<loop::LoopKernel>&);

}  // namespace lazy::jit
