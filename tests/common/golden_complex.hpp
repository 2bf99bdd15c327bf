// Reads tensors of complex numbers from golden files: DTYPE SHAPE VALUES, of complex numbers both parts
// (tests/golden/complex_fields.py writes them).
#pragma once
#include <complex>
#include <cstdlib>
#include <string>
#include <vector>

#include "jit/core/shape.hpp"
#include "tests/common/golden_lines.hpp"

namespace golden {

/// Holds elements of any dtype, those of real ones with an imaginary part of 0.
struct ComplexValue {
  lazy::DType dtype{};
  lazy::Shape shape;
  std::vector<std::complex<double>> elements;
};

inline ComplexValue complex_value(const std::string& field) {
  const std::vector<std::string> w = words(field);
  ComplexValue v;
  v.dtype = dtype_named(w[0]);
  if (w[1] != "-")
    for (const std::string& n : words(w[1], ',')) v.shape.push_back(std::stoll(n));
  const auto number = [&](size_t i) { return std::strtod(w[i].c_str(), nullptr); };
  for (size_t i = 2; i < w.size(); i += is_complex(v.dtype) ? 2 : 1)
    v.elements.emplace_back(number(i), is_complex(v.dtype) ? number(i + 1) : 0);
  return v;
}

}  // namespace golden
