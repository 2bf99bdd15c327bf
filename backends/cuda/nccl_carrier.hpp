// Carries messages between GPUs of several processes by NCCL.
#pragma once
#include <memory>

#include "backends/cuda/gpu.hpp"
#include "jit/backend/carrier.hpp"

namespace lazy::cuda_backend {

/// Opens NCCL. Throws DeviceError if there is none.
std::unique_ptr<jit::Carrier> make_nccl_carrier(Gpu&);

}  // namespace lazy::cuda_backend
