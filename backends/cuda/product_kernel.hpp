// Makes a matrix product that cuBLASLt may compute in place of the generated kernel.
#pragma once
#include <memory>

#include "backends/cuda/gpu.hpp"
#include "jit/backend/backend.hpp"
#include "jit/ir/product.hpp"

namespace lazy::cuda_backend {

/// Makes a kernel that gives large products to cuBLASLt (unless LAZY_CUDA_SUMS or LAZY_CUDA_BLAS say
/// otherwise, or there is none), whose sums have another order than the loop IR says; `epilogue` (null if the
/// product has a plain_output), compiled from epilogue_of(), follows. All others go to `own`.
std::unique_ptr<jit::Kernel> make_product_kernel(const jit::loop::LoopKernel&, const jit::loop::Product&,
                                                 std::unique_ptr<jit::Kernel> own,
                                                 std::unique_ptr<jit::Kernel> epilogue);

}  // namespace lazy::cuda_backend
