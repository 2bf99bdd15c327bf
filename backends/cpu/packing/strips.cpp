#include "backends/cpu/packing/strips.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <span>

#define LAZY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LAZY_AVX512_INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), always_inline))
#define LAZY_AVX2 __attribute__((target("avx2,fma,f16c")))
#define LAZY_AVX2_INLINE __attribute__((target("avx2,fma,f16c"), always_inline))

namespace lazy::cpu_backend {
namespace {

// Each of these functions transposes one block: to[i][j] = from[j][i], where from[j] is `column` bytes after
// from[j - 1]. Pieces of several columns come together as they are loaded, so that little moves between 128
// bits afterwards.

/// 4 by 4 elements of 4 bytes.
LAZY_AVX2_INLINE inline void words4(const char* from, int64_t column, char* to, int64_t pitch) {
  const auto at = [&](int j) LAZY_AVX2_INLINE {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from + j * column));
  };
  const __m128 a = at(0), b = at(1), c = at(2), d = at(3);
  const __m128 ab0 = _mm_unpacklo_ps(a, b), ab1 = _mm_unpackhi_ps(a, b), cd0 = _mm_unpacklo_ps(c, d),
               cd1 = _mm_unpackhi_ps(c, d);
  const auto store = [&](int i, __m128 v)
                         LAZY_AVX2_INLINE { _mm_storeu_ps(reinterpret_cast<float*>(to + i * pitch), v); };
  store(0, _mm_movelh_ps(ab0, cd0));
  store(1, _mm_movehl_ps(cd0, ab0));
  store(2, _mm_movelh_ps(ab1, cd1));
  store(3, _mm_movehl_ps(cd1, ab1));
}

/// 8 by 8 elements of 4 bytes.
LAZY_AVX2_INLINE inline void words8(const char* from, int64_t column, char* to, int64_t pitch) {
  const auto at = [&](int j, int h) LAZY_AVX2_INLINE {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from + j * column + 16 * h));
  };
  const auto pair = [&](int j, int h) LAZY_AVX2_INLINE {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(at(j, h)), at(j + 4, h), 1);
  };
  for (int h = 0; h < 2; ++h, to += 4 * pitch) {
    const __m256 a = pair(0, h), b = pair(1, h), c = pair(2, h), d = pair(3, h);
    const __m256 ab0 = _mm256_unpacklo_ps(a, b), ab1 = _mm256_unpackhi_ps(a, b),
                 cd0 = _mm256_unpacklo_ps(c, d), cd1 = _mm256_unpackhi_ps(c, d);
    const auto store = [&](int i, __m256 v) LAZY_AVX2_INLINE {
      _mm256_storeu_ps(reinterpret_cast<float*>(to + i * pitch), v);
    };
    store(0, _mm256_shuffle_ps(ab0, cd0, 0x44));
    store(1, _mm256_shuffle_ps(ab0, cd0, 0xee));
    store(2, _mm256_shuffle_ps(ab1, cd1, 0x44));
    store(3, _mm256_shuffle_ps(ab1, cd1, 0xee));
  }
}

// Without a mask, GCC 12 warns of its own headers.
constexpr __mmask16 kAll = 0xffff;
constexpr __mmask8 kAllLongs = 0xff;

/// 16 by 16 elements of 4 bytes.
LAZY_AVX512_INLINE inline void words16(const char* from, int64_t column, char* to, int64_t pitch) {
  const auto four = [&](const char* p) LAZY_AVX512_INLINE {
    const auto at = [&](int i) LAZY_AVX512_INLINE {
      return _mm_loadu_ps(reinterpret_cast<const float*>(p + i * 4 * column));
    };
    __m512 v = _mm512_maskz_broadcast_f32x4(0x000f, at(0));
    v = _mm512_mask_broadcast_f32x4(v, 0x00f0, at(1));
    v = _mm512_mask_broadcast_f32x4(v, 0x0f00, at(2));
    return _mm512_mask_broadcast_f32x4(v, 0xf000, at(3));
  };
  for (int h = 0; h < 4; ++h, from += 16, to += 4 * pitch) {
    const __m512 a = four(from), b = four(from + column), c = four(from + 2 * column),
                 d = four(from + 3 * column);
    const __m512 ab0 = _mm512_maskz_unpacklo_ps(kAll, a, b), ab1 = _mm512_maskz_unpackhi_ps(kAll, a, b),
                 cd0 = _mm512_maskz_unpacklo_ps(kAll, c, d), cd1 = _mm512_maskz_unpackhi_ps(kAll, c, d);
    _mm512_storeu_ps(to, _mm512_maskz_shuffle_ps(kAll, ab0, cd0, 0x44));
    _mm512_storeu_ps(to + pitch, _mm512_maskz_shuffle_ps(kAll, ab0, cd0, 0xee));
    _mm512_storeu_ps(to + 2 * pitch, _mm512_maskz_shuffle_ps(kAll, ab1, cd1, 0x44));
    _mm512_storeu_ps(to + 3 * pitch, _mm512_maskz_shuffle_ps(kAll, ab1, cd1, 0xee));
  }
}

