// Fourier transforms along the last axis, without a factor: of float32 or float64, in planes of real and
// imaginary parts.
//
//   fft          re, im (..., n)              -> re, im (..., n)           sum of x[j] exp(-2 pi i j k / n)
//   rfft         x (..., n)                   -> re, im (..., n / 2 + 1)   likewise
//   inverse_rfft re, im (..., n / 2 + 1), length (n, 0)  -> x (..., n)     sum of x[k] exp(2 pi i j k / n)
//
// With FftColumns as attributes fft goes along the last axis but one: of what lies in columns nothing is
// transposed.
//
// The last one takes the other half of the spectrum as the conjugate, and the imaginary parts that would then
// be 0 as 0. `length` is a bool without elements: its shape says n. The inverse of fft is fft with parts
// exchanged.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct FftColumns {
  uint8_t columns = 0;  // 1
};
extern const CallDefinition kFft, kRealFft, kInverseRealFft;

/// Says how many nanoseconds the transforms of a run take on one thread, roughly.
double fft_nanoseconds(int64_t rows, int64_t length);

}  // namespace lazy::jit::calls
