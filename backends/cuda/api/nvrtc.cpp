#include "backends/cuda/api/nvrtc.hpp"

#include <map>
#include <mutex>

#include "backends/cuda/api/library.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::cuda_backend::api {
namespace {

Nvrtc load(int newest) {
  const SharedLibrary library = newest == 12 ? SharedLibrary("NVRTC", {"libnvrtc.so.12"})
                                             : SharedLibrary("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"});
  Nvrtc n;
#define LAZY_NVRTC(field, name, ...) library.bind(n.field, #name);
#include "backends/cuda/api/nvrtc.def"
  if (n.version(&n.major, &n.minor) != kSuccess)
    throw DeviceError("NVRTC (" + library.path() + ") has no version");
  if (newest && n.major > newest)
    throw DeviceError("NVRTC (" + library.path() + ") is of CUDA " + std::to_string(n.major) +
                      ", newer than the driver, which is of CUDA " + std::to_string(newest));
  int count = 0;
  if (n.supported_count(&count) == kSuccess) {
    n.architectures.resize(static_cast<size_t>(count));
    if (count && n.supported(n.architectures.data()) != kSuccess) n.architectures.clear();
  }
  return n;
}

}  // namespace

const Nvrtc& nvrtc(int newest) {
  static constinit Mutex lock;
  static auto& all = *new std::map<int, LoadedOnce<Nvrtc>>;
  LoadedOnce<Nvrtc>& loaded = [&]() -> LoadedOnce<Nvrtc>& {
    const std::lock_guard hold(lock);
    return all[newest];
  }();
  return loaded.get([&] { return load(newest); });
}

}  // namespace lazy::cuda_backend::api
