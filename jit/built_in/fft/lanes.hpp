// Vectors of numbers, as passes.hpp computes with them. In an unnamed namespace, as that.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LAZY_FFT_INLINE __attribute__((always_inline))

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

/// Calls f(0) ... f(n - 1), each argument a type's constant. Arrays that are indexed so are registers; those
/// that a loop indexes, even one that is unrolled later, g++ leaves in memory.
template <int n, class F>
LAZY_FFT_INLINE inline void each(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) LAZY_FFT_INLINE {
    (f(std::integral_constant<int, I>()), ...);
  }
  (std::make_integer_sequence<int, n>());
}

template <class V, class T>
LAZY_FFT_INLINE inline V load_lanes(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
LAZY_FFT_INLINE inline void store_lanes(T* p, const V& v) {
  std::memcpy(p, &v, sizeof v);
}

/// Returns a vector, or a number, that has x everywhere.
template <class V, class T>
LAZY_FFT_INLINE inline V everywhere(const T& x) {
  if constexpr (std::is_same_v<V, T>) return x;
  else return [&]<int... I>(std::integer_sequence<int, I...>) LAZY_FFT_INLINE {
      return V{((void)I, x)...};
    }
  (std::make_integer_sequence<int, static_cast<int>(sizeof(V) / sizeof(T))>());
}

/// Returns a b + c, rounded once: said here and nowhere left to the compiler, so that all widths give the
/// same bits.
LAZY_FFT_INLINE inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
LAZY_FFT_INLINE inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class V>
LAZY_FFT_INLINE inline V fused(const V& a, const V& b, const V& c) {
#if defined(__x86_64__)
  constexpr bool narrow = std::is_same_v<std::decay_t<decltype(a[0])>, float>;
  if constexpr (sizeof(V) == 64) {
    if constexpr (narrow) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    else return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  } else if constexpr (sizeof(V) == 32) {
    if constexpr (narrow) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    else return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  } else if constexpr (sizeof(V) == 16) {
    if constexpr (narrow) return (V)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
    else return (V)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
  }
#endif
  V y{};
  for (size_t l = 0; l < sizeof(V) / sizeof(a[0]); ++l) y[l] = fused(a[l], b[l], c[l]);
  return y;
}

/// Returns numbers of two vectors in turn, beginning at number `from` of each; within each `part` numbers of
/// a vector.
template <int from, int part, class V, int... I>
LAZY_FFT_INLINE inline V alternated(const V& a, const V& b, std::integer_sequence<int, I...>) {
  constexpr int all = sizeof...(I);
  return __builtin_shufflevector(a, b, (I / part * part + from + I % part / 2 + I % 2 * all)...);
}
/// Returns `part` numbers of a, from number `from` on, and as many of b.
template <int from, int part, class V, int... I>
LAZY_FFT_INLINE inline V joined(const V& a, const V& b, std::integer_sequence<int, I...>) {
  constexpr int all = sizeof...(I);
  return __builtin_shufflevector(a, b, (from + I % part + I / part * all)...);
}

/// Does what put_in_turn() does, within each `part` numbers of the vectors.
template <int R, int width, int part, class V>
LAZY_FFT_INLINE inline void put_parts_in_turn(V* v) {
  if constexpr (R > 1) {
    V even[R / 2], odd[R / 2];
    each<R / 2>([&](auto i) LAZY_FFT_INLINE { even[i] = v[2 * i], odd[i] = v[2 * i + 1]; });
    put_parts_in_turn<R / 2, width, part>(even);
    put_parts_in_turn<R / 2, width, part>(odd);
    using Lanes = std::make_integer_sequence<int, width>;
    each<R / 2>([&](auto i) LAZY_FFT_INLINE {
      v[2 * i] = alternated<0, part>(even[i], odd[i], Lanes());
      v[2 * i + 1] = alternated<part / 2, part>(even[i], odd[i], Lanes());
    });
  }
}

/// Has `v` hold number 0 of each of the R vectors, then number 1 of each, and so on. R is a power of two.
template <int R, int width, class V>
LAZY_FFT_INLINE inline void put_in_turn(V* v) {
  if constexpr (R == 1 || width == 1) return;
  else if constexpr (sizeof(V) == 32) {
    constexpr int half = width / 2;  // halves alone first: what crosses them is slower, or two instructions
    put_parts_in_turn<R, width, half>(v);
    V all[R];
    using Lanes = std::make_integer_sequence<int, width>;
    each<R / 2>([&](auto i) LAZY_FFT_INLINE {
      all[i] = joined<0, half>(v[2 * i], v[2 * i + 1], Lanes());
      all[R / 2 + i] = joined<half, half>(v[2 * i], v[2 * i + 1], Lanes());
    });
    each<R>([&](auto i) LAZY_FFT_INLINE { v[i] = all[i]; });
  } else {
    put_parts_in_turn<R, width, width>(v);
  }
}

}  // namespace
}  // namespace lazy::jit::calls
