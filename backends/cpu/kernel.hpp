// Declares a compiled kernel.
#pragma once
#include <memory>
#include <string_view>

#include "backends/cpu/machine/features.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend {

std::unique_ptr<jit::Kernel> compile_kernel(const jit::loop::LoopKernel&, Isa);
/// Makes a kernel again from what stored() of one of the same loop kernel and level gave. Null if the bytes
/// make no sense.
std::unique_ptr<jit::Kernel> load_kernel(const jit::loop::LoopKernel&, Isa, std::string_view stored);

}  // namespace lazy::cpu_backend
