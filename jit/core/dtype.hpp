// Lists the element types and their properties: a row each. The numbers are part of every cache key.
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
  float64,
  complex64,  // two planes of float32 (jit/graph/planes.hpp); no kernel has this type, or the next one
  complex128
};

using enum DType;  // lazy::float32 is how users spell it

enum class DTypeKind : uint8_t { boolean, signed_int, unsigned_int, floating, complex_floating };

struct DTypeTraits {
  const char* name;        // for users
  const char* short_name;  // in kernel dumps
  DTypeKind kind;
  uint8_t bytes;     // of one element in memory
  uint8_t mantissa;  // floating: bits, including the hidden one; else 0
};

/// Indexed by the number of the type.
inline constexpr DTypeTraits kDTypes[] = {
    {"bool", "bool", DTypeKind::boolean, 1, 0},
    {"int8", "i8", DTypeKind::signed_int, 1, 0},
    {"int16", "i16", DTypeKind::signed_int, 2, 0},
    {"int32", "i32", DTypeKind::signed_int, 4, 0},
    {"int64", "i64", DTypeKind::signed_int, 8, 0},
    {"uint8", "u8", DTypeKind::unsigned_int, 1, 0},
    {"uint16", "u16", DTypeKind::unsigned_int, 2, 0},
    {"uint32", "u32", DTypeKind::unsigned_int, 4, 0},
    {"uint64", "u64", DTypeKind::unsigned_int, 8, 0},
    {"float16", "f16", DTypeKind::floating, 2, 11},
    {"bfloat16", "bf16", DTypeKind::floating, 2, 8},
    {"float32", "f32", DTypeKind::floating, 4, 24},
    {"float64", "f64", DTypeKind::floating, 8, 53},
    {"complex64", "c64", DTypeKind::complex_floating, 8, 0},
    {"complex128", "c128", DTypeKind::complex_floating, 16, 0},
};
inline constexpr int kAllDTypeCount = sizeof kDTypes / sizeof kDTypes[0];
/// Counts the types that kernels have; the complex ones come after them.
inline constexpr int kDTypeCount = kAllDTypeCount - 2;
static_assert(kDTypeCount == static_cast<int>(DType::float64) + 1);

constexpr const DTypeTraits& traits_of(DType t) { return kDTypes[static_cast<int>(t)]; }
constexpr size_t size_of(DType t) { return traits_of(t).bytes; }
constexpr const char* name_of(DType t) { return traits_of(t).name; }
constexpr bool is_bool(DType t) { return t == DType::bool_; }
constexpr bool is_float(DType t) { return traits_of(t).kind == DTypeKind::floating; }
constexpr bool is_signed_int(DType t) { return traits_of(t).kind == DTypeKind::signed_int; }
constexpr bool is_unsigned_int(DType t) { return traits_of(t).kind == DTypeKind::unsigned_int; }
constexpr bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
constexpr bool is_complex(DType t) { return t >= DType::complex64; }
/// Returns the type of a complex type's planes; any other type itself.
constexpr DType plane_type(DType t) {
  return t == DType::complex64 ? DType::float32 : t == DType::complex128 ? DType::float64 : t;
}
/// Returns the complex type that holds values of `t`: of float64 complex128, of narrower floats complex64.
constexpr DType complex_type(DType t) {
  return is_complex(t) ? t : t == DType::float64 ? DType::complex128 : DType::complex64;
}
/// True for float16 and bfloat16, which are stored in two bytes and computed in float32.
constexpr bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }
/// Returns the type in which arithmetic on `t` is carried out.
constexpr DType compute_type(DType t) { return is_half(t) ? DType::float32 : t; }

}  // namespace lazy