/// 4 by 4 elements of 8 bytes.
LAZY_AVX2_INLINE inline void longs4(const char* from, int64_t column, char* to, int64_t pitch) {
  const auto at = [&](int j, int h) LAZY_AVX2_INLINE {
    return _mm_loadu_pd(reinterpret_cast<const double*>(from + j * column + 16 * h));
  };
  const auto pair = [&](int j, int h) LAZY_AVX2_INLINE {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(at(j, h)), at(j + 2, h), 1);
  };
  for (int h = 0; h < 2; ++h, to += 2 * pitch) {
    const __m256d a = pair(0, h), b = pair(1, h);
    _mm256_storeu_pd(reinterpret_cast<double*>(to), _mm256_unpacklo_pd(a, b));
    _mm256_storeu_pd(reinterpret_cast<double*>(to + pitch), _mm256_unpackhi_pd(a, b));
  }
}

/// 8 by 8 elements of 8 bytes.
LAZY_AVX512_INLINE inline void longs8(const char* from, int64_t column, char* to, int64_t pitch) {
  const auto pair = [&](int j, int h) LAZY_AVX512_INLINE {
    const auto at = [&](int i) LAZY_AVX512_INLINE {
      return _mm256_loadu_pd(reinterpret_cast<const double*>(from + i * column + 32 * h));
    };
    return _mm512_maskz_insertf64x4(kAllLongs, _mm512_castpd256_pd512(at(j)), at(j + 2), 1);
  };
  for (int h = 0; h < 2; ++h, to += 4 * pitch) {
    const __m512d a = pair(0, h), b = pair(1, h), c = pair(4, h), d = pair(5, h);
    // Rows 0 and 2 of the first four columns, then those of the others; rows 1 and 3.
    const __m512d ab0 = _mm512_maskz_unpacklo_pd(kAllLongs, a, b),
                  ab1 = _mm512_maskz_unpackhi_pd(kAllLongs, a, b),
                  cd0 = _mm512_maskz_unpacklo_pd(kAllLongs, c, d),
                  cd1 = _mm512_maskz_unpackhi_pd(kAllLongs, c, d);
    _mm512_storeu_pd(to, _mm512_maskz_shuffle_f64x2(kAllLongs, ab0, cd0, 0x88));
    _mm512_storeu_pd(to + pitch, _mm512_maskz_shuffle_f64x2(kAllLongs, ab1, cd1, 0x88));
    _mm512_storeu_pd(to + 2 * pitch, _mm512_maskz_shuffle_f64x2(kAllLongs, ab0, cd0, 0xdd));
    _mm512_storeu_pd(to + 3 * pitch, _mm512_maskz_shuffle_f64x2(kAllLongs, ab1, cd1, 0xdd));
  }
}

using Block = void (*)(const char* from, int64_t column, char* to, int64_t pitch);

/// Transposes n columns of at least n rows. The last block ends with the last row: it may do again what the
/// one before has done.
template <Block block, int64_t n, int64_t size>
LAZY_AVX2 void strip(const char* from, int64_t column, int64_t rows, char* to, int64_t pitch) {
  for (int64_t i = 0; i < rows; i += n) {
    const int64_t at = std::min(i, rows - n);
    block(from + at * size, column, to + at * pitch, pitch);
  }
}

/// Does likewise with registers of 64 bytes, and asks for the next strip, which is far from this one.
template <Block block, int64_t n, int64_t size>
LAZY_AVX512 void wide_strip(const char* from, int64_t column, int64_t rows, char* to, int64_t pitch) {
  for (int64_t i = 0; i < rows; i += n) {
    const int64_t at = std::min(i, rows - n);
    for (int64_t j = n; j < 2 * n; ++j) _mm_prefetch(from + at * size + j * column, _MM_HINT_T0);
    block(from + at * size, column, to + at * pitch, pitch);
  }
}

struct Strips {
  int64_t columns;
  void (*run)(const char* from, int64_t column, int64_t rows, char* to, int64_t pitch);
};
constexpr Strips kWords[] = {{16, wide_strip<words16, 16, 4>},
                             {8, strip<words8, 8, 4>},
                             {4, strip<words4, 4, 4>}},
                 kLongs[] = {{8, wide_strip<longs8, 8, 8>}, {4, strip<longs4, 4, 8>}};

/// Returns the strips that the level has for such elements, widest first.
std::span<const Strips> strips(int64_t size, Isa level) {
  const size_t first = level >= Isa::avx512 ? 0 : 1;  // the widest have registers of 64 bytes
  if (size == 4) return std::span(kWords).subspan(first);
  if (size == 8) return std::span(kLongs).subspan(first);
  return {};
}

template <int64_t size>
void one_by_one(const char* from, int64_t column, int64_t rows, int64_t columns, char* to, int64_t pitch) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(to + i * pitch + j * size, from + j * column + i * size, size);
}

}  // namespace

int64_t transpose(const char* from, int64_t column, int64_t size, int64_t rows, int64_t columns, char* to,
                  int64_t pitch, Isa level) {
  int64_t done = 0;
  for (const Strips& s : strips(size, level)) {
    if (s.columns > rows || s.columns > columns) continue;
    for (; done + s.columns <= columns; done += s.columns)
      s.run(from + done * column, column, rows, to + done * size, pitch);
    if (s.columns > 4 || done == columns) continue;
    // What is left begins where it ends with the last column.
    s.run(from + (columns - s.columns) * column, column, rows, to + (columns - s.columns) * size, pitch);
    done = columns;
  }
  const int64_t left = columns - done;
  from += done * column, to += done * size;
  if (size == 8) one_by_one<8>(from, column, rows, left, to, pitch);
  else if (size == 4) one_by_one<4>(from, column, rows, left, to, pitch);
  else one_by_one<2>(from, column, rows, left, to, pitch);
  return rows * left;
}

}  // namespace lazy::cpu_backend
