// Orders one row: its elements become words, which are sorted, and become elements and indices again.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/calls/order/codec.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend::order {

/// Holds what a row is ordered with: memory of its own, and how many threads.
struct Workplace {
  jit::Backend* backend;
  int64_t pieces;  // threads; 1: the caller's alone
  char* memory;    // Workplace::bytes()

  static constexpr int64_t kGap = 16;  // words between what threads write
  static size_t words(int64_t length, int64_t pieces) {
    return static_cast<size_t>(length + kGap * (2 * pieces + 1));
  }
  static size_t bytes(int64_t length, int64_t pieces) { return 2 * 8 * words(length, pieces); }

  template <class W>
  W* first(int64_t) const {
    return reinterpret_cast<W*>(memory);
  }
  template <class W>
  W* second(int64_t length) const {
    return reinterpret_cast<W*>(memory + 8 * words(length, pieces));
  }
  /// Calls f(piece, begin, end) for each thread's part of n elements.
  template <class F>
  void each(int64_t n, F&& f) const {
    if (pieces == 1) return f(int64_t{0}, int64_t{0}, n);
    backend->for_each(pieces, [&](int64_t p) { f(p, n * p / pieces, n * (p + 1) / pieces); });
  }
};

/// Orders rows. M: Plain or Avx512; Key: uint64_t for elements of eight bytes, else uint32_t.
template <class M, class Key>
class Row {
 public:
  Row(const Codec& codec, const Workplace& place) : codec_(codec), place_(place) {}

  /// Writes the sorted row and where its elements were; either may be null.
  void sort(const char* in, int64_t n, char* values, int64_t* indices) {
    if (!indices && sorts_values(in, n, values)) return;
    if constexpr (sizeof(Key) == 4) {
      const int index_bits = Packing::bits_of_index(n);
      if (codec_.table->key_bits + index_bits <= 32) {
        order<uint32_t>(in, n, {0, 0, index_bits}, values, indices);
        return;
      }
      if (M::kSlack > 0 && narrow_ && place_.pieces == 1 && n <= kNarrow) {
        const KeyRange r = codec_.range(in, 0, n);
        if (order<uint32_t>(in, n, Packing::of(r.low, r.high, n, 32), values, indices)) return;
        narrow_ = false;  // the next row is probably like this one
      }
    }
    order<uint64_t>(in, n, wide_packing(in, n), values, indices);
  }

  /// Writes the elements at places of the sorted row, and where they were. `wanted`: the places, ascending,
  /// each once.
  void select(const char* in, int64_t n, Wanted wanted, const int64_t* places, int64_t count, char* values,
              int64_t* indices) {
    const Output out{places, count, values, indices};
    if (n >= kLong && select_in_brackets(in, n, wanted, out)) return;
    if constexpr (sizeof(Key) == 4) {
      const int index_bits = Packing::bits_of_index(n);
      if (codec_.table->key_bits + index_bits <= 32)
        return select_all<uint32_t>(in, n, {0, 0, index_bits}, wanted, out);
    }
    select_all<uint64_t>(in, n, wide_packing(in, n), wanted, out);
  }

 private:
  static constexpr int64_t kNarrow = 2048;  // most elements whose keys are cut to fit words of 32 bits
  static constexpr int64_t kLong = 8192;    // elements from which on a sample pays
  static constexpr int kSample = 2048;
  static constexpr int64_t kMostBrackets = 4;

  /// Says who gets the elements at which places.
  struct Output {
    const int64_t* places;
    int64_t count;
    char* values;
    int64_t* indices;
  };

  Packing wide_packing(const char* in, int64_t n) const {
    const int index_bits = Packing::bits_of_index(n);
    if (sizeof(Key) == 4 && index_bits <= 32) return {0, 0, index_bits};
    std::vector<KeyRange> part(static_cast<size_t>(place_.pieces));
    place_.each(n, [&](int64_t p, int64_t begin, int64_t end) {
      if (begin < end) part[static_cast<size_t>(p)] = codec_.range(in, begin, end);
    });
    KeyRange all;
    for (const KeyRange& r : part) all = {std::min(all.low, r.low), std::max(all.high, r.high)};
    return Packing::of(all.low, all.high, n, 64);
  }

  template <class W>
  bool pack(const char* in, int64_t n, const Packing& p, W* words) const {
    std::vector<uint8_t> special(static_cast<size_t>(place_.pieces));
    place_.each(n, [&](int64_t piece, int64_t begin, int64_t end) {
      special[static_cast<size_t>(piece)] = codec_.pack(in, begin, end, p, words);
    });
    return std::find(special.begin(), special.end(), 1) != special.end();
  }

