// Multiplies rows by groups of small integers, for one width of vectors: the file that includes this has
// included its lanes before, and defines Sixteen, sixteen floats, what makes them of integers - Bytes,
// Nibbles, Spread - and how many columns go with four rows.
//
//   y[r, n] = sum over groups g of scale[n, g] (sum of x q) - sum over g of scale[n, g] zero[n, g] (sum of x)
//
// The second sum is of G terms. In the first one lane l adds the elements k = l modulo 16 of a group, then
// scale times that to what it has of the groups before; the lanes are added in halves at last.
#pragma once
#include <algorithm>
#include <bit>

#include "backends/cpu/calls/group_dots.hpp"

namespace lazy::cpu_backend::group_dots {
namespace {

/// Returns the sum of scale zero sums over the groups.
LAZY_LEVEL_INLINE float zeros_of(const GroupDots& d, int64_t n, const float* sums) {
  const float *const scale = d.scale + n * d.groups, *const zero = d.zero ? d.zero + n * d.groups : nullptr;
  Sixteen all = Sixteen::all(0);
  const Sixteen same = Sixteen::all(d.zero_of_all());
  int64_t g = 0;
  for (; g + kLanes <= d.groups; g += kLanes) {
    const Sixteen s = Sixteen::times(Sixteen::load(scale + g), zero ? Sixteen::load(zero + g) : same);
    all = Sixteen::fma(s, Sixteen::load(sums + g), all);
  }
  if (g < d.groups) {
    const int64_t left = d.groups - g;
    const Sixteen s =
        Sixteen::times(Sixteen::load_part(scale + g, left), zero ? Sixteen::load_part(zero + g, left) : same);
    all = Sixteen::fma(s, Sixteen::load_part(sums + g, left), all);
  }
  return all.total();
}

/// Asks for what the next columns read at this place: rows are too short for the processor to see it coming.
LAZY_LEVEL_INLINE void fetch_ahead(const uint8_t* next) {
  _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T0);
}

/// Says how many tiles ahead: one row of floats is done with a tile before memory has answered.
template <int kRows>
constexpr int64_t kAhead = kRows == 1 ? 4 : 1;

/// Sums kRows rows of x by kColumns columns: enough sums at once that one can be added to while another is.
template <int kRows, int kColumns>
struct Tile {
  const GroupDots& d;
  const float* x;
  const uint8_t* q;    // of the first column
  const float* scale;  // likewise
  Sixteen all[kRows][kColumns], group[kRows][kColumns];

  LAZY_LEVEL_INLINE Tile(const GroupDots& of, int64_t row, int64_t n)
      : d(of), x(of.x + row * of.depth), q(of.q + n * of.row_bytes()), scale(of.scale + n * of.groups) {
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) all[r][c] = group[r][c] = Sixteen::all(0);
  }
  /// Adds the products of elements k to k + 15 with the integers of each column.
  LAZY_LEVEL_INLINE void add(int64_t k, const Sixteen (&numbers)[kColumns], bool first) {
    for (int r = 0; r < kRows; ++r) {
      const Sixteen v = Sixteen::load(x + r * d.depth + k);
      for (int c = 0; c < kColumns; ++c)
        group[r][c] = first ? Sixteen::times(v, numbers[c]) : Sixteen::fma(v, numbers[c], group[r][c]);
    }
  }
  LAZY_LEVEL_INLINE void end_group(int64_t g) {
    for (int c = 0; c < kColumns; ++c) {
      const Sixteen s = Sixteen::all(scale[c * d.groups + g]);
      for (int r = 0; r < kRows; ++r) all[r][c] = Sixteen::fma(group[r][c], s, all[r][c]);
    }
  }
  LAZY_LEVEL_INLINE void sum_4() {
    for (int64_t g = 0; g < d.groups; ++g) {
      for (int64_t k = g * d.how.group, end = k + d.how.group; k < end; k += 32) {
        Bytes b[kColumns];
        Sixteen numbers[kColumns];
        for (int c = 0; c < kColumns; ++c) b[c] = Bytes::load(q + c * d.row_bytes() + k / 2);
        if (k % 128 == 0)
          for (int c = 0; c < kColumns; ++c)
            fetch_ahead(q + (c + kAhead<kRows> * kColumns) * d.row_bytes() + k / 2);
        for (int c = 0; c < kColumns; ++c) numbers[c] = b[c].lower();
        add(k, numbers, k == g * d.how.group);
        for (int c = 0; c < kColumns; ++c) numbers[c] = b[c].upper();
        add(k + 16, numbers, false);
      }
      end_group(g);
    }
  }
  LAZY_LEVEL_INLINE void sum_8() {
    for (int64_t g = 0; g < d.groups; ++g) {
      for (int64_t k = g * d.how.group, end = k + d.how.group; k < end; k += 16) {
        Sixteen numbers[kColumns];
        for (int c = 0; c < kColumns; ++c)
          numbers[c] = Sixteen::of_bytes(reinterpret_cast<const int8_t*>(q) + c * d.row_bytes() + k);
        if (k % 64 == 0)
          for (int c = 0; c < kColumns; ++c)
            fetch_ahead(q + (c + kAhead<kRows> * kColumns) * d.row_bytes() + k);
        add(k, numbers, k == g * d.how.group);
      }
      end_group(g);
    }
  }
};

/// Does so for rows of int8: lane l of a block of 128 has the exact sum of the 8 products of word l of its
/// bytes, and scale times that is added to what the lane has of the blocks before.
template <int kRows, int kColumns>
struct TileOfBytes {
  const GroupDots& d;
  const int8_t* x;
  const uint8_t* q;
  const float* scale;
  int64_t blocks;
  Sixteen all[kRows][kColumns];

