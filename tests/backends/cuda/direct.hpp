// Generated kernels, launched by the plainest use of the driver: what the emitter's tests need of a device.
// Pointers of a launch are used as they are, so on the emulated device operands may lie in host memory.
#pragma once
#include <memory>
#include <string>

#include "jit/backend/backend.hpp"

namespace lazy::test {

/// A compilation's outcome; `log` has what ptxas says of registers and spills.
struct Compiled {
  bool ok = false;
  std::string image, log;
};

/// Why the real NVRTC can't be used, wherever it is looked for when LAZY_CUDA_PATH says nothing; empty if it
/// can.
const std::string& no_real_nvrtc();
/// From any thread, once that was asked.
Compiled with_real_nvrtc(const std::string& text, int architecture);

/// The kernel on the emulated device. Throws what goes wrong.
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel&);
/// With only the first `functions` of its module, where the others are other ways to the same.
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel&, size_t functions);
/// As it is launched where sums may have any order: by large tiles, if there are that many of them.
std::unique_ptr<jit::Kernel> with_tensor_cores(const jit::loop::LoopKernel&, int multiprocessors);

/// A function of a module written by hand, on the emulated device; `args` is its argument. Throws what goes
/// wrong.
void run_on_emulated_device(const std::string& text, const char* function, unsigned blocks, unsigned threads,
                            void* args);

}  // namespace lazy::test
