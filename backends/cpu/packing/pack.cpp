#include "backends/cpu/packing/pack.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/packing/strips.hpp"
#include "support/error.hpp"

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

/// Converts integers of 8 or 16 bits, of which float32 has each.
template <class From>
LAZY_AVX2 void widen_to_float(const char* from, int64_t stride, int64_t n, char* to_bytes) {
  auto* to = reinterpret_cast<float*>(to_bytes);
  int64_t i = 0;
  if (stride == static_cast<int64_t>(sizeof(From))) {
    const From* unit = reinterpret_cast<const From*>(from);
    for (; i + 8 <= n; i += 8) {
      __m256i words;
      if constexpr (sizeof(From) == 1) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(unit + i));
        words = std::is_signed_v<From> ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
      } else {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit + i));
        words = std::is_signed_v<From> ? _mm256_cvtepi16_epi32(halves) : _mm256_cvtepu16_epi32(halves);
      }
      _mm256_storeu_ps(to + i, _mm256_cvtepi32_ps(words));
    }
  }
  for (; i < n; ++i) to[i] = static_cast<float>(*reinterpret_cast<const From*>(from + i * stride));
}

/// Converts numbers of which float64 has each.
Widen widening_to_double(DType t) {
  switch (t) {
    case DType::int8: return widen<int8_t, double>;
    case DType::uint8: return widen<uint8_t, double>;
    case DType::int16: return widen<int16_t, double>;
    case DType::uint16: return widen<uint16_t, double>;
    case DType::int32: return widen<int32_t, double>;
    case DType::uint32: return widen<uint32_t, double>;
    case DType::float32: return widen<float, double>;
    default: return widen<uint64_t, uint64_t>;
  }
}

Widen widening_to_float(DType t) {
  switch (t) {
    case DType::bfloat16: return widen_bfloat16;
    case DType::float16: return widen_float16;
    case DType::int8: return widen_to_float<int8_t>;
    case DType::uint8: return widen_to_float<uint8_t>;
    case DType::int16: return widen_to_float<int16_t>;
    case DType::uint16: return widen_to_float<uint16_t>;
    default: return nullptr;
  }
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
    case ContractionLane::f64: return widening_to_double(t);
    case ContractionLane::pairs:
    case ContractionLane::halves: return widening<int16_t>(t == DType::bfloat16 ? DType::int16 : t);
    case ContractionLane::i32: return widening<int32_t>(t);
    case ContractionLane::f32:
      if (const Widen w = widening_to_float(t)) return w;
      break;
    case ContractionLane::quads: break;
  }
  return widen<uint32_t, uint32_t>;
}

constexpr int64_t kRun = 64, kFewColumns = 16;
/// Calls f(first row, rows up to kRun, first column, columns up to kFewColumns) for every such piece of a
/// matrix.
template <class F>
void each_few_columns(int64_t rows, int64_t columns, F&& f) {
  for (int64_t j = 0; j < columns; j += kFewColumns)
    for (int64_t i = 0; i < rows; i += kRun)
      f(i, std::min(kRun, rows - i), j, std::min(kFewColumns, columns - j));
}

/// Packs columns that lie side by side in memory; if they are no lanes yet, few at a time, by way of these.
void pack_transposed(const PackSource& s, Widen widen, int64_t lane, int64_t rows, int64_t columns, char* to,
                     int64_t pitch) {
  if (static_cast<int64_t>(size_of(s.type)) == lane) {
    transpose(s.data, s.column, lane, rows, columns, to, pitch);
    return;
  }
  alignas(64) char lanes[kFewColumns][kRun * 8];  // bytes of the widest lane
  each_few_columns(rows, columns, [&](int64_t i, int64_t run, int64_t j, int64_t n) {
    for (int64_t c = 0; c < n; ++c) widen(s.data + (j + c) * s.column + i * s.row, s.row, run, lanes[c]);
    transpose(lanes[0], sizeof lanes[0], lane, run, n, to + i * pitch + j * lane, pitch);
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
    if (size == 2 && rows % 2 == 0) {
      transpose(s.data, s.column, 4, rows / 2, columns, to, pitch);
      return;
    }
    alignas(64) char words[kFewColumns][kRun * 2];
    return each_few_columns(rows, columns, [&](int64_t i, int64_t run, int64_t j, int64_t n) {
      for (int64_t c = 0; c < n; ++c) {
        widen(s.data + (j + c) * s.column + i * s.row, s.row, run, words[c]);
        if (run % 2) std::memset(words[c] + run * 2, 0, 2);
      }
      transpose(words[0], sizeof words[0], 4, (run + 1) / 2, n, to + i / 2 * pitch + j * 4, pitch);
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
    transpose(s.data, s.column, 4, i / 4, columns, to, pitch);
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