  LAZY_LEVEL_INLINE TileOfBytes(const Work& w, int64_t row, int64_t n)
      : d(w.d),
        x(w.x_blocks + row * w.blocks() * kBlock),
        q(d.q + n * d.row_bytes()),
        scale(d.scale + n * d.groups),
        blocks(w.blocks()) {
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) all[r][c] = Sixteen::all(0);
  }
  LAZY_LEVEL_INLINE void sum() {
    const int64_t whole = d.depth / kBlock, bytes = d.row_bytes();
    const auto whole_blocks = [&](auto scale_of) LAZY_LEVEL {
      for (int64_t b = 0; b < whole; ++b)
        for (int c = 0; c < kColumns; ++c) {
          const uint8_t* const from = q + c * bytes + b * (kBlock / 2);
          fetch_ahead(from + kColumns * bytes);
          add(b, c, Nibbles::load(from), scale_of(c, b));
        }
    };
    const int shift = std::countr_zero(static_cast<uint64_t>(d.how.group));  // groups are powers of two
    const Spread spread(d.how.group);
    if (d.how.group >= kBlock) {
      whole_blocks([&](int c, int64_t b)
                       LAZY_LEVEL { return Sixteen::all(scale[c * d.groups + (b * kBlock >> shift)]); });
    } else {
      const int64_t groups = kBlock >> shift;
      whole_blocks([&](int c, int64_t b)
                       LAZY_LEVEL { return spread.of(scale + c * d.groups + b * groups, groups); });
    }
    if (whole == blocks) return;
    const int64_t first = whole * kBlock, left = d.depth - first;
    for (int c = 0; c < kColumns; ++c)
      add(whole, c, Nibbles::load_part(q + c * bytes + first / 2, left / 2),
          spread.of(scale + c * d.groups + (first >> shift), std::max<int64_t>(1, left >> shift)));
  }
  LAZY_LEVEL_INLINE void add(int64_t b, int c, const Nibbles& n, const Sixteen& s) {
    for (int r = 0; r < kRows; ++r)
      all[r][c] = Sixteen::fma(n.dot(x + (r * blocks + b) * kBlock), s, all[r][c]);
  }
};

template <int kRows, int kColumns>
LAZY_LEVEL void columns_of(const Work& w, int64_t row, int64_t first, int64_t last) {
  const GroupDots& d = w.d;
  int64_t n = first;
  for (; n + kColumns <= last; n += kColumns) {
    const auto put = [&](const Sixteen(&sums)[kRows][kColumns]) LAZY_LEVEL {
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c) {
          const float zeros = w.group_sums ? zeros_of(d, n + c, w.group_sums + (row + r) * d.groups) : 0.0f;
          d.y[(row + r) * d.columns + n + c] = sums[r][c].total() - zeros;
        }
    };
    if (d.x) {
      Tile<kRows, kColumns> t(d, row, n);
      d.how.bits == 8 ? t.sum_8() : t.sum_4();
      put(t.all);
    } else {
      TileOfBytes<kRows, kColumns> t(w, row, n);
      t.sum();
      put(t.all);
    }
  }
  if constexpr (kColumns > 1) columns_of<kRows, 1>(w, row, n, last);
}

LAZY_LEVEL void columns(const Work& w, int64_t first, int64_t last) {
  int64_t row = 0;
  for (; row + 4 <= w.d.rows; row += 4) columns_of<4, kColumnsOfFour>(w, row, first, last);
  if (w.d.rows - row == 3) columns_of<3, kColumnsOfFour>(w, row, first, last);
  if (w.d.rows - row == 2) columns_of<2, 2>(w, row, first, last);
  if (w.d.rows - row == 1) columns_of<1, 4>(w, row, first, last);
}

/// Writes the numbers of rows [first, last) of the matrix.
LAZY_LEVEL void write(const GroupDots& d, int64_t first, int64_t last) {
  for (int64_t n = first; n < last; ++n) {
    const uint8_t* const q = d.q + n * d.row_bytes();
    float* const to = d.y + n * d.depth;
    for (int64_t g = 0; g < d.groups; ++g) {
      const int64_t at = n * d.groups + g;
      const Sixteen zero = Sixteen::all(d.zero ? d.zero[at] : d.zero_of_all()),
                    scale = Sixteen::all(d.scale[at]);
      const auto put = [&](int64_t k, const Sixteen& numbers)
                           LAZY_LEVEL { Sixteen::times(Sixteen::minus(numbers, zero), scale).store(to + k); };
      const int64_t first = g * d.how.group, last = first + d.how.group;
      if (d.how.bits == 8) {
        for (int64_t k = first; k < last; k += 16)
          put(k, Sixteen::of_bytes(reinterpret_cast<const int8_t*>(q) + k));
      } else {
        for (int64_t k = first; k < last; k += 32) {
          const Bytes b = Bytes::load(q + k / 2);
          put(k, b.lower());
          put(k + 16, b.upper());
        }
      }
    }
  }
}

LAZY_LEVEL void sums_of_groups(const GroupDots& d, float* sums) {
  for (int64_t i = 0; !d.x && i < d.rows * d.groups; ++i) {
    int32_t sum = 0;
    for (int64_t k = 0; k < d.how.group; ++k) sum += d.x_bytes[i * d.how.group + k];
    sums[i] = static_cast<float>(sum);
  }
  for (int64_t i = 0; d.x && i < d.rows * d.groups; ++i) {
    Sixteen s = Sixteen::load(d.x + i * d.how.group);
    for (int64_t k = 16; k < d.how.group; k += 16)
      s = Sixteen::plus(s, Sixteen::load(d.x + i * d.how.group + k));
    sums[i] = s.total();
  }
}

}  // namespace
}  // namespace lazy::cpu_backend::group_dots
