// Reads rows of numbers that are stored in fewer bits than they are computed in.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/core/dtype.hpp"

namespace lazy::jit::calls {

/// True for what rows of float32 may be stored as: 16-bit floats, or with scales int8 and uint8.
constexpr bool is_stored(DType t, bool scaled) { return scaled ? t == int8 || t == uint8 : is_half(t); }

// Conversions without branches, for loops over elements.

constexpr float number_of_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
/// Returns the float32 of a shorter float's bits without sign. Numbers below the normal ones are made of the
/// one that has their fraction and the smallest normal exponent, less that power of two.
template <int kFractionBits, int kBias>
constexpr float widened(uint32_t bits) {
  constexpr uint32_t kOffset = 127 - kBias, kSmallest = (kOffset + 1) << 23;
  const bool small = bits < (1u << kFractionBits);
  const uint32_t wide = (bits << (23 - kFractionBits)) + ((kOffset + small) << 23);
  return std::bit_cast<float>(wide) - std::bit_cast<float>(small ? kSmallest : 0u);
}
constexpr float number_of_float16(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const auto finite = std::bit_cast<uint32_t>(widened<10, 15>(magnitude));
  return std::bit_cast<float>((magnitude < 0x7c00 ? finite : (magnitude << 13) | 0x7f800000u) | sign);
}
/// Returns the number of a code of e4m3 (lazy/ops/float8.hpp).
constexpr float number_of_e4m3(uint8_t code) {
  const uint32_t magnitude = code & 0x7fu, sign = (code & 0x80u) << 24;
  const auto finite = std::bit_cast<uint32_t>(widened<3, 7>(magnitude));
  return std::bit_cast<float>((magnitude < 0x7f ? finite : 0x7fc00000u) | sign);
}

/// Holds rows of `width` numbers, of which each may have a scale.
template <class T>
struct StoredRows {
  const std::byte* data = nullptr;
  DType dtype = DType::float32;
  int64_t width = 0;
  const float* scales = nullptr;  // one a row, or null

  /// Returns the elements if they are stored as T, else null.
  const T* as_they_are() const {
    return size_of(dtype) == sizeof(T) ? reinterpret_cast<const T*>(data) : nullptr;
  }
  /// Writes numbers [0, rows * width) from a row on.
  [[gnu::always_inline]] void read(int64_t row, int64_t rows, T* __restrict to) const {
    const auto each = [&](auto element, auto&& number) __attribute__((always_inline)) {
      using E = decltype(element);
      const E* __restrict from = reinterpret_cast<const E*>(data) + row * width;
      if (!scales) {
        for (int64_t i = 0; i < rows * width; ++i) to[i] = static_cast<T>(number(from[i]));
        return;
      }
      for (int64_t r = 0; r < rows; ++r, from += width, to += width) {
        const float scale = scales[row + r];
        for (int64_t i = 0; i < width; ++i) to[i] = static_cast<T>(number(from[i]) * scale);
      }
    };
    switch (dtype) {
      case DType::bfloat16: return each(uint16_t{}, [](uint16_t b) { return number_of_bfloat16(b); });
      case DType::float16: return each(uint16_t{}, [](uint16_t b) { return number_of_float16(b); });
      case DType::int8: return each(int8_t{}, [](int8_t q) { return static_cast<float>(q); });
      default: return each(uint8_t{}, [](uint8_t b) { return number_of_e4m3(b); });
    }
  }
  /// Returns a row, which is in `spare` unless it is stored as T.
  const T* row(int64_t row, std::vector<T>& spare) const {
    if (const T* const all = as_they_are()) return all + row * width;
    spare.resize(static_cast<size_t>(width));
    read(row, 1, spare.data());
    return spare.data();
  }
};

}  // namespace lazy::jit::calls
