#include "backends/cpu/packing/pack.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/machine/features.hpp"
#include "support/error.hpp"

#define LAZY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LAZY_AVX512_INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"), always_inline))
#define LAZY_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace lazy::cpu_backend {
namespace {

/// Writes n elements, `stride` bytes apart, as lanes side by side.
using Widen = void (*)(const char* from, int64_t stride, int64_t n, char* to);

template <class From, class To>
LAZY_AVX2 void widen(const char* from, int64_t stride, int64_t n, char* to_bytes) {
  To* to = reinterpret_cast<To*>(to_bytes);
  if (stride == static_cast<int64_t>(sizeof(From))) {
    if constexpr (sizeof(From) == sizeof(To)) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(To));
    } else {
      const From* unit = reinterpret_cast<const From*>(from);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(unit[i]);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i, from += stride)
    to[i] = static_cast<To>(*reinterpret_cast<const From*>(from));
}

LAZY_AVX2 void widen_bfloat16(const char* from, int64_t stride, int64_t n, char* to_bytes) {
  auto* to = reinterpret_cast<uint32_t*>(to_bytes);
  if (stride == 2) {
    const auto* unit = reinterpret_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = uint32_t{unit[i]} << 16;
    return;
  }
  for (int64_t i = 0; i < n; ++i, from += stride)
    to[i] = uint32_t{*reinterpret_cast<const uint16_t*>(from)} << 16;
}

LAZY_AVX2 void widen_float16(const char* from, int64_t stride, int64_t n, char* to_bytes) {
  auto* to = reinterpret_cast<float*>(to_bytes);
  int64_t i = 0;
  if (stride == 2)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(to + i,
                       _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i))));
  for (; i < n; ++i) to[i] = _cvtsh_ss(*reinterpret_cast<const uint16_t*>(from + i * stride));
}

template <class To>
Widen widening(DType t) {
  switch (t) {
    case DType::int8: return widen<int8_t, To>;
    case DType::uint8: return widen<uint8_t, To>;
    case DType::int16: return widen<int16_t, To>;
    case DType::uint16: return widen<uint16_t, To>;
    default: return widen<uint32_t, To>;
  }
}
Widen widening(DType t, ContractionLane lane) {
  switch (lane) {
    case ContractionLane::f64: return widen<uint64_t, uint64_t>;
    case ContractionLane::pairs:
    case ContractionLane::halves: return widening<int16_t>(t == DType::bfloat16 ? DType::int16 : t);
    case ContractionLane::i32: return widening<int32_t>(t);
    case ContractionLane::quads:
    case ContractionLane::f32: break;
  }
  return t == DType::bfloat16  ? widen_bfloat16
         : t == DType::float16 ? widen_float16
                               : widen<uint32_t, uint32_t>;
}

/// Sets to[i][j] = from[j][i] for 8 by 8 elements of 4 bytes.
LAZY_AVX2 inline void transpose8(const char* const from[8], int64_t at, char* to, int64_t pitch) {
  // This puts halves of rows j and j + 4 side by side, so that what remains happens within 128 bits.
  const auto half = [&](int j, int64_t offset) __attribute__((target("avx2,fma,f16c"), always_inline)) {
    return _mm256_insertf128_ps(
        _mm256_castps128_ps256(_mm_loadu_ps(reinterpret_cast<const float*>(from[j] + at + offset))),
        _mm_loadu_ps(reinterpret_cast<const float*>(from[j + 4] + at + offset)), 1);
  };
  for (int h = 0; h < 2; ++h) {
    const __m256 a = half(0, 16 * h), b = half(1, 16 * h), c = half(2, 16 * h), d = half(3, 16 * h);
    const __m256 ab0 = _mm256_unpacklo_ps(a, b), ab1 = _mm256_unpackhi_ps(a, b),
                 cd0 = _mm256_unpacklo_ps(c, d), cd1 = _mm256_unpackhi_ps(c, d);
    char* out = to + 4 * h * pitch;
    _mm256_storeu_ps(reinterpret_cast<float*>(out), _mm256_shuffle_ps(ab0, cd0, 0x44));
    _mm256_storeu_ps(reinterpret_cast<float*>(out + pitch), _mm256_shuffle_ps(ab0, cd0, 0xee));
    _mm256_storeu_ps(reinterpret_cast<float*>(out + 2 * pitch), _mm256_shuffle_ps(ab1, cd1, 0x44));
    _mm256_storeu_ps(reinterpret_cast<float*>(out + 3 * pitch), _mm256_shuffle_ps(ab1, cd1, 0xee));
  }
}

