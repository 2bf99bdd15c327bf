// Makes a matrix product whose sides are converted first, where that pays.
#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/gpu.hpp"
#include "jit/backend/backend.hpp"
#include "jit/ir/converted.hpp"

namespace lazy::cuda_backend {

/// Large products convert their sides into memory of their own, by `conversions`, and go to `product`, as
/// cuBLASLt and tensor cores want them; others go to `own`, which converts on the way.
std::unique_ptr<jit::Kernel> make_converted_kernel(const jit::loop::LoopKernel&, jit::loop::ConvertedProduct,
                                                   std::unique_ptr<jit::Kernel> own,
                                                   std::unique_ptr<jit::Kernel> product,
                                                   std::vector<std::unique_ptr<jit::Kernel>> conversions);

}  // namespace lazy::cuda_backend
