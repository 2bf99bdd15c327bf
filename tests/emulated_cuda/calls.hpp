// Counts calls of the driver's, NVRTC's, cuBLASLt's, cuFFT's and NCCL's functions, and makes some fail.
#pragma once
#include <optional>
#include <string_view>

#include "backends/cuda/api/types.hpp"

namespace emulated {

using namespace lazy::cuda_backend::api;

/// Counts a call; returns the result that it must give without doing anything, if a failure was injected for
/// it.
std::optional<Result> count_call(std::string_view function);
/// Forgets counts and injected failures; EMULATED_CUDA_INJECT is read again.
void reset_calls();

}  // namespace emulated
