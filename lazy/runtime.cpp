// Assembles the library: registers the backends of this process.
#include "backends/cpu/backend.hpp"
#include "backends/cuda/backend.hpp"
#include "backends/reference/backend.hpp"
#include "jit/backend/registry.hpp"

namespace lazy::jit {

Backends make_backends() {
  Backends b;
  b.reference = reference::make_backend();
  b.main = cpu_backend::make_backend();
  b.cuda = cuda_backend::make_devices();
  return b;
}

}  // namespace lazy::jit
