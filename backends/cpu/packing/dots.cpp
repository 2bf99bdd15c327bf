#include "backends/cpu/packing/dots.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/machine/features.hpp"

#define LAZY_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define LAZY_VNNI_INLINE \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"), always_inline))
#define LAZY_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace lazy::cpu_backend {
namespace {

constexpr int kColumns = 4;     // at once
constexpr int64_t kChunk = 64;  // bytes of a row in a step of bytes, or of words once widened

/// Describes rows and columns that are multiplied, and where their products go.
struct Dots {
  const char* rows;
  int64_t row, steps;  // bytes from one row to the next; elements
  const char* columns;
  int64_t column, count;  // bytes from one column to the next; columns
  const int32_t* start;   // where the sums of each row start
  int32_t* sums;
  int64_t pitch;  // elements from the sums of one row to those of the next

  /// Returns the elements of whole chunks of bytes, and a mask of those of the last one.
  int64_t whole() const { return steps / kChunk * kChunk; }
  uint64_t last() const { return (uint64_t{1} << (steps - whole())) - 1; }
  /// Sets at[] to the columns from j on; beyond the last they are that one.
  void place(int64_t j, const char* at[kColumns]) const {
    for (int64_t c = 0; c < kColumns; ++c) at[c] = columns + std::min(j + c, count - 1) * column;
  }
};

/// Asks for what follows in memory: columns are too short for the processor to see it coming.
inline __attribute__((always_inline)) void fetch(const char* ahead) { _mm_prefetch(ahead, _MM_HINT_T0); }

/// Adds up each of four vectors.
LAZY_AVX2 inline __m128i folded(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
  return _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
}
LAZY_VNNI inline __m256i halved(__m512i x) {
  constexpr __mmask8 all = 0xff;  // without a mask, GCC 12 warns of its own headers
  return _mm256_add_epi32(_mm512_maskz_extracti32x8_epi32(all, x, 0),
                          _mm512_maskz_extracti32x8_epi32(all, x, 1));
}

/// Stores the sums of row i and of the columns from j on.
LAZY_AVX2 inline void store(const Dots& d, int i, int64_t j, __m128i sums) {
  const __m128i all = _mm_add_epi32(sums, _mm_set1_epi32(d.start[i]));
  int32_t* to = d.sums + i * d.pitch + j;
  if (d.count - j >= kColumns) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), all);
  const __m128i in =
      _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(d.count - j)), _mm_setr_epi32(0, 1, 2, 3));
  _mm_maskstore_epi32(to, in, all);
}

/// Adds the products of 64 bytes. kRaised and kLeft say that the right side is raised, and that the left one
/// is unsigned.
template <bool kRaised, bool kLeft>
LAZY_VNNI_INLINE inline __m512i add(__m512i sum, __m512i left, __m512i right) {
  if constexpr (kRaised) right = _mm512_xor_si512(right, _mm512_set1_epi8(-128));
  return _mm512_dpbusd_epi32(sum, kLeft ? left : right, kLeft ? right : left);
}