  /// Sorts without indices; false if an element is special: then order among equal keys is to be seen.
  bool sorts_values(const char* in, int64_t n, char* values) {
    Key* const words = place_.first<Key>(n);
    const Packing p;
    if (pack(in, n, p, words)) return false;
    sort_words(words, place_.second<Key>(n), n, 0);
    place_.each(n,
                [&](int64_t, int64_t begin, int64_t end) { codec_.elements(words, begin, end, p, values); });
    return true;
  }

  /// Sorts the row by words; false if so many words lack bits that differ that wider ones are better.
  template <class W>
  bool order(const char* in, int64_t n, const Packing& p, char* values, int64_t* indices) {
    W *const words = place_.first<W>(n), *const other = place_.second<W>(n);
    const bool special = pack(in, n, p, words);
    sort_words(words, other, n, p.index_bits);
    if (p.dropped && !repair(in, n, p, words, other)) return false;
    place_.each(n, [&](int64_t, int64_t begin, int64_t end) {
      if (indices) M::indices(words + begin, end - begin, p, indices + begin);
      if (!values) return;
      if (!special && !p.dropped) return codec_.elements(words, begin, end, p, values);
      for (int64_t i = begin; i < end; ++i) codec_.copy(in, p.index(words[i]), values, i);
    });
    return true;
  }

  /// Sorts runs of words that are equal but for the index by their elements' keys.
  template <class W>
  bool repair(const char* in, int64_t n, const Packing& p, W* words, W* other) const {
    const int64_t found = M::doubtful(words, n, p.index_bits, other);
    if (sizeof(W) < 8 && found > n / 8) return false;
    const auto before = [&](W a, W b) {
      const uint64_t x = codec_.key(in, p.index(a)), y = codec_.key(in, p.index(b));
      return x != y ? x < y : a < b;
    };
    for (int64_t i = 0, end; i < found; i = end) {
      end = i + 1;
      while (end < found && other[end] == other[end - 1] + 1) ++end;
      W *const first = words + other[i], *const last = words + other[end - 1] + 2;
      if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
    }
    return true;
  }

  /// Sorts words. With several threads the row is split at words near the middle until there is a part for
  /// each.
  template <class W>
  void sort_words(W* words, W* other, int64_t n, int low) const {
    if (place_.pieces == 1) return M::sort(words, other, n, low, {});
    std::vector<int64_t> cuts{0, n};
    while (static_cast<int64_t>(cuts.size()) - 1 < place_.pieces) {
      const std::vector<int64_t> before = cuts;
      cuts.assign(2 * before.size() - 1, 0);
      cuts.back() = n;
      place_.backend->for_each(static_cast<int64_t>(before.size()) - 1, [&](int64_t part) {
        const auto i = static_cast<size_t>(part);
        const int64_t begin = before[i];
        cuts[2 * i] = begin;
        cuts[2 * i + 1] =
            begin + split(words + begin, other + begin + part * Workplace::kGap, before[i + 1] - begin);
      });
    }
    place_.backend->for_each(static_cast<int64_t>(cuts.size()) - 1, [&](int64_t part) {
      const int64_t begin = cuts[static_cast<size_t>(part)], end = cuts[static_cast<size_t>(part) + 1];
      if (begin < end) M::sort(words + begin, other + begin + part * Workplace::kGap, end - begin, low, {});
    });
  }

  /// Splits words at one near the middle; returns how many come before.
  template <class W>
  static int64_t split(W* words, W* other, int64_t n) {
    constexpr int64_t kWords = 255;
    if (n < 2 * kWords) return n;
    W sample[kWords];
    for (int64_t i = 0; i < kWords; ++i) sample[i] = words[i * (n / kWords)];
    std::nth_element(sample, sample + kWords / 2, sample + kWords);
    const W pivot = sample[kWords / 2];
    const int64_t front = M::partition(words, other, n, pivot, false);
    return front > 0 ? front : M::partition(words, other, n, pivot, true);
  }

  /// Sorts the wanted places of a row that is all words.
  template <class W>
  void select_all(const char* in, int64_t n, const Packing& p, Wanted wanted, const Output& out) {
    W *const words = place_.first<W>(n), *const other = place_.second<W>(n);
    pack(in, n, p, words);
    sort_wanted(in, n, p, words, other, wanted);
    write(in, words, p, 0, 0, n - 1, out);
  }

  template <class W>
  void sort_wanted(const char* in, int64_t n, const Packing& p, W* words, W* other, Wanted wanted) const {
    M::sort(words, other, n, p.index_bits, p.dropped ? Wanted{} : wanted);
    if (p.dropped) repair(in, n, p, words, other);
  }

