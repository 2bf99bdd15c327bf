// Rounds sizes of blocks of memory up to a quarter of their power of two, so that at most 25% is wasted and a
// block serves many sizes.
#pragma once
#include <bit>
#include <cstddef>

namespace lazy::cpu_backend {

struct SizeClass {
  int index;  // ascending with the size, from 0
  size_t bytes;
};

constexpr int kSmallestBits = 6, kLargestBits = 48;  // of the smallest and largest size
constexpr int kSizeClasses = (kLargestBits - kSmallestBits) * 4 + 1;

/// Returns the class of a size up to 2^kLargestBits.
constexpr SizeClass class_of(size_t n) {
  if (n <= size_t{1} << kSmallestBits) return {0, size_t{1} << kSmallestBits};
  const int top = static_cast<int>(std::bit_width(n - 1)) - 1;  // 2^top < n <= 2^(top + 1)
  const size_t quarter = size_t{1} << (top - 2);
  const size_t steps = (n - (size_t{1} << top) + quarter - 1) / quarter;  // 1 .. 4
  return {(top - kSmallestBits) * 4 + static_cast<int>(steps), (size_t{1} << top) + steps * quarter};
}

constexpr size_t bytes_of_class(int index) {
  if (index == 0) return size_t{1} << kSmallestBits;
  const int top = (index - 1) / 4 + kSmallestBits, steps = (index - 1) % 4 + 1;
  return (size_t{1} << top) + static_cast<size_t>(steps) * (size_t{1} << (top - 2));
}

}  // namespace lazy::cpu_backend
