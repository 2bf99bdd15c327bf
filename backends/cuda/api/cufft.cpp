#include "backends/cuda/api/cufft.hpp"

#include "backends/cuda/api/library.hpp"

namespace lazy::cuda_backend::api {

const Cufft& cufft(int newest) {
  static auto& loaded = *new LoadedOnce<Cufft>;  // a process has one driver
  return loaded.get([&] {
    // cuFFT 12 is of CUDA 13, cuFFT 11 of CUDA 12.
    const SharedLibrary library = newest == 12 ? SharedLibrary("cuFFT", {"libcufft.so.11"})
                                               : SharedLibrary("cuFFT", {"libcufft.so.12", "libcufft.so.11"});
    Cufft t;
#define LAZY_CUFFT(field, name, ...) library.bind(t.field, #name);
#include "backends/cuda/api/cufft.def"
    return t;
  });
}

}  // namespace lazy::cuda_backend::api
