// Kernels along the same rows, compiled as one.
#pragma once
#include <memory>
#include <string_view>

#include "jit/backend/backend.hpp"

namespace lazy::cuda_backend {

/// As compile_kernel and load_kernel (kernel.hpp).
std::unique_ptr<jit::Kernel> compile_rows_kernel(const jit::loop::FusedRows&, int architecture,
                                                 int driver_major);
std::unique_ptr<jit::Kernel> load_rows_kernel(const jit::loop::FusedRows&, std::string_view stored,
                                              int architecture);

}  // namespace lazy::cuda_backend
