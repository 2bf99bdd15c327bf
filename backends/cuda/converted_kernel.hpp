// Makes a matrix product whose sides are converted first, where that pays.
#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/gpu.hpp"
#include "jit/backend/backend.hpp"
#include "jit/ir/converted.hpp"

namespace lazy::cuda_backend {

/// Makes a kernel that converts the sides of large products into separate memory, by `conversions`, and
/// passes them to `product`, as cuBLASLt and tensor cores require; others go to `own`, which converts on the
/// way.
std::unique_ptr<jit::Kernel> make_converted_kernel(const jit::loop::LoopKernel&, jit::loop::ConvertedProduct,
                                                   std::unique_ptr<jit::Kernel> own,
                                                   std::unique_ptr<jit::Kernel> product,
                                                   std::vector<std::unique_ptr<jit::Kernel>> conversions);

}  // namespace lazy::cuda_backend
