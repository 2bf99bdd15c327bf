// Vectors of numbers, as passes.hpp computes with them. In an unnamed namespace, as that.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

namespace lazy::jit::calls {
namespace {

template <class T, int width>
struct FftVector {
  using type [[gnu::vector_size(width * sizeof(T))]] = T;
};
template <class T>
struct FftVector<T, 1> {
  using type = T;
};
template <class T, int width>
using FftLanes = typename FftVector<T, width>::type;

template <class V, class T>
inline V load_lanes(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
inline void store_lanes(T* p, const V& v) {
  std::memcpy(p, &v, sizeof v);
}

/// Returns numbers of two vectors in turn, beginning at number `from` of each.
template <int from, class V, int... I>
inline V alternated(const V& a, const V& b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (from + I / 2 + I % 2 * static_cast<int>(sizeof...(I)))...);
}
/// Has `v` hold number 0 of each of the R vectors, then number 1 of each, and so on. R is a power of two.
template <int R, int width, class V>
inline void put_in_turn(V* v) {
  if constexpr (R > 1) {
    V even[R / 2], odd[R / 2];
    for (int i = 0; i < R / 2; ++i) even[i] = v[2 * i], odd[i] = v[2 * i + 1];
    put_in_turn<R / 2, width>(even);
    put_in_turn<R / 2, width>(odd);
    using Lanes = std::make_integer_sequence<int, width>;
    for (int i = 0; i < R / 2; ++i) {
      v[2 * i] = alternated<0>(even[i], odd[i], Lanes());
      v[2 * i + 1] = alternated<width / 2>(even[i], odd[i], Lanes());
    }
  }
}

}  // namespace
}  // namespace lazy::jit::calls
