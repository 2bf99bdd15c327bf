#include "lazy/distributed/sums/combine.hpp"

#include <algorithm>
#include <type_traits>

#include "support/fp16.hpp"

namespace lazy::distributed::detail {
namespace {

constexpr int64_t kBlock = 1024;  // elements

/// Adds and multiplies; integers wrap.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return a + b;
}
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return a * b;
}

/// Combines b into a.
template <class T>
void combine(ReduceOp r, T* a, const T* b, int64_t n) {
  switch (r) {
    case ReduceOp::min:
      for (int64_t i = 0; i < n; ++i) a[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];
      return;
    case ReduceOp::max:
      for (int64_t i = 0; i < n; ++i) a[i] = b[i] > a[i] || b[i] != b[i] ? b[i] : a[i];
      return;
    case ReduceOp::prod:
      for (int64_t i = 0; i < n; ++i) a[i] = product_of(a[i], b[i]);
      return;
    default:
      for (int64_t i = 0; i < n; ++i) a[i] = sum_of(a[i], b[i]);
  }
}

/// Combines by blocks that stay in the first cache: each value is read and written once, and `to` may be one
/// of `from`. Wide is what is added up in.
template <class T, class Wide = T>
void combine_all(ReduceOp r, std::span<const char* const> from, char* to, int64_t n) {
  Wide sums[kBlock], next[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    const auto read = [&](size_t k, Wide* values) {
      const T* const at = reinterpret_cast<const T*>(from[k]) + begin;
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<Wide>(at[i]);
    };
    read(0, sums);
    for (size_t k = 1; k < from.size(); ++k) {
      if constexpr (std::is_same_v<T, Wide>) {
        combine(r, sums, reinterpret_cast<const T*>(from[k]) + begin, count);
      } else {
        read(k, next);
        combine(r, sums, next, count);
      }
    }
    T* const out = reinterpret_cast<T*>(to) + begin;
    for (int64_t i = 0; i < count; ++i) out[i] = T(sums[i]);
  }
}

}  // namespace

void combine_ranks(DType t, ReduceOp r, std::span<const char* const> from, char* to, int64_t n) {
  switch (t) {
    case DType::float32: return combine_all<float>(r, from, to, n);
    case DType::float64: return combine_all<double>(r, from, to, n);
    case DType::float16: return combine_all<float16_t, float>(r, from, to, n);
    case DType::bfloat16: return combine_all<bfloat16_t, float>(r, from, to, n);
    case DType::int8: return combine_all<int8_t>(r, from, to, n);
    case DType::uint8: return combine_all<uint8_t>(r, from, to, n);
    case DType::int16: return combine_all<int16_t>(r, from, to, n);
    case DType::uint16: return combine_all<uint16_t>(r, from, to, n);
    case DType::int32: return combine_all<int32_t>(r, from, to, n);
    case DType::uint32: return combine_all<uint32_t>(r, from, to, n);
    case DType::int64: return combine_all<int64_t>(r, from, to, n);
    default: return combine_all<uint64_t>(r, from, to, n);
  }
}

}  // namespace lazy::distributed::detail
