// Records for LAZY_PROFILE the programs that are compiled or loaded.
#pragma once
#include "jit/observe/profile.hpp"
#include "jit/passes/passes.hpp"

namespace lazy::jit::event {

/// Records the graph, its fusion groups, kernels and guards, once a program.
void program(const Trace&, const Fusion&, const Program&, const std::vector<loop::LoopKernel>&);
/// Records that programs for this captured graph's key came from disk.
void loaded(profile::Ticks start, const CapturedGraph&, const std::vector<std::shared_ptr<const Program>>&);

}  // namespace lazy::jit::event
