// Multiplies by groups of small integers with vectors of 256 bits.
#include "backends/cpu/calls/lanes_avx2.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

constexpr int kColumnsOfFour = 1;

struct Sixteen {
  __m256 low, high;
  LAZY_LEVEL_INLINE static Sixteen load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
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
  LAZY_LEVEL_INLINE static Sixteen minus(const Sixteen& a, const Sixteen& b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
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

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

#include "backends/cpu/calls/group_dots_level.hpp"

namespace lazy::cpu_backend::group_dots {

constinit const Level kAvx2{"groups of integers, avx2", columns, sums_of_groups, write};

}  // namespace lazy::cpu_backend::group_dots
