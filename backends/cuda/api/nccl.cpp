#include "backends/cuda/api/nccl.hpp"

#include "backends/cuda/api/library.hpp"

namespace lazy::cuda_backend::api {

const Nccl& nccl() {
  static auto& loaded = *new LoadedOnce<Nccl>;
  return loaded.get([] {
    const SharedLibrary library("NCCL", {"libnccl.so.2"});
    Nccl t;
#define LAZY_NCCL(result, field, name, ...) library.bind(t.field, #name);
#include "backends/cuda/api/nccl.def"
    return t;
  });
}

}  // namespace lazy::cuda_backend::api
