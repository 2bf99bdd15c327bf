#include "lazy/core/counts.hpp"

#include <algorithm>

#include "lazy/core/build.hpp"

namespace lazy::detail {

std::string to_string(Wide v) {
  if (v == 0) return "0";
  std::string digits;
  for (Wide rest = v; rest != 0; rest /= 10)
    digits += static_cast<char>('0' + static_cast<int>(v < 0 ? -(rest % 10) : rest % 10));
  if (v < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

int64_t narrow(const char* op, const char* what, Wide v, const Site& s) {
  if (v < std::numeric_limits<int64_t>::min() || v > std::numeric_limits<int64_t>::max())
    fail<ShapeError>(op, std::string(what) + " " + to_string(v) + " is out of range", s);
  return static_cast<int64_t>(v);
}

void check_countable(const char* op, const Shape& shape, const Site& s) {
  if (!countable(shape))
    fail<ShapeError>(op, "shape " + to_string(shape) + " has more elements than can be addressed", s);
}

}  // namespace lazy::detail
