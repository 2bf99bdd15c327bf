// Declares cuFFT as a table of functions. It is opened when the first program with a Fourier transform is
// made: it has 290 MB.
#pragma once
#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

using FftHandle = int;                                   // cufftHandle
inline constexpr Result kFftNoMemory = 2;                // CUFFT_ALLOC_FAILED
inline constexpr int kFftForward = -1, kFftInverse = 1;  // CUFFT_FORWARD, CUFFT_INVERSE
inline constexpr Result kFftInvalidSize = 8;             // CUFFT_INVALID_SIZE
static_assert(kFftNoMemory == kOutOfMemory);             // Gpu::with_room takes either

/// Declares cufftType: of float32 and float64, complex to complex, real to complex and back.
enum class FftType : int { c2c = 0x29, r2c = 0x2a, c2r = 0x2c, z2z = 0x69, d2z = 0x6a, z2d = 0x6c };

struct Cufft {
#define LAZY_CUFFT(field, name, ...) Result (*field)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/cufft.def"
};

/// Returns the library. The first call opens it. `newest` is the driver's major version of CUDA, which the
/// library's must not exceed. Throws DeviceError, at each call again, if there is none.
const Cufft& cufft(int newest);

}  // namespace lazy::cuda_backend::api
