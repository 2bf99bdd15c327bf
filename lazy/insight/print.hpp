// Prints a tensor, as NumPy 2 prints an array with str().
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Says how tensors print; the defaults are NumPy's.
struct PrintOptions {
  int precision = 8;  // most digits after the point; fewer where fewer tell the value apart in its dtype
  int64_t threshold = 1000;  // more elements than this are summarised with ...
  int64_t edgeitems = 3;     // elements shown at each end of a summarised axis
  int linewidth = 75;
  bool suppress = false;  // no exponent for small values
  char sign = '-';        // '-': only of negative numbers; '+': always; ' ': a space for positive ones
};
/// Sets the options for the process; any thread may call it.
void set_printoptions(const PrintOptions&, Site = Site::current());
PrintOptions get_printoptions();

/// Returns row-major elements in host memory as text.
std::string format(const void* data, DType, const Shape&, const PrintOptions&);
std::string format(const void* data, DType, const Shape&);
/// Evaluates and returns the text.
std::string to_string(const Tensor&, Site = Site::current());
/// Writes the text, and a new line, on standard output. Evaluates.
void print(LocatedTensor x);
/// Print as "[3, 4]", "float32", "cuda:0".
std::ostream& operator<<(std::ostream&, const Dims&);
std::ostream& operator<<(std::ostream&, DType);
std::ostream& operator<<(std::ostream&, Device);

}  // namespace lazy