/// Sets to[i][j] = from[j][i], j < 8, i < rows.
LAZY_AVX2 void transpose_columns(const char* const from[8], int64_t rows, int64_t columns, int64_t lane,
                                 char* to, int64_t pitch) {
  int64_t i = 0;
  if (columns == 8 && lane == 4)
    for (; i + 8 <= rows; i += 8) transpose8(from, i * 4, to + i * pitch, pitch);
  for (; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(to + i * pitch + j * lane, from[j] + i * lane, static_cast<size_t>(lane));
}

/// Sets to[i][j] = from[j][i] for 16 by 16 elements of 4 bytes, from[j] being `column` bytes after from[j -
/// 1]. Four of them at a time come together as they are loaded, so that all else happens within 128 bits.
LAZY_AVX512 inline void transpose16(const char* from, int64_t column, char* to, int64_t pitch) {
  constexpr __mmask16 all = 0xffff;  // without a mask, GCC 12 warns of its own headers
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
    const __m512 ab0 = _mm512_maskz_unpacklo_ps(all, a, b), ab1 = _mm512_maskz_unpackhi_ps(all, a, b),
                 cd0 = _mm512_maskz_unpacklo_ps(all, c, d), cd1 = _mm512_maskz_unpackhi_ps(all, c, d);
    _mm512_storeu_ps(to, _mm512_maskz_shuffle_ps(all, ab0, cd0, 0x44));
    _mm512_storeu_ps(to + pitch, _mm512_maskz_shuffle_ps(all, ab0, cd0, 0xee));
    _mm512_storeu_ps(to + 2 * pitch, _mm512_maskz_shuffle_ps(all, ab1, cd1, 0x44));
    _mm512_storeu_ps(to + 3 * pitch, _mm512_maskz_shuffle_ps(all, ab1, cd1, 0xee));
  }
}

/// Sets the first rows and columns, as many as make blocks of 16 by 16 elements of 4 bytes, of to[i][j] =
/// from[j][i]. Returns how many `rows` are set; `columns` becomes how many columns are.
LAZY_AVX512 int64_t transpose_blocks(const char* from, int64_t column, int64_t rows, int64_t& columns,
                                     char* to, int64_t pitch) {
  columns = columns / 16 * 16;
  rows = rows / 16 * 16;
  for (int64_t j = 0; j < columns; j += 16)
    for (int64_t i = 0; i < rows; i += 16) {
      const char* at = from + j * column + i * 4;
      for (int64_t c = 0; c < 16; ++c) _mm_prefetch(at + (16 + c) * column, _MM_HINT_T0);
      transpose16(at, column, to + i * pitch + j * 4, pitch);
    }
  return rows;
}

/// Sets to[i][j] = from[j][i] for elements of 4 bytes.
void transpose_words(const char* from, int64_t column, int64_t rows, int64_t columns, char* to,
                     int64_t pitch) {
  int64_t whole = columns;
  const int64_t done = transpose_blocks(from, column, rows, whole, to, pitch);
  const auto copy = [&](int64_t i, int64_t j) {
    std::memcpy(to + i * pitch + j * 4, from + j * column + i * 4, 4);
  };
  for (int64_t j = 0; j < whole; ++j)
    for (int64_t i = done; i < rows; ++i) copy(i, j);
  for (int64_t j = whole; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) copy(i, j);
}

bool transposes_blocks() { return best_isa() >= Isa::avx512; }

constexpr int64_t kRun = 64;
/// Calls f(first row, rows up to kRun, first column, columns up to 8) for every such piece of a matrix.
template <class F>
void each_eight_columns(int64_t rows, int64_t columns, F&& f) {
  for (int64_t j = 0; j < columns; j += 8)
    for (int64_t i = 0; i < rows; i += kRun)
      f(i, std::min(kRun, rows - i), j, std::min<int64_t>(8, columns - j));
}

/// Packs columns that lie side by side in memory: eight of them at a time, by way of their lanes.
void pack_transposed(const PackSource& s, Widen widen, int64_t lane, int64_t rows, int64_t columns, char* to,
                     int64_t pitch) {
  alignas(64) char lanes[8][kRun * 8];
  const bool plain = static_cast<int64_t>(size_of(s.type)) == lane;
  if (plain && lane == 4 && transposes_blocks())
    return transpose_words(s.data, s.column, rows, columns, to, pitch);
  each_eight_columns(rows, columns, [&](int64_t i, int64_t run, int64_t j, int64_t n) {
    const char* from[8] = {};
    for (int64_t c = 0; c < n; ++c) {
      const char* column = s.data + (j + c) * s.column + i * s.row;
      if (!plain) widen(column, s.row, run, lanes[c]);
      from[c] = plain ? column : lanes[c];
    }
    transpose_columns(from, run, n, lane, to + i * pitch + j * lane, pitch);
  });
}

