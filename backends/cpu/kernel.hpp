// A compiled kernel.
#pragma once
#include <memory>

#include "backends/cpu/features.hpp"
#include "jit/backend.hpp"

namespace lazy::cpu {

std::unique_ptr<jit::Kernel> compile_kernel(const jit::loop::LoopKernel&, Isa);

}  // namespace lazy::cpu
