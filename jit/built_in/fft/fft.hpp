// Fourier transforms along the last axis, without a factor: of float32 or float64, in planes of real and
// imaginary parts.
//
//   fft          re, im (..., n)              -> re, im (..., n)           sum of x[j] exp(-2 pi i j k / n)
//   fft_columns  re, im (..., n, m)           likewise along the last axis but one: nothing is transposed
//   rfft         x (..., n)                   -> re, im (..., n / 2 + 1)   likewise
//   inverse_rfft re, im (..., n / 2 + 1), length (n, 0)  -> x (..., n)     sum of x[k] exp(2 pi i j k / n)
//
// The last one takes the other half of the spectrum as the conjugate, and the imaginary parts that would then
// be 0 as 0. `length` is a bool without elements: its shape says n. The inverse of fft is fft with parts
// exchanged.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

extern const CallDefinition kFft, kFftColumns, kRealFft, kInverseRealFft;

/// Says how many nanoseconds the transforms of a run take on one thread, roughly.
double fft_nanoseconds(int64_t rows, int64_t length);

}  // namespace lazy::jit::calls