/// Multiplies bytes, the columns one after the other: one or two rows are done with a column before memory
/// has answered, so columns are read as one stream that is fetched ahead.
template <int kRows, bool kRaised, bool kLeft>
LAZY_VNNI void stream_bytes(const Dots& d) {
  constexpr int kSums = 4;          // vectors that a column is added up in
  constexpr int64_t kAhead = 8192;  // bytes
  const int64_t whole = d.whole();
  const __mmask64 last = d.last();
  for (int64_t j = 0; j < d.count; j += kColumns) {
    const char* at[kColumns];
    d.place(j, at);
    __m256i all[kRows][kColumns];
    for (int c = 0; c < kColumns; ++c) {
      __m512i sums[kRows][kSums];
      for (auto& row : sums)
        for (__m512i& a : row) a = _mm512_setzero_si512();
      const auto step = [&](int64_t k, int n, __m512i right) LAZY_VNNI_INLINE {
        for (int i = 0; i < kRows; ++i)
          sums[i][n] = add<kRaised, kLeft>(sums[i][n], _mm512_loadu_si512(d.rows + i * d.row + k), right);
      };
      int64_t k = 0;
      for (; k + kSums * kChunk <= whole; k += kSums * kChunk)
        for (int n = 0; n < kSums; ++n) {
          const char* const here = at[c] + k + n * kChunk;
          fetch(here + kAhead);
          step(k + n * kChunk, n, _mm512_loadu_si512(here));
        }
      for (; k < whole; k += kChunk) step(k, 0, _mm512_loadu_si512(at[c] + k));
      if (last != 0) step(whole, 0, _mm512_maskz_loadu_epi8(last, at[c] + whole));
      for (int i = 0; i < kRows; ++i)
        all[i][c] = halved(_mm512_add_epi32(_mm512_add_epi32(sums[i][0], sums[i][1]),
                                            _mm512_add_epi32(sums[i][2], sums[i][3])));
    }
    for (int i = 0; i < kRows; ++i) store(d, i, j, folded(all[i][0], all[i][1], all[i][2], all[i][3]));
  }
}

/// Multiplies bytes, four columns side by side.
template <int kRows, bool kRaised, bool kLeft>
LAZY_VNNI void tile_bytes(const Dots& d) {
  const int64_t whole = d.whole();
  const __mmask64 last = d.last();
  for (int64_t j = 0; j < d.count; j += kColumns) {
    const char* at[kColumns];
    d.place(j, at);
    __m512i acc[kRows][kColumns];
    for (auto& row : acc)
      for (__m512i& a : row) a = _mm512_setzero_si512();
    const auto step = [&](int64_t k, __mmask64 in) LAZY_VNNI_INLINE {
      for (int c = 0; c < kColumns; ++c) {
        fetch(at[c] + k + kColumns * d.column);
        const __m512i right = _mm512_maskz_loadu_epi8(in, at[c] + k);
        for (int i = 0; i < kRows; ++i)
          acc[i][c] = add<kRaised, kLeft>(acc[i][c], _mm512_loadu_si512(d.rows + i * d.row + k), right);
      }
    };
    for (int64_t k = 0; k < whole; k += kChunk) step(k, ~uint64_t{0});
    if (last != 0) step(whole, last);
    for (int i = 0; i < kRows; ++i)
      store(d, i, j, folded(halved(acc[i][0]), halved(acc[i][1]), halved(acc[i][2]), halved(acc[i][3])));
  }
}

template <int kRows, bool kRaised, bool kLeft>
void dot_bytes(const Dots& d) {
  if constexpr (kRows <= 2) stream_bytes<kRows, kRaised, kLeft>(d);
  else tile_bytes<kRows, kRaised, kLeft>(d);
}

/// Puts four vectors of sums in order: of 64 columns, each has four of every 16.
LAZY_VNNI inline void put_in_order(int32_t* sums) {
  constexpr __mmask16 all = 0xffff;
  __m512i* const at = reinterpret_cast<__m512i*>(sums);
  const __m512i a = _mm512_loadu_si512(at), b = _mm512_loadu_si512(at + 1), c = _mm512_loadu_si512(at + 2),
                d = _mm512_loadu_si512(at + 3);
  const __m512i ab0 = _mm512_maskz_shuffle_i32x4(all, a, b, 0x44),
                ab1 = _mm512_maskz_shuffle_i32x4(all, a, b, 0xee),
                cd0 = _mm512_maskz_shuffle_i32x4(all, c, d, 0x44),
                cd1 = _mm512_maskz_shuffle_i32x4(all, c, d, 0xee);
  _mm512_storeu_si512(at, _mm512_maskz_shuffle_i32x4(all, ab0, cd0, 0x88));
  _mm512_storeu_si512(at + 1, _mm512_maskz_shuffle_i32x4(all, ab0, cd0, 0xdd));
  _mm512_storeu_si512(at + 2, _mm512_maskz_shuffle_i32x4(all, ab1, cd1, 0x88));
  _mm512_storeu_si512(at + 3, _mm512_maskz_shuffle_i32x4(all, ab1, cd1, 0xdd));
}

