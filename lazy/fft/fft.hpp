// Discrete Fourier transforms, with NumPy's names, axes, lengths and factors. Any length; integers become the
// default dtype, 16-bit floats float32. What is transformed is one op (docs/fourier.md).
#pragma once
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy::fft {

/// Takes the length of a transform, which may be left out, or be none: then it is the axis' extent.
struct Length {
  int64_t value = -1;  // -1: none given
  Length() = default;
  Length(NoneType) {}
  template <IntegerType T>
  Length(T n) : value(n < T(0) ? 0 : IntegerArg(n).value) {}
  bool given() const { return value >= 0; }
};

// Each transform has its axis cut, or filled with zeros, to n elements, of which there is one at least
// (ShapeError). `norm` says where the factor 1 / n is: "backward" in the inverse, "forward" in the transform,
// "ortho" as its root in both (Error for others). Results are complex64 or complex128 unless said otherwise.

/// Returns the sum over j of x[j] exp(-2 pi i j k / n).
Tensor fft(Arg x, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");
/// Returns 1 / n times the sum over k of x[k] exp(2 pi i j k / n).
Tensor ifft(Arg x, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");
/// Returns the first n / 2 + 1 elements of the transform of real numbers: the rest mirrors them. DtypeError
/// for complex ones.
Tensor rfft(Arg x, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");
/// Returns the n real numbers, 2 (extent - 1) unless given, whose rfft() is x.
Tensor irfft(Arg x, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");
/// Returns the transform of what mirrors itself as rfft() does: n real numbers, 2 (extent - 1) unless given.
Tensor hfft(Arg x, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");
/// Returns the inverse of hfft(): the first n / 2 + 1 elements. DtypeError for complex numbers.
Tensor ihfft(Arg x, Length n = {}, IntegerArg axis = -1, const std::string& norm = "backward");

// Along several axes: the last two, or, of the names with n, all of them, or as many as `s` has, from the
// end. `s` has a length for each axis. IndexError for an axis that is named twice.

Tensor fft2(Arg x, ShapeArg s = {}, Axes axes = {-2, -1}, const std::string& norm = "backward");
Tensor ifft2(Arg x, ShapeArg s = {}, Axes axes = {-2, -1}, const std::string& norm = "backward");
Tensor rfft2(Arg x, ShapeArg s = {}, Axes axes = {-2, -1}, const std::string& norm = "backward");
Tensor irfft2(Arg x, ShapeArg s = {}, Axes axes = {-2, -1}, const std::string& norm = "backward");
Tensor fftn(Arg x, ShapeArg s = {}, Axes axes = {}, const std::string& norm = "backward");
Tensor ifftn(Arg x, ShapeArg s = {}, Axes axes = {}, const std::string& norm = "backward");
Tensor rfftn(Arg x, ShapeArg s = {}, Axes axes = {}, const std::string& norm = "backward");
Tensor irfftn(Arg x, ShapeArg s = {}, Axes axes = {}, const std::string& norm = "backward");

/// Returns the frequencies of the elements of fft(), in the order in which they are there: 0, 1, ..., -1,
/// over n d, where d is the distance of samples. ShapeError for n < 1.
Tensor fftfreq(IntegerArg n, double d = 1, MaybeDType dtype = {}, MaybeDevice device = {},
               Site = Site::current());
/// Returns those of rfft(): 0, 1, ..., n / 2, over n d.
Tensor rfftfreq(IntegerArg n, double d = 1, MaybeDType dtype = {}, MaybeDevice device = {},
                Site = Site::current());
/// Moves the frequency 0 to the middle of each axis (none given: of all), or back.
Tensor fftshift(Arg x, Axes axes = {});
Tensor ifftshift(Arg x, Axes axes = {});

}  // namespace lazy::fft
