// Functions made of Fourier transforms: short-time spectra, cosine transforms, convolutions, windows.
#pragma once
#include <string>

#include "lazy/fft/fft.hpp"

namespace lazy {

// Windows of n elements, at least none (ShapeError), as torch makes them: periodic ones are the first n of n
// + 1 symmetric elements, for spectra. A floating-point dtype (DtypeError).

/// Returns sin^2(pi k / n).
Tensor hann_window(IntegerArg n, bool periodic = true, MaybeDType dtype = {}, MaybeDevice device = {},
                   Site = Site::current());
/// Returns alpha - beta cos(2 pi k / n).
Tensor hamming_window(IntegerArg n, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                      MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
/// Returns 0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n).
Tensor blackman_window(IntegerArg n, bool periodic = true, MaybeDType dtype = {}, MaybeDevice device = {},
                       Site = Site::current());
/// Returns 1 - |2 k / n - 1|.
Tensor bartlett_window(IntegerArg n, bool periodic = true, MaybeDType dtype = {}, MaybeDevice device = {},
                       Site = Site::current());
/// Returns i0(beta sqrt(1 - (2 k / n - 1)^2)) / i0(beta).
Tensor kaiser_window(IntegerArg n, bool periodic = true, double beta = 12, MaybeDType dtype = {},
                     MaybeDevice device = {}, Site = Site::current());

}  // namespace lazy

namespace lazy::fft {

struct StftOptions {
  int64_t hop_length = 0;  // samples from one frame to the next; 0: a quarter of n_fft
  int64_t win_length = 0;  // samples of the window; 0: n_fft. In the middle of a frame, with zeros around
  Tensor window = {};      // (win_length); none: ones
  bool center = true;      // frame t has sample t hop_length in its middle: both ends are padded
  std::string pad_mode = "reflect";  // how (pad() of tensors)
  bool normalized = false;           // times 1 / sqrt(n_fft)
  bool onesided = true;              // n_fft / 2 + 1 bins of real samples; of complex ones always n_fft
};

/// Returns the transforms of frames of n_fft samples: (..., samples) -> (..., bins, frames). ShapeError for
/// fewer samples than a frame has, and for a window of another length.
Tensor stft(Arg x, IntegerArg n_fft, const StftOptions& options = {});
/// Returns the samples whose stft() with these options is nearest: (..., bins, frames) -> (..., length).
/// Without a length, as many as the frames cover. Samples that no window covers are NaN.
Tensor istft(Arg x, IntegerArg n_fft, const StftOptions& options = {}, Length length = {});

// Cosine transforms of real numbers, of type 1, 2, 3 or 4 (Error for others), as SciPy's: without a factor,
// with norm "ortho" orthogonal, with "forward" divided by 2 n, 2 (n - 1) of type 1. DtypeError for complex
// numbers.

/// Returns, of type 2, 2 times the sum over j of x[j] cos(pi k (2 j + 1) / (2 n)).
Tensor dct(Arg x, int type = 2, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");
/// Returns the inverse.
Tensor idct(Arg x, int type = 2, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");

/// Returns the analytic signal of real numbers: x + i times its Hilbert transform along the axis.
Tensor hilbert(Arg x, Length n = {}, IntegerArg axis = -1);

/// Convolves along all axes, by transforms. "full": all sums with a term; "same": the middle of them, of a's
/// shape; "valid": those with all terms. ShapeError for different numbers of axes, and, of "valid", unless
/// one is as long as the other along every axis; Error for another mode.
Tensor fftconvolve(Arg a, Arg b, const std::string& mode = "full");

struct Periodogram {
  Tensor frequencies;  // (bins), 0 ... rate / 2
  Tensor power;        // (..., bins), of a unit of frequency
};
/// Returns the power of real samples by frequency, as SciPy's periodogram: their mean along the last axis is
/// subtracted, and a window (ones, if none is given) multiplies them. `rate`: samples in a unit of time.
Periodogram periodogram(Arg x, double rate = 1, const MaybeTensor& window = {});

}  // namespace lazy::fft