/// Multiplies one row of bytes by rows of bytes, four steps of 64 columns at a time. Sums stay in a near
/// cache.
template <bool kRaised, bool kLeft>
LAZY_VNNI void add_across(const char* row, int64_t steps, const PackSource& right, int64_t columns,
                          int32_t start, int32_t* sums) {
  constexpr int64_t kColumnsAtOnce = DottedRows::kAcross, kSteps = 4;
  const __m512i raise = _mm512_set1_epi8(-128);
  std::fill_n(sums, (columns + kColumnsAtOnce - 1) / kColumnsAtOnce * kColumnsAtOnce, start);
  for (int64_t k = 0; k < steps; k += kSteps) {
    int32_t quad;
    std::memcpy(&quad, row + k, sizeof quad);  // zeros follow the last element
    const __m512i left = _mm512_set1_epi32(quad);
    const char* at[kSteps];
    for (int64_t i = 0; i < kSteps; ++i) at[i] = right.data + std::min(k + i, steps - 1) * right.row;
    for (int64_t j = 0; j < columns; j += kColumnsAtOnce) {
      const int64_t n = std::min(kColumnsAtOnce, columns - j);
      const __mmask64 in = ~uint64_t{0} >> (kColumnsAtOnce - n);
      __m512i r[kSteps];
      for (int64_t i = 0; i < kSteps; ++i) {
        r[i] = _mm512_maskz_loadu_epi8(in, at[i] + j);
        if constexpr (kRaised) r[i] = _mm512_xor_si512(r[i], raise);
      }
      const __m512i ab0 = _mm512_unpacklo_epi8(r[0], r[1]), ab1 = _mm512_unpackhi_epi8(r[0], r[1]),
                    cd0 = _mm512_unpacklo_epi8(r[2], r[3]), cd1 = _mm512_unpackhi_epi8(r[2], r[3]);
      const __m512i quads[] = {_mm512_unpacklo_epi16(ab0, cd0), _mm512_unpackhi_epi16(ab0, cd0),
                               _mm512_unpacklo_epi16(ab1, cd1), _mm512_unpackhi_epi16(ab1, cd1)};
      for (int q = 0; q < 4; ++q) {
        int32_t* const to = sums + j + 16 * q;
        const __m512i sum = _mm512_loadu_si512(to);
        _mm512_storeu_si512(to, _mm512_dpbusd_epi32(sum, kLeft ? left : quads[q], kLeft ? quads[q] : left));
      }
    }
  }
  for (int64_t j = 0; j < columns; j += kColumnsAtOnce) put_in_order(sums + j);
}

LAZY_AVX2 inline __m256i words_at(const char* p, DType t) {
  const auto half = [&]() __attribute__((target("avx2,fma,f16c"), always_inline)) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  };
  if (t == DType::int8) return _mm256_cvtepi8_epi16(half());
  if (t == DType::uint8) return _mm256_cvtepu8_epi16(half());
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

/// Multiplies words, into which elements of the right side are widened.
template <int kRows>
LAZY_AVX2 void dot_words(const Dots& d, DType type) {
  constexpr int64_t lanes = 16;
  const auto size = static_cast<int64_t>(size_of(type));
  for (int64_t j = 0; j < d.count; j += kColumns) {
    const char* column[kColumns];
    d.place(j, column);
    __m256i acc[kRows][kColumns];
    for (auto& row : acc)
      for (__m256i& a : row) a = _mm256_setzero_si256();
    for (int64_t k = 0; k < d.steps; k += lanes)
      for (int c = 0; c < kColumns; ++c) {
        const char* at = column[c] + k * size;
        alignas(32) char last[32] = {};
        if (d.steps - k < lanes) {
          std::memcpy(last, at, static_cast<size_t>((d.steps - k) * size));
          at = last;
        }
        const __m256i right = words_at(at, type);
        for (int i = 0; i < kRows; ++i) {
          const auto* row = reinterpret_cast<const __m256i*>(d.rows + i * d.row + k * 2);
          acc[i][c] = _mm256_add_epi32(acc[i][c], _mm256_madd_epi16(_mm256_loadu_si256(row), right));
        }
      }
    for (int i = 0; i < kRows; ++i) store(d, i, j, folded(acc[i][0], acc[i][1], acc[i][2], acc[i][3]));
  }
}

}  // namespace

