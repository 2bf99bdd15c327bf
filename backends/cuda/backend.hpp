// Declares the backend of NVIDIA GPUs.
#pragma once
#include <memory>

#include "jit/backend/registry.hpp"

namespace lazy::cuda_backend {

std::unique_ptr<jit::Devices> make_devices();

/// Makes a backend that compiles for an architecture (90: sm_90) and has no device: everything else throws
/// DeviceError.
std::unique_ptr<jit::Backend> make_cross_compiler(int architecture);

}  // namespace lazy::cuda_backend
