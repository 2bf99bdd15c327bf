// Multiplies by groups of small integers with vectors of 512 bits.
#include "backends/cpu/calls/lanes_avx512.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

constexpr int kColumnsOfFour = 2;

struct Sixteen {
  __m512 v;
  LAZY_LEVEL_INLINE static Sixteen load(const float* p) { return {_mm512_loadu_ps(p)}; }
  /// Loads fewer; the others are 0.
  LAZY_LEVEL_INLINE static Sixteen load_part(const float* p, int64_t count) {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << count) - 1), p)};
  }
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
    return {
        _mm512_permutexvar_ps(words, _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))};
  }
  LAZY_LEVEL_INLINE Sixteen lower() const { return numbers(v); }
  LAZY_LEVEL_INLINE Sixteen upper() const { return numbers(_mm512_srli_epi32(v, 4)); }
};

/// Holds a block of 128 integers of 4 bits.
struct Nibbles {
  __m512i lower, upper;
  LAZY_LEVEL_INLINE static Nibbles of(__m512i v) {
    const __m512i mask = _mm512_set1_epi8(15);
    return {_mm512_and_si512(v, mask), _mm512_and_si512(_mm512_srli_epi16(v, 4), mask)};
  }
  LAZY_LEVEL_INLINE static Nibbles load(const uint8_t* p) { return of(_mm512_loadu_si512(p)); }
  LAZY_LEVEL_INLINE static Nibbles load_part(const uint8_t* p, int64_t bytes) {
    return of(_mm512_maskz_loadu_epi8((uint64_t{1} << bytes) - 1, p));
  }
  /// Sums products with 128 of int8: pairs of them fit 16 bits.
  LAZY_LEVEL_INLINE Sixteen dot(const int8_t* x) const {
    const __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16(lower, _mm512_loadu_si512(x)),
                                           _mm512_maddubs_epi16(upper, _mm512_loadu_si512(x + 64)));
    return {_mm512_cvtepi32_ps(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
  }
};

/// Spreads the scales of a block's groups over its words, of 8 integers each.
struct Spread {
  __m512i group;
  LAZY_LEVEL_INLINE explicit Spread(int64_t size) {
    const int shift = size == 32 ? 2 : size == 64 ? 3 : 4;
    group = _mm512_srli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                              static_cast<unsigned>(shift));
  }
  LAZY_LEVEL_INLINE Sixteen of(const float* scales, int64_t count) const {
    const __m128 some = _mm_maskz_loadu_ps(static_cast<__mmask8>((1 << count) - 1), scales);
    return {_mm512_permutexvar_ps(group, _mm512_castps128_ps512(some))};
  }
};

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

#include "backends/cpu/calls/group_dots_level.hpp"

namespace lazy::cpu_backend::group_dots {

constinit const Level kAvx512{"groups of integers, avx512", columns, sums_of_groups, write};

}  // namespace lazy::cpu_backend::group_dots
