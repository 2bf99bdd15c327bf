#include "backends/cuda/api/cublaslt.hpp"

#include <mutex>
#include <optional>

#include "backends/cuda/api/library.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend::api {

const CublasLt& cublaslt() {
  static std::mutex lock;
  static std::optional<CublasLt> loaded;
  static std::optional<DeviceError> failed;
  const std::lock_guard hold(lock);
  if (loaded) return *loaded;
  if (failed) throw DeviceError(*failed);
  try {
    const SharedLibrary library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"});
    CublasLt t;
#define LAZY_CUBLASLT(field, name, ...) library.bind(t.field, #name);
#include "backends/cuda/api/cublaslt.def"
    return loaded.emplace(t);
  } catch (const DeviceError& e) {
    failed = e;
    throw;
  }
}

}  // namespace lazy::cuda_backend::api
