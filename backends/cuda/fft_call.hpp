// Runs the calls of jit/built_in/fft on a GPU.
#pragma once
#include <memory>

#include "backends/cuda/gpu.hpp"
#include "jit/calls/call.hpp"

namespace lazy::cuda_backend {

/// Returns null for other calls, and where there is no cuFFT.
std::unique_ptr<jit::CallKernel> make_fft_call(const jit::CallSpec&, Gpu&);

}  // namespace lazy::cuda_backend
