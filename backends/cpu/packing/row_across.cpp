#include "backends/cpu/packing/row_across.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "support/arithmetic.hpp"

#define LAZY_WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LAZY_WIDE_INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), always_inline))
#define LAZY_AVX2 __attribute__((target("avx2,fma,f16c")))
#define LAZY_AVX2_INLINE __attribute__((target("avx2,fma,f16c"), always_inline))

namespace lazy::cpu_backend {
namespace {

constexpr int64_t kSteps = 8;  // that are added to sums while these are in registers

/// Points to the elements of up to kSteps rows of the right side.
struct Rows {
  const char* at[kSteps];
  float by[kSteps];  // elements of the row; 0 beyond the last
  int64_t count;
};
Rows rows_from(const float* row, int64_t k, int64_t steps, const PackSource& right) {
  Rows r{};
  r.count = std::min(kSteps, steps - k);
  for (int64_t i = 0; i < r.count; ++i) r.at[i] = right.data + (k + i) * right.row, r.by[i] = row[k + i];
  return r;
}

/// Widens 32 columns to two vectors: of bfloat16 the even and the odd ones, of float16 the first and the
/// last.
template <bool kBfloat>
LAZY_WIDE_INLINE inline void widen(const char* at, __mmask32 in, __m512& first, __m512& second) {
  constexpr __mmask16 all = 0xffff;  // without a mask, GCC 12 warns of its own headers
  if constexpr (kBfloat) {
    const __m512i both = _mm512_maskz_loadu_epi16(in, at);
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
    first = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, both, 16));
    second = _mm512_castsi512_ps(_mm512_maskz_and_epi32(all, both, upper));
  } else {
    const auto low = static_cast<__mmask16>(in), high = static_cast<__mmask16>(in >> 16);
    first = _mm512_maskz_cvtph_ps(all, _mm256_maskz_loadu_epi16(low, at));
    second = _mm512_maskz_cvtph_ps(all, _mm256_maskz_loadu_epi16(high, at + 32));
  }
}

template <bool kBfloat>
LAZY_WIDE void across_wide(const float* row, int64_t steps, const PackSource& right, int64_t columns,
                           float* sums) {
  for (int64_t k = 0; k < steps; k += kSteps) {
    const Rows r = rows_from(row, k, steps, right);
    for (int64_t j = 0; j < columns; j += kColumnsAcross) {
      const __mmask32 in = ~uint32_t{0} >> (kColumnsAcross - std::min(kColumnsAcross, columns - j));
      __m512 first = _mm512_loadu_ps(sums + j), second = _mm512_loadu_ps(sums + j + 16);
      const auto add = [&](int64_t i) LAZY_WIDE_INLINE {
        __m512 a, b;
        widen<kBfloat>(r.at[i] + j * 2, in, a, b);
        const __m512 by = _mm512_set1_ps(r.by[i]);
        first = _mm512_fmadd_ps(by, a, first);
        second = _mm512_fmadd_ps(by, b, second);
      };
      if (r.count == kSteps)
        for (int64_t i = 0; i < kSteps; ++i) add(i);
      else
        for (int64_t i = 0; i < r.count; ++i) add(i);
      _mm512_storeu_ps(sums + j, first);
      _mm512_storeu_ps(sums + j + 16, second);
    }
  }
  if constexpr (!kBfloat) return;
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                high = _mm512_maskz_add_epi32(0xffff, low, _mm512_set1_epi32(8));
  constexpr __mmask16 all = 0xffff;
  for (int64_t j = 0; j < columns; j += kColumnsAcross) {
    const __m512 even = _mm512_loadu_ps(sums + j), odd = _mm512_loadu_ps(sums + j + 16);
    _mm512_storeu_ps(sums + j, _mm512_maskz_permutex2var_ps(all, even, low, odd));
    _mm512_storeu_ps(sums + j + 16, _mm512_maskz_permutex2var_ps(all, even, high, odd));
  }
}

/// Widens 16 columns likewise.
template <bool kBfloat>
LAZY_AVX2_INLINE inline void widen(const char* at, __m256& first, __m256& second) {
  if constexpr (kBfloat) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    first = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
    second = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xffff0000))));
  } else {
    first = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    second = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16)));
  }
}

template <bool kBfloat>
LAZY_AVX2 void across(const float* row, int64_t steps, const PackSource& right, int64_t columns,
                      float* sums) {
  constexpr int64_t kAtOnce = 16;
  for (int64_t k = 0; k < steps; k += kSteps) {
    const Rows r = rows_from(row, k, steps, right);
    for (int64_t j = 0; j < columns; j += kAtOnce) {
      __m256 first = _mm256_loadu_ps(sums + j), second = _mm256_loadu_ps(sums + j + 8);
      const int64_t n = columns - j;
      for (int64_t i = 0; i < r.count; ++i) {
        const char* at = r.at[i] + j * 2;
        alignas(32) char last[2 * kAtOnce] = {};
        if (n < kAtOnce) std::memcpy(last, at, static_cast<size_t>(2 * n)), at = last;
        __m256 a, b;
        widen<kBfloat>(at, a, b);
        const __m256 by = _mm256_set1_ps(r.by[i]);
        first = _mm256_fmadd_ps(by, a, first);
        second = _mm256_fmadd_ps(by, b, second);
      }
      _mm256_storeu_ps(sums + j, first);
      _mm256_storeu_ps(sums + j + 8, second);
    }
  }
  if constexpr (!kBfloat) return;
  for (int64_t j = 0; j < columns; j += kAtOnce) {
    const __m256 even = _mm256_loadu_ps(sums + j), odd = _mm256_loadu_ps(sums + j + 8),
                 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    _mm256_storeu_ps(sums + j, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(sums + j + 8, _mm256_permute2f128_ps(low, high, 0x31));
  }
}

}  // namespace

void multiply_row_across(const float* row, int64_t steps, const PackSource& right, int64_t columns, bool wide,
                         float* sums) {
  std::fill_n(sums, round_up(columns, kColumnsAcross), 0.0f);
  const bool bfloat = right.type == DType::bfloat16;
  if (wide) return (bfloat ? across_wide<true> : across_wide<false>)(row, steps, right, columns, sums);
  (bfloat ? across<true> : across<false>)(row, steps, right, columns, sums);
}

}  // namespace lazy::cpu_backend
