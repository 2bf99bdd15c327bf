// Multiplies by groups of small integers with vectors of 512 bits.
#include "backends/cpu/calls/lanes_avx512.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

constexpr int kColumnsOfFour = 2;

struct Sixteen {
  __m512 v;
  LAZY_LEVEL_INLINE static Sixteen load(const float* p) { return {_mm512_loadu_ps(p)}; }
  LAZY_LEVEL_INLINE static Sixteen all(float f) { return {_mm512_set1_ps(f)}; }
  LAZY_LEVEL_INLINE static Sixteen times(Sixteen a, Sixteen b) { return {_mm512_mul_ps(a.v, b.v)}; }
  LAZY_LEVEL_INLINE static Sixteen plus(Sixteen a, Sixteen b) { return {_mm512_add_ps(a.v, b.v)}; }
  LAZY_LEVEL_INLINE static Sixteen fma(Sixteen a, Sixteen b, Sixteen c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  }
  LAZY_LEVEL_INLINE static Sixteen of_bytes(const int8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
  }
  LAZY_LEVEL_INLINE static Sixteen minus(Sixteen a, Sixteen b) { return {_mm512_sub_ps(a.v, b.v)}; }
  LAZY_LEVEL_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  LAZY_LEVEL_INLINE float total() const { return Lanes<float>::total(v); }
};

/// Holds a block of integers of 4 bits, a byte in each word.
struct Bytes {
  __m512i v;
  LAZY_LEVEL_INLINE static Bytes load(const uint8_t* p) {
    return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
  }
  /// Returns numbers by the lowest 4 bits of each word: a permutation looks at no others.
  LAZY_LEVEL_INLINE static Sixteen numbers(__m512i words) {
    return {_mm512_permutexvar_ps(words, _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))};
  }
  LAZY_LEVEL_INLINE Sixteen lower() const { return numbers(v); }
  LAZY_LEVEL_INLINE Sixteen upper() const { return numbers(_mm512_srli_epi32(v, 4)); }
};

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

#include "backends/cpu/calls/group_dots_level.hpp"

namespace lazy::cpu_backend::group_dots {

constinit const Level kAvx512{"groups of integers, avx512", columns, sums_of_groups, write};

}  // namespace lazy::cpu_backend::group_dots
