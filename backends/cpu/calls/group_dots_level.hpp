// Multiplies rows by groups of small integers, for one width of vectors: the file that includes this has
// included its lanes before, and defines Sixteen, sixteen floats, and what makes them of integers.
//
//   y[r, n] = sum over groups g of scale[n, g] (sum of x q) - sum over g of scale[n, g] zero[n, g] (sum of x)
//
// The second sum is of G terms. In the first one lane l adds the elements k = l modulo 16 of a group, then
// scale times that to what it has of the groups before; the lanes are added in halves at last.
#pragma once
#include <algorithm>

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
    float a[kLanes] = {}, b[kLanes] = {};
    for (int64_t i = 0; g + i < d.groups; ++i)
      a[i] = scale[g + i], b[i] = (zero ? zero[g + i] : d.zero_of_all());
    float c[kLanes] = {};
    std::copy(sums + g, sums + d.groups, c);
    all = Sixteen::fma(Sixteen::times(Sixteen::load(a), Sixteen::load(b)), Sixteen::load(c), all);
  }
  return all.total();
}

/// Holds the sums of up to kRowsAtOnce rows for one column.
template <int kRows>
struct RowSums {
  Sixteen all[kRows], group[kRows];
  LAZY_LEVEL_INLINE void start() {
    for (int r = 0; r < kRows; ++r) all[r] = group[r] = Sixteen::all(0);
  }
  LAZY_LEVEL_INLINE void add(const Sixteen& q, const float* x, int64_t row, bool first) {
    for (int r = 0; r < kRows; ++r) {
      const Sixteen v = Sixteen::load(x + r * row);
      group[r] = first ? Sixteen::times(v, q) : Sixteen::fma(v, q, group[r]);
    }
  }
  LAZY_LEVEL_INLINE void end_group(float scale) {
    const Sixteen s = Sixteen::all(scale);
    for (int r = 0; r < kRows; ++r) all[r] = Sixteen::fma(group[r], s, all[r]);
  }
};

/// Sums one column of integers of 4 bits; `kGroup` of 32, 64 or 128, which stands for larger ones too.
template <int kRows, int kGroup>
LAZY_LEVEL_INLINE void column_of_4(const GroupDots& d, const float* x, int64_t n, RowSums<kRows>& s) {
  const uint8_t* q = d.q + n * d.row_bytes();
  const float* const scale = d.scale + n * d.groups;
  for (int64_t k = 0; k < d.depth; k += 128, q += 64) {
    const Words w = Words::load(q);
    bool first = kGroup < 128 || k % d.how.group == 0;
    for (int i = 0; i < 8; ++i) {
      s.add(w.nibbles(i), x + k + 16 * i, d.depth, first);
      first = false;
      const bool last = kGroup < 128 ? (i + 1) % (kGroup / 16) == 0
                                     : i == 7 && (k + 128) % d.how.group == 0;
      if (!last) continue;
      s.end_group(scale[(k + 16 * i) / d.how.group]);
      first = true;
    }
  }
}

template <int kRows>
LAZY_LEVEL_INLINE void column_of_8(const GroupDots& d, const float* x, int64_t n, RowSums<kRows>& s) {
  const auto* const q = reinterpret_cast<const int8_t*>(d.q + n * d.row_bytes());
  const float* scale = d.scale + n * d.groups;
  for (int64_t k = 0; k < d.depth; k += d.how.group) {
    s.add(Sixteen::of_bytes(q + k), x + k, d.depth, true);
    for (int64_t i = 16; i < d.how.group; i += 16) s.add(Sixteen::of_bytes(q + k + i), x + k + i, d.depth, false);
    s.end_group(*scale++);
  }
}

template <int kRows>
LAZY_LEVEL void columns_of(const Work& w, int64_t row, int64_t first, int64_t last) {
  const GroupDots& d = w.d;
  const float* const x = d.x + row * d.depth;
  for (int64_t n = first; n < last; ++n) {
    RowSums<kRows> s;
    s.start();
    if (d.how.bits == 8) column_of_8<kRows>(d, x, n, s);
    else if (d.how.group == 32) column_of_4<kRows, 32>(d, x, n, s);
    else if (d.how.group == 64) column_of_4<kRows, 64>(d, x, n, s);
    else column_of_4<kRows, 128>(d, x, n, s);
    for (int r = 0; r < kRows; ++r) {
      const float zeros = w.group_sums ? zeros_of(d, n, w.group_sums + (row + r) * d.groups) : 0.0f;
      d.y[(row + r) * d.columns + n] = s.all[r].total() - zeros;
    }
  }
}

LAZY_LEVEL void columns(const Work& w, int64_t first, int64_t last) {
  int64_t row = 0;
  for (; row + 4 <= w.d.rows; row += 4) columns_of<4>(w, row, first, last);
  if (w.d.rows - row == 3) columns_of<3>(w, row, first, last);
  if (w.d.rows - row == 2) columns_of<2>(w, row, first, last);
  if (w.d.rows - row == 1) columns_of<1>(w, row, first, last);
}

LAZY_LEVEL void sums_of_groups(const GroupDots& d, float* sums) {
  for (int64_t i = 0; i < d.rows * d.groups; ++i) {
    Sixteen s = Sixteen::load(d.x + i * d.how.group);
    for (int64_t k = 16; k < d.how.group; k += 16)
      s = Sixteen::plus(s, Sixteen::load(d.x + i * d.how.group + k));
    sums[i] = s.total();
  }
}

}  // namespace
}  // namespace lazy::cpu_backend::group_dots
