// The element types, and what can be asked of one. The numeric order is part of every cache key.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lazy {

enum class DType : uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64
};
inline constexpr int kDTypeCount = 13;

using enum DType;  // lazy::float32 is how users spell it

constexpr size_t size_of(DType t) {
  constexpr uint8_t bytes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return bytes[static_cast<int>(t)];
}
constexpr const char* name_of(DType t) {
  constexpr const char* names[kDTypeCount] = {"bool",     "int8",    "int16",  "int32",  "int64",
                                              "uint8",    "uint16",  "uint32", "uint64", "float16",
                                              "bfloat16", "float32", "float64"};
  return names[static_cast<int>(t)];
}
constexpr bool is_bool(DType t) { return t == DType::bool_; }
constexpr bool is_float(DType t) { return t >= DType::float16; }
constexpr bool is_signed_int(DType t) { return t >= DType::int8 && t <= DType::int64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::uint8 && t <= DType::uint64; }
constexpr bool is_int(DType t) { return t >= DType::int8 && t <= DType::uint64; }
/// float16 and bfloat16: stored in two bytes, computed in float32.
constexpr bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }
/// The type that arithmetic on `t` is carried out in.
constexpr DType compute_type(DType t) { return is_half(t) ? DType::float32 : t; }

}  // namespace lazy
