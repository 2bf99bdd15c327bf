// 16-bit floats and their bits. Every conversion to one rounds once, to nearest even.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace lazy::reference {

inline float f16_to_f32(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// Rounds to float "to odd": a result that is not exact has its last bit set. Rounding that to any format
/// with at least two bits less gives what rounding `v` at once would have given.
template <class T>
float round_to_odd(T v) {
  const float near = static_cast<float>(v);
  if constexpr (std::is_same_v<T, float>) {
    return near;
  } else {
    if (std::isnan(near) || std::isinf(v)) return near;
    // Compare in long double: it holds every 64-bit integer and every double.
    const long double error = static_cast<long double>(v) - static_cast<long double>(near);
    if (error == 0 || (std::bit_cast<uint32_t>(near) & 1)) return near;
    return std::nextafter(near, error > 0 ? HUGE_VALF : -HUGE_VALF);
  }
}

template <class T>
uint16_t to_f16(T v) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(round_to_odd(v)));
}

template <class T>
uint16_t to_bf16(T v) {
  const uint32_t bits = std::bit_cast<uint32_t>(round_to_odd(v));
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40);  // stay a NaN
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

}  // namespace lazy::reference
