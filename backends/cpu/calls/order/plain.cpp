#include "backends/cpu/calls/order/plain.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lazy::cpu_backend::order {
namespace {

constexpr int64_t kComparedLength = 512;  // words; shorter rows are sorted by comparison
constexpr int64_t kFewWanted = 64;        // places that are found one after the other
constexpr int kDigit = 256;

/// Returns the bits in which words differ.
template <class W>
W differing_bits(const W* words, int64_t n) {
  W differing = 0;
  for (int64_t i = 0; i < n; ++i) differing |= words[i] ^ words[0];
  return differing;
}

/// Sorts by radix: a pass for each byte, from bit `low` on, in which words differ.
template <class W>
void by_radix(W* words, W* other, int64_t n, int low) {
  const W differing = differing_bits(words, n);
  W* from = words;
  for (int shift = low; shift < static_cast<int>(8 * sizeof(W)); shift += 8) {
    if ((differing >> shift & 0xff) == 0) continue;
    int64_t places[kDigit] = {};
    for (int64_t i = 0; i < n; ++i) ++places[from[i] >> shift & 0xff];
    int64_t at = 0;
    for (int64_t& p : places) at += std::exchange(p, at);
    W* const to = from == words ? other : words;
    for (int64_t i = 0; i < n; ++i) to[places[from[i] >> shift & 0xff]++] = from[i];
    from = to;
  }
  if (from != words) std::memcpy(words, from, static_cast<size_t>(n) * sizeof(W));
}

}  // namespace

template <class W>
int64_t Plain::partition(W* words, W* other, int64_t n, W pivot, bool or_equal) {
  int64_t front = 0, back = 0;
  for (int64_t i = 0; i < n; ++i) {
    const W w = words[i];
    const bool first = or_equal ? w <= pivot : w < pivot;
    words[front] = w;
    other[back] = w;
    front += first;
    back += !first;
  }
  std::memcpy(words + front, other, static_cast<size_t>(back) * sizeof(W));
  return front;
}

template <class W>
void Plain::sort(W* words, W* other, int64_t n, int low, Wanted wanted) {
  if (!wanted.all() && wanted.count() <= kFewWanted) {
    W* begin = words;
    for (const int64_t* w = wanted.first; w != wanted.last; ++w) {
      if (words + *w < begin) continue;
      std::nth_element(begin, words + *w, words + n);
      begin = words + *w + 1;
    }
    return;
  }
  if (n <= kComparedLength) std::sort(words, words + n);
  else by_radix(words, other, n, low);
}

template <class W>
int Plain::passes(const W* words, int64_t n, int low) {
  const W differing = differing_bits(words, n);
  int count = 0;
  for (int shift = low; shift < static_cast<int>(8 * sizeof(W)); shift += 8)
    count += (differing >> shift & 0xff) != 0;
  return count;
}

template <class K>
Kept Plain::keep(const K* keys, int64_t n, int64_t index, K low, K high, const Packing& p, uint64_t* words) {
  Kept kept;
  for (int64_t i = 0; i < n; ++i) {
    kept.below += keys[i] < low;
    words[kept.inside] = p.word<uint64_t>(keys[i], index + i);
    kept.inside += keys[i] >= low && keys[i] <= high;
  }
  return kept;
}

template <class W>
int64_t Plain::doubtful(const W* words, int64_t n, int index_bits, W* places) {
  int64_t found = 0;
  for (int64_t i = 0; i + 1 < n; ++i) {
    places[found] = static_cast<W>(i);
    found += (words[i] ^ words[i + 1]) >> index_bits == 0;
  }
  return found;
}

template int64_t Plain::partition(uint32_t*, uint32_t*, int64_t, uint32_t, bool);
template int64_t Plain::partition(uint64_t*, uint64_t*, int64_t, uint64_t, bool);
template void Plain::sort(uint32_t*, uint32_t*, int64_t, int, Wanted);
template void Plain::sort(uint64_t*, uint64_t*, int64_t, int, Wanted);
template int64_t Plain::doubtful(const uint32_t*, int64_t, int, uint32_t*);
template int64_t Plain::doubtful(const uint64_t*, int64_t, int, uint64_t*);
template int Plain::passes(const uint32_t*, int64_t, int);
template int Plain::passes(const uint64_t*, int64_t, int);
template Kept Plain::keep(const uint32_t*, int64_t, int64_t, uint32_t, uint32_t, const Packing&, uint64_t*);
template Kept Plain::keep(const uint64_t*, int64_t, int64_t, uint64_t, uint64_t, const Packing&, uint64_t*);

}  // namespace lazy::cpu_backend::order
