// Declares the CPU backend, whose kernels are compiled for this machine and run on its processors.
#pragma once
#include <memory>

#include "backends/cpu/machine/features.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend {

/// Makes the backend for the level that LAZY_CPU_ISA requests. Throws DeviceError when the machine lacks it.
/// Kernels of the level `reference` are run by the reference backend's loops.
std::unique_ptr<jit::Backend> make_backend();
/// Makes the backend for a level by name, whatever the environment says.
std::unique_ptr<jit::Backend> make_backend(Isa);

}  // namespace lazy::cpu_backend
