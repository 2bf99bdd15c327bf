// Writes floating-point numbers as decimal text for printing. Internal to lazy/.
#pragma once
#include <string>
#include <vector>

#include "lazy/insight/print.hpp"

namespace lazy::detail {

/// Holds the fewest digits that distinguish a value from its neighbours in its dtype: 0.d1 d2 d3... x
/// 10^point.
struct Digits {
  std::string digits;  // "0" for zero; no trailing zeros otherwise
  int point;
};
Digits shortest(double value, DType);

/// Returns a single value as NumPy prints a scalar: "1.5", "0.1", "1e+16".
std::string scalar_text(double value, DType, char sign);

/// Gives all the numbers of an array one format: the points form a column, and exponents are of one
/// kind.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& values, DType, const PrintOptions&);
  std::string operator()(double) const;

 private:
  /// Returns mantissa and exponent, with between `least` and `most` digits after the point.
  std::string scientific(double, int least, int most) const;
  std::string positional(double, int most) const;

  DType dtype_;
  char sign_;
  bool exponent_ = false;
  int precision_ = 0;            // digits after the point (exponent form: of all; otherwise at most)
  int exponent_size_ = 2;        // digits of the exponent
  size_t left_ = 0, right_ = 0;  // columns before and after the point
};

}  // namespace lazy::detail