/// Copies rows as they are: too short for a call of memcpy each.
LAZY_AVX2 void copy_rows(const char* from, int64_t stride, int64_t rows, int64_t bytes, char* to,
                         int64_t pitch) {
  for (int64_t i = 0; i < rows; ++i, from += stride, to += pitch) {
    int64_t b = 0;
    for (; b + 64 <= bytes; b += 64) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + b)),
                    y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + b + 32));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + b), x);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + b + 32), y);
    }
    for (; b < bytes; b += 4) std::memcpy(to + b, from + b, 4);
  }
}

void pack_lanes(const PackSource& s, Widen widen, int64_t lane, int64_t rows, int64_t columns, char* to,
                int64_t pitch) {
  const auto size = static_cast<int64_t>(size_of(s.type));
  if (s.column != size && s.row == size) return pack_transposed(s, widen, lane, rows, columns, to, pitch);
  if (s.column == size && size == lane && lane >= 4)
    return copy_rows(s.data, s.row, rows, columns * lane, to, pitch);
  for (int64_t i = 0; i < rows; ++i) widen(s.data + i * s.row, s.column, columns, to + i * pitch);
}

LAZY_AVX2 inline __m256i load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

/// Stores what halves of 128 bits of `low` and `high`, interleaved, are in order.
LAZY_AVX2 inline void store_in_order(__m256i low, __m256i high, uint32_t* to) {
  auto* out = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(low, high, 0x31));
}

LAZY_AVX2 void interleave(const uint16_t* low, const uint16_t* high, int64_t n, char* to) {
  auto* out = reinterpret_cast<uint32_t*>(to);
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    const __m256i a = load32(low + j), b = load32(high + j);
    store_in_order(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b), out + j);
  }
  for (; j < n; ++j) out[j] = low[j] | uint32_t{high[j]} << 16;
}

LAZY_AVX2 void interleave(const uint8_t* const row[4], int64_t n, uint32_t* out) {
  int64_t j = 0;
  for (; j + 32 <= n; j += 32) {
    const __m256i a = load32(row[0] + j), b = load32(row[1] + j), c = load32(row[2] + j),
                  d = load32(row[3] + j);
    const __m256i ab0 = _mm256_unpacklo_epi8(a, b), ab1 = _mm256_unpackhi_epi8(a, b),
                  cd0 = _mm256_unpacklo_epi8(c, d), cd1 = _mm256_unpackhi_epi8(c, d);
    const __m256i q0 = _mm256_unpacklo_epi16(ab0, cd0), q1 = _mm256_unpackhi_epi16(ab0, cd0),
                  q2 = _mm256_unpacklo_epi16(ab1, cd1), q3 = _mm256_unpackhi_epi16(ab1, cd1);
    // Each has four columns of the lower 16 and four of the upper ones.
    const auto store = [&](int64_t at, __m256i x, __m256i y, int half)
        __attribute__((target("avx2,fma,f16c"), always_inline)) {
      const __m256i v =
          half == 0 ? _mm256_permute2x128_si256(x, y, 0x20) : _mm256_permute2x128_si256(x, y, 0x31);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j + at), v);
    };
    store(0, q0, q1, 0);
    store(8, q2, q3, 0);
    store(16, q0, q1, 1);
    store(24, q2, q3, 1);
  }
  for (; j < n; ++j)
    out[j] = row[0][j] | uint32_t{row[1][j]} << 8 | uint32_t{row[2][j]} << 16 | uint32_t{row[3][j]} << 24;
}

}  // namespace

void pack(const PackSource& s, ContractionLane lane, int64_t rows, int64_t columns, char* to, int64_t pitch) {
  pack_lanes(s, widening(s.type, lane), bytes_of(lane), rows, columns, to, pitch);
}

void pack_words(const PackSource& s, int64_t rows, int64_t columns, char* to, int64_t pitch) {
  pack_lanes(s, widening(s.type, ContractionLane::pairs), 2, rows, columns, to, pitch);
  if (columns % 2)
    for (int64_t i = 0; i < rows; ++i) std::memset(to + i * pitch + columns * 2, 0, 2);
}

