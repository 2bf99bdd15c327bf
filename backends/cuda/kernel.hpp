// Compiles and loads kernels: a cubin, and how it is launched.
#pragma once
#include <memory>
#include <string_view>

#include "backends/cuda/gpu.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cuda_backend {

/// Compiles a kernel for one architecture. Word loop::ArgLayout::kContext of its launches is a Gpu. Compiling
/// needs no GPU.
std::unique_ptr<jit::Kernel> compile_kernel(const jit::loop::LoopKernel&, int architecture, int driver_major);
/// Makes a kernel again from what stored() of one of the same loop kernel and architecture gave. Null if the
/// bytes make no sense.
std::unique_ptr<jit::Kernel> load_kernel(const jit::loop::LoopKernel&, std::string_view stored);

}  // namespace lazy::cuda_backend
