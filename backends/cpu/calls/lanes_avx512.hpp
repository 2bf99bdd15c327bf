// Declares vectors of 512 bits for calls written in C++, and the attributes of functions that are compiled
// for them. Included first, by one file for each call.
#pragma once
// GCC 12 takes what its own intrinsics leave undefined for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include <cstdint>

#define LAZY_LEVEL \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#define LAZY_LEVEL_INLINE                                                                       \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), \
                 always_inline)) inline

namespace lazy::cpu_backend {
namespace {

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  using V = __m512;
  static constexpr int64_t kCount = 16;
  static constexpr int kRegisters = 32;
  LAZY_LEVEL_INLINE static V load(const float* p) { return _mm512_loadu_ps(p); }
  LAZY_LEVEL_INLINE static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  LAZY_LEVEL_INLINE static V all(float v) { return _mm512_set1_ps(v); }
  LAZY_LEVEL_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  /// Return b where either is NaN.
  LAZY_LEVEL_INLINE static V larger(V a, V b) { return _mm512_max_ps(a, b); }
  LAZY_LEVEL_INLINE static V smaller(V a, V b) { return _mm512_min_ps(a, b); }
  LAZY_LEVEL_INLINE static V nearest(V v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT); }
  LAZY_LEVEL_INLINE static V magnitude(V v) { return _mm512_andnot_ps(all(-0.0f), v); }
  LAZY_LEVEL_INLINE static V with_sign(V v, V sign) {
    return _mm512_or_ps(v, _mm512_and_ps(all(-0.0f), sign));
  }
  /// Returns a < b ? x : y.
  LAZY_LEVEL_INLINE static V select_less(V a, V b, V x, V y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  LAZY_LEVEL_INLINE static V power_of_two(V n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }
  /// Returns v 2^n for integers n; what is less than the smallest normal number has fewer digits.
  LAZY_LEVEL_INLINE static V scaled(V v, V n) { return _mm512_scalef_ps(v, n); }
  /// Adds up the lanes, in halves.
  LAZY_LEVEL_INLINE static float total(V v) { return _mm512_reduce_add_ps(v); }
  LAZY_LEVEL_INLINE static float largest(V v) { return _mm512_reduce_max_ps(v); }
  /// Takes the first, or the second, two of each four elements of both.
  LAZY_LEVEL_INLINE static V pairs(V x, V y, bool second) {
    const __m512d p = _mm512_castps_pd(x), q = _mm512_castps_pd(y);
    return _mm512_castpd_ps(second ? _mm512_unpackhi_pd(p, q) : _mm512_unpacklo_pd(p, q));
  }
  /// Exchanges rows and columns.
  LAZY_LEVEL_INLINE static void transpose(V (&r)[16]) {
    V a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
      a[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
      a[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
      b[i] = pairs(a[i], a[i + 2], false), b[i + 1] = pairs(a[i], a[i + 2], true);
      b[i + 2] = pairs(a[i + 1], a[i + 3], false), b[i + 3] = pairs(a[i + 1], a[i + 3], true);
    }
    // b[4 g + c] has column c of quarter q of rows 4 g to 4 g + 3 in its quarter q.
    for (int c = 0; c < 4; ++c) {
      const V low = _mm512_shuffle_f32x4(b[c], b[4 + c], 0x88),
              low2 = _mm512_shuffle_f32x4(b[c], b[4 + c], 0xdd);
      const V high = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0x88),
              high2 = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0xdd);
      r[c] = _mm512_shuffle_f32x4(low, high, 0x88);
      r[8 + c] = _mm512_shuffle_f32x4(low, high, 0xdd);
      r[4 + c] = _mm512_shuffle_f32x4(low2, high2, 0x88);
      r[12 + c] = _mm512_shuffle_f32x4(low2, high2, 0xdd);
    }
  }
};
template <>
struct Lanes<double> {
  using V = __m512d;
  static constexpr int64_t kCount = 8;
  static constexpr int kRegisters = 32;
  LAZY_LEVEL_INLINE static V load(const double* p) { return _mm512_loadu_pd(p); }
  LAZY_LEVEL_INLINE static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  LAZY_LEVEL_INLINE static V all(double v) { return _mm512_set1_pd(v); }
  LAZY_LEVEL_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  LAZY_LEVEL_INLINE static V larger(V a, V b) { return _mm512_max_pd(a, b); }
  LAZY_LEVEL_INLINE static V select_less(V a, V b, V x, V y) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x);
  }
  LAZY_LEVEL_INLINE static double total(V v) { return _mm512_reduce_add_pd(v); }
  LAZY_LEVEL_INLINE static double largest(V v) { return _mm512_reduce_max_pd(v); }
};

}  // namespace
}  // namespace lazy::cpu_backend
