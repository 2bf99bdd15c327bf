// Declares vectors of 256 bits for calls written in C++, and the attributes of functions that are compiled
// for them. Included first, by one file for each call.
#pragma once
#include <immintrin.h>

#include <cstdint>

#define LAZY_LEVEL __attribute__((target("avx2,fma")))
#define LAZY_LEVEL_INLINE __attribute__((target("avx2,fma"), always_inline)) inline

namespace lazy::cpu_backend {
namespace {

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  using V = __m256;
  static constexpr int64_t kCount = 8;
  static constexpr int kRegisters = 16;
  LAZY_LEVEL_INLINE static V load(const float* p) { return _mm256_loadu_ps(p); }
  LAZY_LEVEL_INLINE static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  LAZY_LEVEL_INLINE static V all(float v) { return _mm256_set1_ps(v); }
  LAZY_LEVEL_INLINE static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  /// Return b where either is NaN.
  LAZY_LEVEL_INLINE static V larger(V a, V b) { return _mm256_max_ps(a, b); }
  LAZY_LEVEL_INLINE static V smaller(V a, V b) { return _mm256_min_ps(a, b); }
  LAZY_LEVEL_INLINE static V nearest(V v) {
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  LAZY_LEVEL_INLINE static V magnitude(V v) { return _mm256_andnot_ps(all(-0.0f), v); }
  LAZY_LEVEL_INLINE static V with_sign(V v, V sign) {
    return _mm256_or_ps(v, _mm256_and_ps(all(-0.0f), sign));
  }
  /// Returns a < b ? x : y.
  LAZY_LEVEL_INLINE static V select_less(V a, V b, V x, V y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  LAZY_LEVEL_INLINE static V power_of_two(V n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  /// Returns v 2^n for integers n; what is less than the smallest normal number has fewer digits.
  LAZY_LEVEL_INLINE static V scaled(V v, V n) { return v * power_of_two(n); }
  /// Adds up the lanes, in halves.
  LAZY_LEVEL_INLINE static float total(V v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
  }
  LAZY_LEVEL_INLINE static float largest(V v) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_shuffle_ps(x, x, 1)));
  }
  /// Exchanges rows and columns.
  LAZY_LEVEL_INLINE static void transpose(V (&r)[8]) {
    V a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
      a[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      a[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44), b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
      b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
      b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int c = 0; c < 4; ++c) {
      r[c] = _mm256_permute2f128_ps(b[c], b[4 + c], 0x20);
      r[4 + c] = _mm256_permute2f128_ps(b[c], b[4 + c], 0x31);
    }
  }
};
template <>
struct Lanes<double> {
  using V = __m256d;
  static constexpr int64_t kCount = 4;
  static constexpr int kRegisters = 16;
  LAZY_LEVEL_INLINE static V load(const double* p) { return _mm256_loadu_pd(p); }
  LAZY_LEVEL_INLINE static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  LAZY_LEVEL_INLINE static V all(double v) { return _mm256_set1_pd(v); }
  LAZY_LEVEL_INLINE static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  LAZY_LEVEL_INLINE static V larger(V a, V b) { return _mm256_max_pd(a, b); }
  LAZY_LEVEL_INLINE static V select_less(V a, V b, V x, V y) {
    return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
  }
  LAZY_LEVEL_INLINE static double total(V v) {
    const __m128d x = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
  }
  LAZY_LEVEL_INLINE static double largest(V v) {
    const __m128d x = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_max_sd(x, _mm_unpackhi_pd(x, x)));
  }
};

}  // namespace
}  // namespace lazy::cpu_backend
