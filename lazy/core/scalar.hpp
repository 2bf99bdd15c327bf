// Handles scalars whose dtype is known only at run time, and casts of values. Internal to lazy/.
#pragma once
#include <cstddef>
#include <type_traits>

#include "jit/graph/scalar.hpp"
#include "lazy/core/element.hpp"

namespace lazy {
struct ScalarNumber;
}

namespace lazy::detail {

/// Calls f(T{}) with the C++ type of `t`.
template <class F>
decltype(auto) with_type(DType t, F&& f) {
  switch (t) {
    case DType::bool_: return f(bool{});
    case DType::int8: return f(int8_t{});
    case DType::int16: return f(int16_t{});
    case DType::int32: return f(int32_t{});
    case DType::int64: return f(int64_t{});
    case DType::uint8: return f(uint8_t{});
    case DType::uint16: return f(uint16_t{});
    case DType::uint32: return f(uint32_t{});
    case DType::uint64: return f(uint64_t{});
    case DType::float16: return f(float16_t{});
    case DType::bfloat16: return f(bfloat16_t{});
    case DType::float32: return f(float{});
    case DType::complex64:  // a value has planes, and no element of such a type
    case DType::complex128:
    case DType::float64: break;
  }
  return f(double{});
}

/// Casts a value as astype documents.
template <class To, class From>
To cast_value(From v) {
  constexpr bool from_float = std::is_floating_point_v<From> || is_half_type<From>;
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (is_half_type<From>) return static_cast<float>(v) != 0;
    else return v != From{};
  } else if constexpr (std::is_integral_v<To> && from_float) {
    const double d = static_cast<double>(v);
    if (d != d) return 0;
    // 2^bits is exact in double; the largest integer itself may not be.
    constexpr double bound =
        static_cast<double>(uint64_t{1} << (sizeof(To) * 8 - 1)) * (std::is_signed_v<To> ? 1 : 2);
    if (d >= bound)
      return static_cast<To>(std::is_signed_v<To> ? ~To(0) ^ (To(1) << (sizeof(To) * 8 - 1)) : ~To(0));
    if (std::is_signed_v<To> ? d <= -bound : d <= 0)
      return std::is_signed_v<To> ? static_cast<To>(To(1) << (sizeof(To) * 8 - 1)) : To(0);
    return static_cast<To>(d);
  } else if constexpr (is_half_type<To>) {
    if constexpr (is_half_type<From>) return To(static_cast<float>(v));
    else return To(v);
  } else if constexpr (is_half_type<From>) {
    return static_cast<To>(static_cast<float>(v));
  } else {
    return static_cast<To>(v);  // an integer to a narrower integer wraps
  }
}

/// Converts `n` elements one by one.
void convert(DType from, const void* in, DType to, void* out, size_t n);
jit::Scalar convert(jit::Scalar, DType from, DType to);
/// Returns the number in a dtype; an integer must fit (number_fits).
jit::Scalar to_scalar(const ScalarNumber&, DType);
/// True if an integer is in range of the integer dtype `t`; always true for other pairs.
bool number_fits(const ScalarNumber&, DType t);

}  // namespace lazy::detail
