// Holds the loops from elements to keys and words and back. They are compiled for each kind of machine, as
// parts of functions of it: hence always_inline.
#pragma once
#include <algorithm>
#include <cstdint>

#include "backends/cpu/calls/order/keys.hpp"

namespace lazy::cpu_backend::order {

#define LAZY_ORDER_LOOP __attribute__((always_inline)) inline

/// Holds the smallest and the largest key.
struct KeyRange {
  uint64_t low = ~uint64_t{0}, high = 0;
};

/// Says which places of the sorted row somebody reads: ascending; none given means all.
struct Wanted {
  const int64_t* first = nullptr;
  const int64_t* last = nullptr;
  bool all() const { return !first; }
  int64_t count() const { return last - first; }
};

/// Counts keys below a bracket and says how many words were kept of those in it.
struct Kept {
  int64_t below = 0, inside = 0;
};

namespace loops {

template <class K>
LAZY_ORDER_LOOP void encode(const K& keys, const typename K::Bits* in, int64_t n, typename K::Key* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = keys(in[i]);
}

template <class K>
LAZY_ORDER_LOOP KeyRange range(const K& keys, const typename K::Bits* in, int64_t n) {
  typename K::Key low = static_cast<typename K::Key>(~uint64_t{0}), high = 0;
  for (int64_t i = 0; i < n; ++i) {
    const typename K::Key k = keys(in[i]);
    low = k < low ? k : low;
    high = k > high ? k : high;
  }
  return {low, high};
}

/// Packs elements begin ... end - 1; returns whether one of them is special.
template <class K, class W>
LAZY_ORDER_LOOP bool pack(const K& keys, const typename K::Bits* in, int64_t begin, int64_t end,
                          const Packing& packing, W* words) {
  const Packing p = packing;
  const int64_t mask = (int64_t{1} << p.index_bits) - 1;  // without bits for it the index is left out
  W special = 0;
  for (int64_t i = begin; i < end; ++i) {
    special |= static_cast<W>(keys.is_special(in[i]));
    words[i] = p.word<W>(keys(in[i]), i & mask);
  }
  return special != 0;
}

/// Writes the elements of words without an index.
template <class K, class W>
LAZY_ORDER_LOOP void elements(const K& keys, const W* words, int64_t n, const Packing& packing,
                              typename K::Bits* out) {
  const Packing p = packing;
  for (int64_t i = 0; i < n; ++i) out[i] = keys.element(p.key(words[i]));
}

template <class W>
LAZY_ORDER_LOOP void indices(const W* words, int64_t n, const Packing& packing, int64_t* out) {
  const W mask = (W{1} << packing.index_bits) - 1;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(words[i] & mask);
}

}  // namespace loops
}  // namespace lazy::cpu_backend::order
