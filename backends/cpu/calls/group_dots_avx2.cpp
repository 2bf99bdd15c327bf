// Multiplies by groups of small integers with vectors of 256 bits.
#include "backends/cpu/calls/lanes_avx2.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

constexpr int kColumnsOfFour = 1;

struct Sixteen {
  __m256 low, high;
  LAZY_LEVEL_INLINE static Sixteen load(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
  }
  LAZY_LEVEL_INLINE static __m256 eight_of(const float* p, int64_t count) {
    const __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), at));
  }
  /// Loads fewer; the others are 0.
  LAZY_LEVEL_INLINE static Sixteen load_part(const float* p, int64_t count) {
    return {eight_of(p, count), eight_of(p + 8, count - 8)};
  }
  LAZY_LEVEL_INLINE static Sixteen all(float f) { return {_mm256_set1_ps(f), _mm256_set1_ps(f)}; }
  LAZY_LEVEL_INLINE static Sixteen times(const Sixteen& a, const Sixteen& b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  LAZY_LEVEL_INLINE static Sixteen plus(const Sixteen& a, const Sixteen& b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  LAZY_LEVEL_INLINE static Sixteen fma(const Sixteen& a, const Sixteen& b, const Sixteen& c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  LAZY_LEVEL_INLINE static __m256 eight(const int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  LAZY_LEVEL_INLINE static Sixteen of_bytes(const int8_t* p) { return {eight(p), eight(p + 8)}; }
  LAZY_LEVEL_INLINE static Sixteen minus(const Sixteen& a, const Sixteen& b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  LAZY_LEVEL_INLINE void store(float* p) const { _mm256_storeu_ps(p, low), _mm256_storeu_ps(p + 8, high); }
  LAZY_LEVEL_INLINE float total() const { return Lanes<float>::total(_mm256_add_ps(low, high)); }
};

/// Holds a block of integers of 4 bits, two in a byte.
struct Bytes {
  __m128i v;
  LAZY_LEVEL_INLINE static Bytes load(const uint8_t* p) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))};
  }
  LAZY_LEVEL_INLINE static Sixteen numbers(__m128i b) {
    const __m128i low = _mm_and_si128(b, _mm_set1_epi8(15));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(low)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(low, low)))};
  }
  LAZY_LEVEL_INLINE Sixteen lower() const { return numbers(v); }
  LAZY_LEVEL_INLINE Sixteen upper() const { return numbers(_mm_srli_epi16(v, 4)); }
};

/// Holds a block of 128 integers of 4 bits.
struct Nibbles {
  __m256i lower[2], upper[2];
  LAZY_LEVEL_INLINE static Nibbles of(__m256i first, __m256i second) {
    const __m256i mask = _mm256_set1_epi8(15);
    const auto high = [&](__m256i v) LAZY_LEVEL { return _mm256_and_si256(_mm256_srli_epi16(v, 4), mask); };
    return {{_mm256_and_si256(first, mask), _mm256_and_si256(second, mask)}, {high(first), high(second)}};
  }
  LAZY_LEVEL_INLINE static Nibbles load(const uint8_t* p) {
    return of(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32)));
  }
  LAZY_LEVEL_INLINE static __m256i words(const uint8_t* p, int64_t bytes) {
    const __m256i at = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(bytes)), at);
    return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), there);
  }
  LAZY_LEVEL_INLINE static Nibbles load_part(const uint8_t* p, int64_t bytes) {
    return of(words(p, bytes), words(p + 32, bytes - 32));
  }
  /// Sums products with 32 bytes of each half: pairs of them fit 16 bits.
  LAZY_LEVEL_INLINE static __m256 half(__m256i low, __m256i high, const int8_t* x) {
    const auto bytes = [&](int64_t i)
                           LAZY_LEVEL { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i)); };
    const __m256i pairs =
        _mm256_add_epi16(_mm256_maddubs_epi16(low, bytes(0)), _mm256_maddubs_epi16(high, bytes(64)));
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  LAZY_LEVEL_INLINE Sixteen dot(const int8_t* x) const {
    return {half(lower[0], upper[0], x), half(lower[1], upper[1], x + 32)};
  }
};

/// Spreads the scales of a block's groups over its words, of 8 integers each.
struct Spread {
  __m256i low, high;
  LAZY_LEVEL_INLINE explicit Spread(int64_t size) {
    const int shift = size == 32 ? 2 : size == 64 ? 3 : 4;
    low = _mm256_srli_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), shift);
    high = _mm256_srli_epi32(_mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15), shift);
  }
  LAZY_LEVEL_INLINE Sixteen of(const float* scales, int64_t count) const {
    const __m128i there =
        _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3));
    const __m256 some = _mm256_castps128_ps256(_mm_maskload_ps(scales, there));
    return {_mm256_permutevar8x32_ps(some, low), _mm256_permutevar8x32_ps(some, high)};
  }
};

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

#include "backends/cpu/calls/group_dots_level.hpp"

namespace lazy::cpu_backend::group_dots {

constinit const Level kAvx2{"groups of integers, avx2", columns, sums_of_groups, write};

}  // namespace lazy::cpu_backend::group_dots