  /// Writes the elements at places in [from, to]; `below`: the place of the first word.
  template <class W>
  void write(const char* in, const W* words, const Packing& p, int64_t below, int64_t from, int64_t to,
             const Output& out) const {
    for (int64_t j = 0; j < out.count; ++j) {
      if (out.places[j] < from || out.places[j] > to) continue;
      const int64_t at = p.index(words[out.places[j] - below]);
      if (out.values) codec_.copy(in, at, out.values, j);
      if (out.indices) out.indices[j] = at;
    }
  }

  /// Finds the wanted elements among those between two keys of a sample; false where that does not pay, or
  /// where the sample misled.
  bool select_in_brackets(const char* in, int64_t n, Wanted wanted, const Output& out) {
    std::vector<Wanted> groups;
    for (const int64_t* w = wanted.first; w != wanted.last; ++w) {
      if (groups.empty() || *w - w[-1] > n / 64) groups.push_back({w, w});
      groups.back().last = w + 1;
    }
    if (static_cast<int64_t>(groups.size()) > kMostBrackets) return false;
    for (const Wanted& g : groups)
      if (g.last[-1] - *g.first > n / 16) return false;
    Key sample[kSample], spare[kSample + Workplace::kGap];
    for (int i = 0; i < kSample; ++i) sample[i] = static_cast<Key>(codec_.key(in, place_in_sample(i, n)));
    M::sort(sample, spare, kSample, 0, {});
    for (const Wanted& g : groups)
      if (!select_in_bracket(in, n, sample, g, out)) return false;
    return true;
  }

  /// Returns the index of a sample's element: one in each part of the row, where in it varies.
  static int64_t place_in_sample(int i, int64_t n) {
    const int64_t part = n / kSample;
    const auto mixed = static_cast<uint32_t>(i) * uint32_t{2654435761};
    return n * i / kSample +
           static_cast<int64_t>(static_cast<uint64_t>(mixed) * static_cast<uint64_t>(part) >> 32);
  }

  bool select_in_bracket(const char* in, int64_t n, const Key* sample, Wanted group, const Output& out) {
    // An element is further than this from its place in the sample in one case of thousands.
    const auto reach = [](int64_t s) {
      const int64_t rest = std::min<int64_t>(s, kSample - s);
      int64_t root = 1;
      while (root * root < rest) ++root;
      return 4 * root + 4;
    };
    const int64_t a = *group.first, b = group.last[-1];
    const int64_t s = a * kSample / n, t = b * kSample / n, from = s - reach(s), to = t + reach(t);
    const Key low = from < 0 ? Key{0} : sample[from];
    const Key high = to >= kSample ? static_cast<Key>(~Key{0}) : sample[to];
    const Packing p = Packing::of(low, high, n, 64);
    uint64_t *const words = place_.first<uint64_t>(n), *const other = place_.second<uint64_t>(n);
    const Kept kept = keep(in, n, low, high, p, words);
    if (a < kept.below || b >= kept.below + kept.inside) return false;
    std::vector<int64_t> places(group.first, group.last);
    for (int64_t& place : places) place -= kept.below;
    sort_wanted(in, kept.inside, p, words, other, {places.data(), places.data() + places.size()});
    write(in, words, p, kept.below, a, b, out);
    return true;
  }

  /// Packs the elements whose keys are in [low, high].
  Kept keep(const char* in, int64_t n, Key low, Key high, const Packing& p, uint64_t* words) const {
    std::vector<Kept> part(static_cast<size_t>(place_.pieces));
    place_.each(n, [&](int64_t piece, int64_t begin, int64_t end) {
      constexpr int64_t kBlock = 512;
      Key block[kBlock];
      Kept all;
      uint64_t* const mine = words + begin + piece * Workplace::kGap;
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t count = std::min(kBlock, end - i);
        codec_.encode(in, i, count, block);
        const Kept k = M::keep(block, count, i, low, high, p, mine + all.inside);
        all = {all.below + k.below, all.inside + k.inside};
      }
      part[static_cast<size_t>(piece)] = all;
    });
    Kept all;
    for (int64_t piece = 0; piece < place_.pieces; ++piece) {
      const Kept& k = part[static_cast<size_t>(piece)];
      const uint64_t* const theirs = words + n * piece / place_.pieces + piece * Workplace::kGap;
      std::memmove(words + all.inside, theirs, static_cast<size_t>(k.inside) * 8);
      all = {all.below + k.below, all.inside + k.inside};
    }
    return all;
  }

  const Codec codec_;
  const Workplace place_;
  bool narrow_ = true;
};

}  // namespace lazy::cpu_backend::order