DottedRows::Unit DottedRows::unit(DType left, DType right, bool wide) {
  const bool bytes = size_of(left) == 1 && size_of(right) == 1;
  if (!wide || !bytes || !has_vnni() || (left == DType::uint8 && right == DType::uint8)) return Unit::words;
  return left == DType::uint8    ? Unit::unsigned_left
         : right == DType::uint8 ? Unit::unsigned_right
                                 : Unit::raised_right;
}

int64_t DottedRows::most(DType left, DType right, bool wide, bool far) {
  if (unit(left, right, wide) == Unit::words) return 2;
  return far ? kMost : kMostOfNear;
}

DottedRows::DottedRows(const PackSource& left, int64_t rows, int64_t steps, DType right, bool wide)
    : unit_(unit(left.type, right, wide)), rows_(rows), steps_(steps) {
  pitch_ = (steps + kChunk - 1) / kChunk * kChunk * (unit_ == Unit::words ? 2 : 1);
  data_.assign(static_cast<size_t>(rows * pitch_), 0);
  if (unit_ == Unit::words) {
    pack_words(left, rows, steps, data_.data(), pitch_);
    return;
  }
  pack_bytes(left, false, rows, steps, data_.data(), pitch_);
  if (unit_ != Unit::raised_right) return;
  for (int64_t i = 0; i < rows; ++i) {
    const char* row = data_.data() + i * pitch_;
    uint32_t sum = 0;
    for (int64_t k = 0; k < steps; ++k) sum += static_cast<uint32_t>(static_cast<int8_t>(row[k]));
    start_[i] = static_cast<int32_t>(sum * -128U);
  }
}

template <int kRows>
void DottedRows::multiply_rows(int64_t row, const PackSource& right, int64_t columns, int32_t* sums,
                               int64_t pitch) const {
  const Dots d{data_.data() + row * pitch_,
               pitch_,
               steps_,
               right.data,
               right.column,
               columns,
               start_ + row,
               sums,
               pitch};
  switch (unit_) {
    case Unit::raised_right: return dot_bytes<kRows, true, false>(d);
    case Unit::unsigned_right: return dot_bytes<kRows, false, false>(d);
    case Unit::unsigned_left: return dot_bytes<kRows, false, true>(d);
    case Unit::words: return dot_words<kRows>(d, right.type);
  }
}

void DottedRows::multiply_across(const PackSource& right, int64_t columns, int32_t* sums) const {
  const char* const row = data_.data();
  switch (unit_) {
    case Unit::raised_right: return add_across<true, false>(row, steps_, right, columns, start_[0], sums);
    case Unit::unsigned_right: return add_across<false, false>(row, steps_, right, columns, 0, sums);
    default: return add_across<false, true>(row, steps_, right, columns, 0, sums);
  }
}

void DottedRows::multiply(int64_t first, int64_t last, const PackSource& right, int64_t columns,
                          int32_t* sums, int64_t pitch) const {
  for (int64_t row = first; row < last; row += 4, sums += 4 * pitch) switch (last - row) {
      case 1: multiply_rows<1>(row, right, columns, sums, pitch); break;
      case 2: multiply_rows<2>(row, right, columns, sums, pitch); break;
      case 3: multiply_rows<3>(row, right, columns, sums, pitch); break;
      default: multiply_rows<4>(row, right, columns, sums, pitch); break;
    }
}

}  // namespace lazy::cpu_backend
