// Converts between any two element types, each rounded once.
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/reference/ops.hpp"
#include "support/fp16.hpp"

namespace lazy::reference {
namespace {

/// Distinguishes a truth value from the integer that holds it.
struct Bool {
  uint8_t bits;
};

template <class T>
constexpr bool kHalf = std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>;

/// Truncates towards zero; out of range gives the nearest end, NaN gives 0. Both bounds are powers of two,
/// exact in any float.
template <class To, class From>
To saturate(From v) {
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  const From high = std::ldexp(From(1), std::numeric_limits<To>::digits);
  if (std::isnan(v)) return 0;
  if (v < low) return std::numeric_limits<To>::min();
  if (v >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(v);
}

template <class To, class From>
To cast(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (kHalf<From>) {
    return cast<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return cast<To>(v.bits);
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(v != 0)};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(v);
  } else {
    return static_cast<To>(v);  // integers wrap; anything to a float rounds to nearest even
  }
}

template <class F>
auto with_element(DType t, F&& f) {
  switch (t) {
    case DType::bool_: return f(Bool{});
    case DType::float16: return f(float16_t{});
    case DType::bfloat16: return f(bfloat16_t{});
    default: return with_type(t, f);
  }
}

}  // namespace

StripFn cast_meaning(DType from, DType to) {
  return with_element(from, [&](auto a) {
    return with_element(to, [&](auto b) -> StripFn { return lanes<cast<decltype(b), decltype(a)>>; });
  });
}

}  // namespace lazy::reference
