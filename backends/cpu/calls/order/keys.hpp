// Turns elements into unsigned keys of their order, and keys with an index into words: sorting words is
// stable, whatever way it is done.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "jit/core/dtype.hpp"

namespace lazy::cpu_backend::order {

/// Says what of a dtype and an order keys depend on at run time.
struct KeyBits {
  uint64_t infinity = 0;  // bits of infinity, for a float
  uint64_t flip = 0;      // all ones for a descending order
};

/// Turns the bits of a dtype's elements into unsigned numbers of the same order.
template <class U, bool kSigned, bool kFloat>
struct Keys {
  using Bits = U;
  /// Is the narrowest type of keys that there are loops for.
  using Key = std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t>;
  static constexpr int kBits = 8 * sizeof(U);
  static constexpr U kSign = static_cast<U>(U{1} << (kBits - 1)), kAll = static_cast<U>(~U{0});
  const U infinity, flip;

  explicit Keys(const KeyBits& b) : infinity(static_cast<U>(b.infinity)), flip(static_cast<U>(b.flip)) {}
  /// Returns the key. NaN has the largest, in either order; the two zeros have one.
  Key operator()(U bits) const {
    if constexpr (kFloat) {
      using S = std::make_signed_t<U>;
      const U magnitude = static_cast<U>(bits & ~kSign);
      U key = static_cast<U>(bits ^ (static_cast<U>(static_cast<S>(bits) >> (kBits - 1)) | kSign));
      key = magnitude == 0 ? kSign : key;
      return magnitude > infinity ? kAll : static_cast<U>(key ^ flip);
    } else {
      return static_cast<U>(bits ^ (kSigned ? kSign : U{0}) ^ flip);
    }
  }
  /// True for an element that its key does not tell: -0 or NaN.
  bool is_special(U bits) const {
    return kFloat && (bits == kSign || static_cast<U>(bits & ~kSign) > infinity);
  }
  /// Returns the element of a key, unless it is special.
  U element(uint64_t key) const {
    const U k = static_cast<U>(static_cast<U>(key) ^ flip);
    if constexpr (kFloat) return static_cast<U>(k & kSign ? k ^ kSign : ~k);
    else return static_cast<U>(k ^ (kSigned ? kSign : U{0}));
  }
};

/// Says how a word is made of a key and an index: ((key - base) >> dropped) << index_bits | index.
struct Packing {
  uint64_t base = 0;
  int dropped = 0;  // low bits of the key that the word lacks: words of equal rest are in order by index only
  int index_bits = 0;

  static int bits_of_index(int64_t count) { return std::bit_width(static_cast<uint64_t>(count - 1)); }
  /// Returns the packing of keys in [low, high] and `count` indices into words of so many bits.
  static Packing of(uint64_t low, uint64_t high, int64_t count, int bits) {
    Packing p{low, 0, bits_of_index(count)};
    const int surplus = static_cast<int>(std::bit_width(high - low)) + p.index_bits - bits;
    if (surplus > 0) p.dropped = surplus;
    return p;
  }
  template <class W>
  W word(uint64_t key, int64_t index) const {
    const W rest = static_cast<W>(static_cast<W>(key) - static_cast<W>(base)) >> dropped;
    return static_cast<W>(rest << index_bits) | static_cast<W>(index);
  }
  template <class W>
  int64_t index(W word) const {
    return static_cast<int64_t>(word & ((W{1} << index_bits) - 1));
  }
  /// Returns the key, unless bits of it were dropped.
  template <class W>
  uint64_t key(W word) const {
    return static_cast<uint64_t>(word >> index_bits) + base;
  }
};

/// Calls f.template operator()<Keys of the dtype>(bits of its infinity).
template <class F>
auto with_keys(DType t, F&& f) {
  switch (t) {
    case DType::int8: return f.template operator()<Keys<uint8_t, true, false>>(0);
    case DType::uint16: return f.template operator()<Keys<uint16_t, false, false>>(0);
    case DType::int16: return f.template operator()<Keys<uint16_t, true, false>>(0);
    case DType::uint32: return f.template operator()<Keys<uint32_t, false, false>>(0);
    case DType::int32: return f.template operator()<Keys<uint32_t, true, false>>(0);
    case DType::uint64: return f.template operator()<Keys<uint64_t, false, false>>(0);
    case DType::int64: return f.template operator()<Keys<uint64_t, true, false>>(0);
    case DType::float16: return f.template operator()<Keys<uint16_t, true, true>>(0x7c00);
    case DType::bfloat16: return f.template operator()<Keys<uint16_t, true, true>>(0x7f80);
    case DType::float32: return f.template operator()<Keys<uint32_t, true, true>>(0x7f800000);
    case DType::float64: return f.template operator()<Keys<uint64_t, true, true>>(0x7ff0000000000000);
    default: return f.template operator()<Keys<uint8_t, false, false>>(0);  // bool, uint8
  }
}

}  // namespace lazy::cpu_backend::order
