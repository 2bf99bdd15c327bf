// Says what the order of sort and select is, element by element.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "jit/core/dtype.hpp"
#include "support/fp16.hpp"

namespace lazy::jit::calls {

/// True if a comes before b: ascending or descending, NaN last in both.
template <class T>
bool comes_before(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return descending ? b < a : a < b;
}

/// Returns the indices of a row's elements in their order; those that compare equal keep theirs.
template <class T>
std::vector<int64_t> order_of(const T* row, int64_t length, bool descending) {
  const auto comparable = [](T v) {
    if constexpr (std::is_arithmetic_v<T>) return v;
    else return static_cast<float>(v);  // a 16-bit float
  };
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return comes_before(comparable(row[a]), comparable(row[b]), descending);
  });
  return order;
}

/// Calls f with a zero of the C++ type of a dtype's elements; bools are bytes.
template <class F>
void with_element(DType t, F&& f) {
  switch (t) {
    case DType::bool_:
    case DType::uint8: return f(uint8_t{});
    case DType::int8: return f(int8_t{});
    case DType::int16: return f(int16_t{});
    case DType::int32: return f(int32_t{});
    case DType::int64: return f(int64_t{});
    case DType::uint16: return f(uint16_t{});
    case DType::uint32: return f(uint32_t{});
    case DType::uint64: return f(uint64_t{});
    case DType::float16: return f(float16_t{});
    case DType::bfloat16: return f(bfloat16_t{});
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::complex64:  // has no order
    case DType::complex128: return;
  }
}

}  // namespace lazy::jit::calls
