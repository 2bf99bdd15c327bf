// Multiplies by groups of small integers with vectors of 256 bits.
#include "backends/cpu/calls/lanes_avx2.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

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
  LAZY_LEVEL_INLINE float total() const { return Lanes<float>::total(_mm256_add_ps(low, high)); }
};

/// Holds a block of integers of 4 bits.
struct Words {
  __m256i low, high;
  LAZY_LEVEL_INLINE static Words load(const uint8_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
  }
  /// Returns number i of each word.
  LAZY_LEVEL_INLINE Sixteen nibbles(int i) const {
    const __m256i mask = _mm256_set1_epi32(15);
    return {_mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(low, 4 * i), mask)),
            _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(high, 4 * i), mask))};
  }
};

}  // namespace
}  // namespace lazy::cpu_backend::group_dots

#include "backends/cpu/calls/group_dots_level.hpp"

namespace lazy::cpu_backend::group_dots {

constinit const Level kAvx2{"groups of integers, avx2", columns, sums_of_groups};

}  // namespace lazy::cpu_backend::group_dots
