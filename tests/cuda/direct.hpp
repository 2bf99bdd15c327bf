// Generated kernels, compiled and launched by the plainest use of NVRTC and the driver: what the emitter's
// tests need of a device. Pointers of a launch are used as they are, so on the emulated device operands may
// lie in host memory.
#pragma once
#include <memory>
#include <string>

#include "jit/backend.hpp"

namespace lazy::test {

/// A compilation's outcome; `log` has what ptxas says of registers and spills.
struct Compiled {
  bool ok = false;
  std::string image, log;
};

/// NVRTC in the library `path`.
class Nvrtc {
 public:
  /// Null if the library or a function of it isn't there.
  static std::unique_ptr<Nvrtc> open(const std::string& path);
  /// For an architecture as "sm_90", with the options that the backend gives. From any thread.
  Compiled compile(const std::string& text, const std::string& arch) const;

 private:
  struct Functions;
  std::shared_ptr<const Functions> f_;
};

/// Where the real NVRTC is looked for: LAZY_TEST_NVRTC, or the loader's own path and the toolkit's usual
/// place. Null if there is none.
const Nvrtc* real_nvrtc();

/// The kernel on the emulated device. Throws what goes wrong.
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel&);
/// With only the first `functions` of its module, where the others are other ways to the same.
std::unique_ptr<jit::Kernel> on_emulated_device(const jit::loop::LoopKernel&, size_t functions);

}  // namespace lazy::test
