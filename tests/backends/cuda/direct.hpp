// Launches generated kernels by the simplest use of the driver: what the emitter's tests need of a device.
// Pointers of a launch are used as they are, so on the emulated device operands may lie in host memory.
#pragma once
#include <memory>
#include <string>

#include "jit/backend/backend.hpp"

namespace lazy::test {

/// Holds a compilation's outcome; `log` has what ptxas prints about registers and spills.
struct Compiled {
  bool ok = false;
  std::string image, log;
};

/// Returns why the real NVRTC can't be used, wherever it is found when LAZY_CUDA_PATH is unset; empty if it
/// can be.
const std::string& no_real_nvrtc();
/// Compiles a text with it. Any thread may call this after no_real_nvrtc().
Compiled with_real_nvrtc(const std::string& text, int architecture);

/// Compiles the kernel for the emulated device. Throws if that fails.
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel&);
/// Compiles it with only the first `functions` of its module, where the others are alternatives.
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel&, size_t functions);
/// Compiles it as it is launched where sums may have any order: by large tiles, if there are that many of
/// them.
std::unique_ptr<jit::Kernel> with_tensor_cores(const jit::loop::LoopKernel&, int multiprocessors);

/// Runs a function of a module written by hand, on the emulated device; `args` is its argument. Throws if
/// that fails.
void run_on_emulated_device(const std::string& text, const char* function, unsigned blocks, unsigned threads,
                            void* args);

}  // namespace lazy::test
