// Handles numbers that become extents, positions, counts and axes. There is one way to take them from users
// (Integer), one to compute with them (Wide, which nothing here can overflow), and one back to 64 bits
// (narrow).
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

#include "jit/core/shape.hpp"
#include "lazy/core/element.hpp"
#include "support/site.hpp"

namespace lazy {

/// Takes an integer of any type. A number above the range of int64 is replaced by the largest int64: no
/// tensor is that long, so it is refused or clamped as the number itself would be.
struct IntegerArg {
  int64_t value = 0;
  bool above = false;  // the number was above the range
  template <IntegerType T>
  constexpr IntegerArg(T v) : value(static_cast<int64_t>(v)) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(int64_t)) {
      above = v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      if (above) value = std::numeric_limits<int64_t>::max();
    }
  }
  constexpr operator int64_t() const { return value; }
};

}  // namespace lazy

namespace lazy::detail {

__extension__ typedef __int128 Wide;

std::string to_string(Wide);
/// Returns the number, which `what` names; ShapeError if it is not an int64.
int64_t narrow(const char* op, const char* what, Wide, const Site&);
/// Throws ShapeError if bytes of so many elements cannot be counted.
void check_countable(const char* op, const Shape&, const Site&);
/// Returns the step, but no more than `extent`: longer steps along an axis are never taken twice.
constexpr int64_t step_within(int64_t step, int64_t extent) {
  return step < extent ? step : extent < 1 ? 1 : extent;
}
/// Returns the extent from the first to the last of `length` elements that are `gap` apart, both included.
constexpr Wide span_of(int64_t length, int64_t gap) { return (Wide(length) - 1) * gap + 1; }

}  // namespace lazy::detail
