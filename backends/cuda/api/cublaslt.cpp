#include "backends/cuda/api/cublaslt.hpp"

#include "backends/cuda/api/library.hpp"

namespace lazy::cuda_backend::api {

const CublasLt& cublaslt() {
  static auto& loaded = *new LoadedOnce<CublasLt>;
  return loaded.get([] {
    const SharedLibrary library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"});
    CublasLt t;
#define LAZY_CUBLASLT(field, name, ...) library.bind(t.field, #name);
#include "backends/cuda/api/cublaslt.def"
    return t;
  });
}

}  // namespace lazy::cuda_backend::api