void pack_pairs(const PackSource& s, int64_t rows, int64_t columns, char* to, int64_t pitch) {
  const Widen widen = widening(s.type, ContractionLane::pairs);
  const auto size = static_cast<int64_t>(size_of(s.type));
  if (s.column != size && s.row == size) {  // pairs lie side by side along the rows
    if (size == 2 && rows % 2 == 0 && transposes_blocks())
      return transpose_words(s.data, s.column, rows / 2, columns, to, pitch);
    alignas(64) char words[8][kRun * 2];
    return each_eight_columns(rows, columns, [&](int64_t i, int64_t run, int64_t j, int64_t n) {
      const char* from[8] = {};
      for (int64_t c = 0; c < n; ++c) {
        widen(s.data + (j + c) * s.column + i * s.row, s.row, run, words[c]);
        if (run % 2) std::memset(words[c] + run * 2, 0, 2);
        from[c] = words[c];
      }
      transpose_columns(from, (run + 1) / 2, n, 4, to + i / 2 * pitch + j * 4, pitch);
    });
  }
  uint16_t low[kRun], high[kRun];
  int64_t i = 0;
  if (s.column == 2 && size == 2)  // as they lie
    for (; i + 2 <= rows; i += 2) {
      const char* from = s.data + i * s.row;
      interleave(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<const uint16_t*>(from + s.row),
                 columns, to + i / 2 * pitch);
    }
  for (; i < rows; i += 2)
    for (int64_t j = 0; j < columns; j += kRun) {
      const int64_t n = std::min(kRun, columns - j);
      const char* from = s.data + i * s.row + j * s.column;
      widen(from, s.column, n, reinterpret_cast<char*>(low));
      if (i + 1 < rows) widen(from + s.row, s.column, n, reinterpret_cast<char*>(high));
      else std::fill_n(high, n, uint16_t{0});
      interleave(low, high, n, to + i / 2 * pitch + j * 4);
    }
}

LAZY_AVX2 void pack_bytes(const PackSource& s, bool raised, int64_t rows, int64_t columns, char* to,
                          int64_t pitch) {
  const char raise = raised && s.type == DType::int8 ? static_cast<char>(0x80) : char{0};
  const int64_t padded = (columns + 3) / 4 * 4;
  for (int64_t i = 0; i < rows; ++i) {
    const char* from = s.data + i * s.row;
    char* out = to + i * pitch;
    if (s.column == 1)
      for (int64_t j = 0; j < columns; ++j) out[j] = static_cast<char>(from[j] ^ raise);
    else
      for (int64_t j = 0; j < columns; ++j) out[j] = static_cast<char>(from[j * s.column] ^ raise);
    std::memset(out + columns, 0, static_cast<size_t>(padded - columns));
  }
}

LAZY_AVX2 void pack_quads(const PackSource& s, int64_t rows, int64_t columns, char* to, int64_t pitch) {
  int64_t i = 0;
  if (s.column == 1) {
    for (; i + 4 <= rows; i += 4) {
      const auto* r = reinterpret_cast<const uint8_t*>(s.data + i * s.row);
      const uint8_t* const four[] = {r, r + s.row, r + 2 * s.row, r + 3 * s.row};
      interleave(four, columns, reinterpret_cast<uint32_t*>(to + i / 4 * pitch));
    }
  } else if (s.row == 1) {  // quads lie side by side along the rows
    i = rows / 4 * 4;
    if (transposes_blocks()) transpose_words(s.data, s.column, i / 4, columns, to, pitch);
    else
      for (int64_t j = 0; j < columns; j += 8) {
        const int64_t n = std::min<int64_t>(8, columns - j);
        const char* from[8] = {};
        for (int64_t c = 0; c < n; ++c) from[c] = s.data + (j + c) * s.column;
        transpose_columns(from, i / 4, n, 4, to + j * 4, pitch);
      }
  }
  for (; i < rows; i += 4)
    for (int64_t j = 0; j < columns; ++j) {
      const char* from = s.data + i * s.row + j * s.column;
      char quad[4] = {};
      for (int64_t r = 0; r < std::min<int64_t>(4, rows - i); ++r) quad[r] = from[r * s.row];
      std::memcpy(to + i / 4 * pitch + j * 4, quad, 4);
    }
}

LAZY_AVX2 void sums_of_raised(const PackSource& s, int64_t rows, int64_t columns, int32_t* sums) {
  std::fill_n(sums, columns, 0);
  const auto* data = reinterpret_cast<const int8_t*>(s.data);
  if (s.row == 1) {
    for (int64_t j = 0; j < columns; ++j) {
      const int8_t* column = data + j * s.column;
      int32_t sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += column[i];
      sums[j] = sum;
    }
  } else if (s.column == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      const int8_t* row = data + i * s.row;
      for (int64_t j = 0; j < columns; ++j) sums[j] += row[j];
    }
  } else {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) sums[j] += data[i * s.row + j * s.column];
  }
  for (int64_t j = 0; j < columns; ++j)
    sums[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) * -128U);
}

}  // namespace lazy::cpu_backend
