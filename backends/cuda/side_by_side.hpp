// Runs compiles side by side: modules take long to compile, and NVRTC compiles any number at once.
#pragma once
#include <cstdint>
#include <functional>

namespace lazy::cuda_backend {

/// Calls task(0) ... task(pieces - 1) and returns when all are done. The calling thread takes part; others
/// help as far as LAZY_NUM_THREADS allows (0: as many as there are processors), which bounds all such calls
/// of the process together, nested ones too. Throws what the first task to fail threw.
void side_by_side(int64_t pieces, const std::function<void(int64_t)>& task);

}  // namespace lazy::cuda_backend
