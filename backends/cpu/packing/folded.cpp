#include "backends/cpu/packing/folded.hpp"

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "backends/cpu/machine/features.hpp"
#include "support/arithmetic.hpp"

#define LAZY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

namespace lazy::cpu_backend {

FoldedSide::FoldedSide(std::vector<CopyAxis> axes, const char* source, const char* result,
                       const std::vector<SideAxis>& sides)
    : axes_(std::move(axes)), source_(source), result_(result) {
  for (const SideAxis& s : sides)
    if (s.extent > 1) divide(s.stride), divide(s.stride * s.extent);
  std::erase_if(axes_, [](const CopyAxis& a) { return a.extent == 1; });
  std::stable_sort(axes_.begin(), axes_.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
}

void FoldedSide::divide(int64_t bytes) {
  for (CopyAxis& a : axes_) {
    if (a.to <= 0 || bytes <= a.to || bytes >= a.to * a.extent || bytes % a.to != 0) continue;
    const int64_t n = bytes / a.to;
    if (a.extent % n != 0) continue;
    const CopyAxis outer{a.extent / n, a.from * n, bytes};
    a.extent = n;
    axes_.push_back(outer);
    return;
  }
}

bool FoldedSide::find(const SideAxis& side, size_t& first, size_t& last) const {
  for (last = 0; last < axes_.size() && axes_[last].to != side.stride;) ++last;
  if (last == axes_.size()) return false;
  first = last++;
  int64_t n = axes_[first].extent;
  for (; n < side.extent && first > 0; n *= axes_[--first].extent)
    if (axes_[first - 1].to != axes_[first].to * axes_[first].extent) return false;
  return n == side.extent;
}

bool FoldedSide::made_of(const std::vector<SideAxis>& sides) const {
  std::vector<uint8_t> used(axes_.size(), 0);
  for (const SideAxis& s : sides) {
    size_t first = 0, last = 0;
    if (s.extent == 1) continue;
    if (!find(s, first, last)) return false;
    for (size_t i = first; i < last; ++i)
      if (std::exchange(used[i], uint8_t{1})) return false;
  }
  return std::find(used.begin(), used.end(), 0) == used.end();
}

std::vector<int64_t> FoldedSide::places(const SideAxis& side) const {
  std::vector<int64_t> all{0}, next;
  size_t first = 0, last = 0;
  if (side.extent == 1 || !find(side, first, last)) return all;
  for (size_t i = first; i < last; ++i) {
    next.clear();
    for (const int64_t at : all)
      for (int64_t k = 0; k < axes_[i].extent; ++k) next.push_back(at + k * axes_[i].from);
    all.swap(next);
  }
  return all;
}

const char* FoldedSide::source(const char* result) const {
  const char* at = source_;
  int64_t rest = result - result_;
  for (const CopyAxis& a : axes_) at += rest / a.to * a.from, rest %= a.to;
  return at;
}

namespace {

constexpr int64_t kVector = 16;  // lanes
// Rows farther apart than this are written one by one, since their places in a cache would be the same.
constexpr int64_t kNearPitch = 1024;  // bytes

/// Describes some lanes of a vector: lane l is at `at` + l * `apart`, for each l of the mask.
struct Piece {
  int64_t at;
  __mmask16 mask;
  bool first;           // of its vector: other lanes become 0
  int8_t apart;         // 4 or 8 bytes
  __mmask16 low, high;  // if 8: which elements are read of the first 64 bytes, and of the next
};

/// Returns every second bit of 16, of bits 0 to 7.
__mmask16 spread(uint32_t bits) {
  uint32_t r = 0;
  for (int i = 0; i < 8; ++i) r |= (bits >> i & 1) << 2 * i;
  return static_cast<__mmask16>(r);
}

/// Returns the pieces of all vectors, in order.
std::vector<Piece> pieces_of(const int64_t* column, int64_t columns) {
  std::vector<Piece> all;
  for (int64_t v = 0; v < columns; v += kVector) {
    const int64_t n = std::min(kVector, columns - v);
    for (int64_t i = 0; i < n;) {
      const int64_t* at = column + v + i;
      int64_t length = 1;
      const int64_t apart = i + 1 < n && at[1] - at[0] == 8 ? 8 : 4;
      while (i + length < n && at[length] - at[length - 1] == apart) ++length;
      const auto mask = static_cast<__mmask16>(((1u << length) - 1) << i);
      all.push_back({at[0] - i * apart, mask, i == 0, static_cast<int8_t>(apart), spread(mask & 0xffu),
                     spread(static_cast<uint32_t>(mask) >> 8)});
      i += length;
    }
  }
  return all;
}

LAZY_AVX512 inline __m512i load_piece(const char* row, const Piece& p, __m512i before) {
  const char* at = row + p.at;
  if (p.apart == 4) return _mm512_mask_loadu_epi32(before, p.mask, at);
  const __m512i a = _mm512_maskz_loadu_epi32(p.low, at), b = _mm512_maskz_loadu_epi32(p.high, at + 64);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_mask_blend_epi32(p.mask, before, _mm512_permutex2var_epi32(a, even, b));
}

/// Writes one vector of each row.
LAZY_AVX512 void one_vector(const char* data, const int64_t* row, int64_t rows, const Piece* p, int64_t n,
                            char* to, int64_t pitch) {
  const __m512i zero = _mm512_setzero_si512();
  if (n == 1 && p->apart == 4) {
    for (int64_t i = 0; i < rows; ++i, to += pitch)
      _mm512_storeu_si512(to, _mm512_maskz_loadu_epi32(p->mask, data + row[i] + p->at));
  } else if (n == 2 && p[0].apart == 4 && p[1].apart == 4) {
    for (int64_t i = 0; i < rows; ++i, to += pitch) {
      const char* at = data + row[i];
      const __m512i v = _mm512_maskz_loadu_epi32(p[0].mask, at + p[0].at);
      _mm512_storeu_si512(to, _mm512_mask_loadu_epi32(v, p[1].mask, at + p[1].at));
    }
  } else {
    for (int64_t i = 0; i < rows; ++i, to += pitch) {
      __m512i v = zero;
      for (int64_t k = 0; k < n; ++k) v = load_piece(data + row[i], p[k], v);
      _mm512_storeu_si512(to, v);
    }
  }
}

LAZY_AVX512 void pack_pieces(const char* data, const int64_t* row, int64_t rows,
                             const std::vector<Piece>& pieces, char* to, int64_t pitch) {
  if (pitch <= kNearPitch) {
    for (size_t first = 0, last = 0; first < pieces.size(); first = last, to += 64) {
      for (last = first + 1; last < pieces.size() && !pieces[last].first; ++last) {}
      one_vector(data, row, rows, &pieces[first], static_cast<int64_t>(last - first), to, pitch);
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i, to += pitch) {
    const char* at = data + row[i];
    char* out = to - 64;
    __m512i v = _mm512_setzero_si512();
    for (const Piece& p : pieces) {
      if (p.first) out += 64, v = _mm512_setzero_si512();
      v = load_piece(at, p, v);
      _mm512_storeu_si512(out, v);
    }
  }
}

/// Returns how many places from the first on are equally far apart.
int64_t run_of(const int64_t* at, int64_t n) {
  int64_t length = std::min<int64_t>(n, 2);
  while (length < n && at[length] - at[length - 1] == at[1] - at[0]) ++length;
  return length;
}

}  // namespace

std::vector<PlaceRun> runs_of(const std::vector<int64_t>& places) {
  std::vector<PlaceRun> all;
  const auto n = static_cast<int64_t>(places.size());
  for (int64_t i = 0; i < n; i += all.back().count) {
    const int64_t* at = places.data() + i;
    const int64_t count = run_of(at, n - i);
    all.push_back({i, count, count > 1 ? at[1] - at[0] : 0});
  }
  return all;
}

void pack_folded(const char* data, DType type, ContractionLane lane, const int64_t* row, int64_t rows,
                 const int64_t* column, int64_t columns, char* to, int64_t pitch) {
  const int64_t bytes = bytes_of(lane);
  if (columns > 1 && bytes == 4 && best_isa() >= Isa::avx512 && pitch >= round_up(columns * 4, 64)) {
    const std::vector<Piece> pieces = pieces_of(column, columns);
    if (static_cast<int64_t>(pieces.size()) * 4 <= columns + 12)
      return pack_pieces(data, row, rows, pieces, to, pitch);
  }
  for (int64_t j = 0, across = 0; j < columns; j += across) {
    across = run_of(column + j, columns - j);
    for (int64_t i = 0, down = 0; i < rows; i += down) {
      down = run_of(row + i, rows - i);
      const PackSource one{data + row[i] + column[j], down > 1 ? row[i + 1] - row[i] : bytes,
                           across > 1 ? column[j + 1] - column[j] : bytes, type};
      pack(one, lane, down, across, to + i * pitch + j * bytes, pitch);
    }
  }
}

}  // namespace lazy::cpu_backend
