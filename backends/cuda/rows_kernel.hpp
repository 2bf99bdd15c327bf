// Compiles kernels along the same rows as one.
#pragma once
#include <memory>
#include <string_view>

#include "jit/backend/backend.hpp"

namespace lazy::cuda_backend {

/// Do what compile_kernel and load_kernel (kernel.hpp) do, for kernels along the same rows.
std::unique_ptr<jit::Kernel> compile_rows_kernel(const jit::loop::FusedRows&, int architecture,
                                                 int driver_major);
std::unique_ptr<jit::Kernel> load_rows_kernel(const jit::loop::FusedRows&, std::string_view stored,
                                              int architecture);

}  // namespace lazy::cuda_backend
