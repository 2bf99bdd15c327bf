// Defines the C++ types that elements and scalars can have, and the dtype of each.
#pragma once
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "jit/core/dtype.hpp"
#include "support/fp16.hpp"
#include "support/site.hpp"

namespace lazy {

namespace detail {
template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;
template <class T>
inline constexpr bool is_character = std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
                                     std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
}  // namespace detail

/// Accepts std::complex<float> and std::complex<double>.
template <class T>
concept ComplexType = detail::is_complex_type<T>;
/// Accepts types that can be combined with a tensor: any arithmetic type, float16_t, bfloat16_t.
template <class T>
concept ScalarType = (std::is_arithmetic_v<T> && !detail::is_character<T>) || detail::is_half_type<T>;
/// Accepts types of a tensor's elements: as above, without long double, and complex numbers.
template <class T>
concept Element = (ScalarType<T> && !std::is_same_v<T, long double>) || ComplexType<T>;
template <class T>
concept IntegerType = std::integral<T> && sizeof(T) <= 8 && !std::same_as<T, bool> &&
                      !detail::is_character<T>;

/// Returns the dtype that has the layout of T.
template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return bool_;
  else if constexpr (std::is_same_v<T, float16_t>) return float16;
  else if constexpr (std::is_same_v<T, bfloat16_t>) return bfloat16;
  else if constexpr (std::is_same_v<T, float>) return float32;
  else if constexpr (std::is_same_v<T, double>) return float64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return complex64;
  else if constexpr (std::is_same_v<T, std::complex<double>>) return complex128;
  else {
    constexpr DType by_size[] = {int8, int16, int32, int64};
    constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>(static_cast<int>(by_size[log2]) + (std::is_signed_v<T> ? 0 : 4));
  }
}
/// Returns the dtype of floating-point values where none is given: the one last given to set_default_dtype(),
/// else LAZY_DEFAULT_DTYPE, which is float32 unless set. Read when an op is recorded.
DType get_default_dtype();
/// Sets the default dtype for all threads: float32 or float64; DtypeError for others.
void set_default_dtype(DType, Site = Site::current());

namespace detail {
/// Returns the dtype of a C++ type as a literal: as in NumPy, an `int` means int64. Returns float64 for a
/// `double`, which literal_dtype() replaces by the default dtype; likewise complex128.
template <class T>
requires ScalarType<T> || ComplexType<T>
constexpr DType scalar_dtype() {
  if constexpr (std::is_same_v<T, int>) return int64;
  else if constexpr (std::is_same_v<T, long double>) return float64;
  else return dtype_of<T>();
}
/// Returns the dtype that a result of scalar_dtype() means now.
inline DType literal_dtype(DType scalar) {
  if (scalar == complex128) return complex_type(get_default_dtype());
  return scalar == float64 ? get_default_dtype() : scalar;
}
}  // namespace detail

}  // namespace lazy
