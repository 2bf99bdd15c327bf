// Declares the order of words on any machine.
#pragma once
#include "backends/cpu/calls/order/loops.hpp"

namespace lazy::cpu_backend::order {

struct Plain {
  static constexpr int64_t kSlack = 0;  // words beyond the end that loops may write
  static constexpr const char* kName = "by radix";

  template <class K>
  static void encode(const K& keys, const typename K::Bits* in, int64_t n, typename K::Key* out) {
    loops::encode(keys, in, n, out);
  }
  template <class K>
  static KeyRange range(const K& keys, const typename K::Bits* in, int64_t n) {
    return loops::range(keys, in, n);
  }
  template <class K, class W>
  static bool pack(const K& keys, const typename K::Bits* in, int64_t begin, int64_t end, const Packing& p,
                   W* words) {
    return loops::pack(keys, in, begin, end, p, words);
  }
  template <class K, class W>
  static void elements(const K& keys, const W* words, int64_t n, const Packing& p, typename K::Bits* out) {
    loops::elements(keys, words, n, p, out);
  }
  template <class W>
  static void indices(const W* words, int64_t n, const Packing& p, int64_t* out) {
    loops::indices(words, n, p, out);
  }
  /// Moves words below the pivot (or equal to it) to the front, the others behind them; both keep their
  /// order. Returns how many are in front. `other` has room for as many words.
  template <class W>
  static int64_t partition(W* words, W* other, int64_t n, W pivot, bool or_equal);
  /// Sorts words, or puts those of the wanted places there. Those that are equal from bit `low` on are in
  /// order already.
  template <class W>
  static void sort(W* words, W* other, int64_t n, int low, Wanted wanted);
  /// Returns how many passes by radix the words take: in how many bytes, from bit `low` on, they differ.
  template <class W>
  static int passes(const W* words, int64_t n, int low);
  /// Appends to `words` those of the keys in [low, high]; `index` is the first key's.
  template <class K>
  static Kept keep(const K* keys, int64_t n, int64_t index, K low, K high, const Packing&, uint64_t* words);
  /// Lists the places of words that equal the next one but for the index; returns how many there are.
  template <class W>
  static int64_t doubtful(const W* words, int64_t n, int index_bits, W* places);
};

}  // namespace lazy::cpu_backend::order
