#include "backends/cpu/calls/order/avx512.hpp"

// GCC 12 takes the undefined vectors of its own header for mistakes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstring>

#include "backends/cpu/calls/order/plain.hpp"

namespace lazy::cpu_backend::order {
namespace {

#define LAZY_INLINE_512 __attribute__((always_inline)) LAZY_ORDER_512 inline

using V = __m512i;

struct Words64 {
  using W = uint64_t;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  LAZY_INLINE_512 static V all(W w) { return _mm512_set1_epi64(static_cast<int64_t>(w)); }
  LAZY_INLINE_512 static V load(const W* p) { return _mm512_loadu_si512(p); }
  LAZY_INLINE_512 static V load(const W* p, Mask m) { return _mm512_mask_loadu_epi64(all(~W{0}), m, p); }
  LAZY_INLINE_512 static void store(W* p, V v, Mask m) { _mm512_mask_storeu_epi64(p, m, v); }
  LAZY_INLINE_512 static V low(V a, V b) { return _mm512_min_epu64(a, b); }
  LAZY_INLINE_512 static V high(V a, V b) { return _mm512_max_epu64(a, b); }
  LAZY_INLINE_512 static Mask less(V a, V b) { return _mm512_cmplt_epu64_mask(a, b); }
  LAZY_INLINE_512 static Mask less_equal(V a, V b) { return _mm512_cmple_epu64_mask(a, b); }
  LAZY_INLINE_512 static V compress(Mask m, V v) { return _mm512_maskz_compress_epi64(m, v); }
  LAZY_INLINE_512 static V select(Mask m, V yes, V no) { return _mm512_mask_mov_epi64(no, m, yes); }
  LAZY_INLINE_512 static V sum(V a, V b) { return _mm512_add_epi64(a, b); }
  LAZY_INLINE_512 static Mask test(V a, V b) { return _mm512_test_epi64_mask(a, b); }
  LAZY_INLINE_512 static V numbers() { return _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0); }
  /// Exchanges lanes whose numbers differ in the bits of `by`.
  LAZY_INLINE_512 static V exchanged(V v, int by) {
    return _mm512_permutexvar_epi64(_mm512_xor_si512(numbers(), all(static_cast<W>(by))), v);
  }
};

struct Words32 {
  using W = uint32_t;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  LAZY_INLINE_512 static V all(W w) { return _mm512_set1_epi32(static_cast<int32_t>(w)); }
  LAZY_INLINE_512 static V load(const W* p) { return _mm512_loadu_si512(p); }
  LAZY_INLINE_512 static V load(const W* p, Mask m) { return _mm512_mask_loadu_epi32(all(~W{0}), m, p); }
  LAZY_INLINE_512 static void store(W* p, V v, Mask m) { _mm512_mask_storeu_epi32(p, m, v); }
  LAZY_INLINE_512 static V low(V a, V b) { return _mm512_min_epu32(a, b); }
  LAZY_INLINE_512 static V high(V a, V b) { return _mm512_max_epu32(a, b); }
  LAZY_INLINE_512 static Mask less(V a, V b) { return _mm512_cmplt_epu32_mask(a, b); }
  LAZY_INLINE_512 static Mask less_equal(V a, V b) { return _mm512_cmple_epu32_mask(a, b); }
  LAZY_INLINE_512 static V compress(Mask m, V v) { return _mm512_maskz_compress_epi32(m, v); }
  LAZY_INLINE_512 static V select(Mask m, V yes, V no) { return _mm512_mask_mov_epi32(no, m, yes); }
  LAZY_INLINE_512 static V sum(V a, V b) { return _mm512_add_epi32(a, b); }
  LAZY_INLINE_512 static Mask test(V a, V b) { return _mm512_test_epi32_mask(a, b); }
  LAZY_INLINE_512 static V numbers() {
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }
  LAZY_INLINE_512 static V exchanged(V v, int by) {
    return _mm512_permutexvar_epi32(_mm512_xor_si512(numbers(), all(static_cast<W>(by))), v);
  }
};
template <class W>
using LanesOf = std::conditional_t<sizeof(W) == 8, Words64, Words32>;

/// Returns the lanes that have the larger of two exchanged elements: those that are higher than their
/// partner.
template <class L>
constexpr typename L::Mask upper(int by) {
  unsigned m = 0;
  for (int i = 0; i < L::kLanes; ++i)
    if ((i ^ by) < i) m |= 1u << i;
  return static_cast<typename L::Mask>(m);
}

template <class L, int kBy>
LAZY_INLINE_512 V step(V v) {
  constexpr typename L::Mask m = upper<L>(kBy);
  const V partner = L::exchanged(v, kBy);
  return L::select(m, L::high(v, partner), L::low(v, partner));
}

/// Sorts the lanes of a vector that ascend and then descend, or the other way round.
template <class L>
LAZY_INLINE_512 V merged(V v) {
  if constexpr (L::kLanes == 16) v = step<L, 8>(v);
  return step<L, 1>(step<L, 2>(step<L, 4>(v)));
}

/// Sorts the lanes of a vector.
template <class L>
LAZY_INLINE_512 V sorted(V v) {
  v = step<L, 1>(v);
  v = step<L, 1>(step<L, 3>(v));
  v = step<L, 1>(step<L, 2>(step<L, 7>(v)));
  if constexpr (L::kLanes == 16) v = step<L, 1>(step<L, 2>(step<L, 4>(step<L, 15>(v))));
  return v;
}

/// Merges v[0 ... n - 1] and v[n ... 2n - 1], each sorted.
template <class L, int n>
LAZY_INLINE_512 void merge(V* v) {
  V high[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    const V other = L::exchanged(v[2 * n - 1 - i], L::kLanes - 1);
    high[i] = L::high(v[i], other);
    v[i] = L::low(v[i], other);
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) v[n + i] = high[i];
#pragma GCC unroll 4
  for (int apart = n / 2; apart > 0; apart /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < 2 * n; ++i) {
      if (i & apart) continue;
      const V a = v[i], b = v[i + apart];
      v[i] = L::low(a, b);
      v[i + apart] = L::high(a, b);
    }
#pragma GCC unroll 16
  for (int i = 0; i < 2 * n; ++i) v[i] = merged<L>(v[i]);
}

/// Sorts n vectors as one row.
template <class L, int n>
LAZY_INLINE_512 void network(V* v) {
  if constexpr (n == 1) {
    v[0] = sorted<L>(v[0]);
  } else {
    network<L, n / 2>(v);
    network<L, n / 2>(v + n / 2);
    merge<L, n / 2>(v);
  }
}

/// Sorts up to n vectors of words; what lacks is filled with the largest word.
template <class L, int n>
LAZY_ORDER_512 void short_row(typename L::W* words, int64_t count) {
  V v[n];
  typename L::Mask mask[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    const int64_t left = std::clamp<int64_t>(count - i * L::kLanes, 0, L::kLanes);
    mask[i] = static_cast<typename L::Mask>((1u << left) - 1);
    v[i] = L::load(words + i * L::kLanes, mask[i]);
  }
  network<L, n>(v);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) L::store(words + i * L::kLanes, v[i], mask[i]);
}

constexpr int64_t kRadix = 2048;         // words from which on two passes by radix are faster
constexpr int64_t kLongRadix = 1 << 18;  // and four

template <class L>
constexpr int64_t kShort = 16 * L::kLanes;

template <class L>
void sort_short(typename L::W* words, int64_t n) {
  if (n <= L::kLanes) short_row<L, 1>(words, n);
  else if (n <= 2 * L::kLanes) short_row<L, 2>(words, n);
  else if (n <= 4 * L::kLanes) short_row<L, 4>(words, n);
  else if (n <= 8 * L::kLanes) short_row<L, 8>(words, n);
  else short_row<L, 16>(words, n);
}

/// Moves words below the pivot to the front and the others behind them: see Plain::partition.
template <class L, bool kOrEqual>
LAZY_ORDER_512 int64_t split(typename L::W* words, typename L::W* other, int64_t n, typename L::W pivot) {
  const V p = L::all(pivot);
  int64_t front = 0, back = 0;
  // Invariant: front <= i, so a vector stored there covers nothing that is still to be loaded.
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + L::kLanes <= n; i += L::kLanes) {
    const V v = L::load(words + i);
    const typename L::Mask m = kOrEqual ? L::less_equal(v, p) : L::less(v, p);
    _mm512_storeu_si512(words + front, L::compress(m, v));
    _mm512_storeu_si512(other + back, L::compress(static_cast<typename L::Mask>(~m), v));
    const int64_t count = __builtin_popcount(m);
    front += count;
    back += L::kLanes - count;
  }
  for (; i < n; ++i) {
    const typename L::W w = words[i];
    const bool first = kOrEqual ? w <= pivot : w < pivot;
    words[front] = w;
    other[back] = w;
    front += first;
    back += !first;
  }
  std::memcpy(words + front, other, static_cast<size_t>(back) * sizeof(typename L::W));
  return front;
}

/// Returns a word near the middle: that of some words from all over the row.
template <class L>
typename L::W pivot_of(const typename L::W* words, int64_t n) {
  constexpr int kMost = 128;
  typename L::W sample[kMost];
  const int count = n < 1024 ? 16 : n < 16384 ? 32 : 128;
  const int64_t gap = n / count;
  for (int i = 0; i < count; ++i) sample[i] = words[i * gap + gap / 2];
  sort_short<L>(sample, count);
  return sample[count / 2];
}

template <class L>
class Quicksort {
 public:
  using W = typename L::W;
  Quicksort(W* words, W* other, Wanted wanted) : words_(words), other_(other), wanted_(wanted) {}

  /// Sorts words begin ... end - 1. `depth`: splits that may follow.
  void sort(int64_t begin, int64_t end, int depth) {
    while (is_wanted(begin, end)) {
      W* const w = words_ + begin;
      const int64_t n = end - begin;
      if (n <= kShort<L>) return sort_short<L>(w, n);
      if (depth-- == 0) return std::sort(w, w + n);
      const W pivot = pivot_of<L>(w, n);
      const int64_t front = split<L, false>(w, other_ + begin, n, pivot);
      if (front == 0) {  // the pivot is the smallest: those equal to it are done
        begin += split<L, true>(w, other_ + begin, n, pivot);
        continue;
      }
      sort(begin, begin + front, depth);
      begin += front;
    }
  }

 private:
  bool is_wanted(int64_t begin, int64_t end) const {
    if (begin >= end) return false;
    if (wanted_.all()) return true;
    const int64_t* const at = std::lower_bound(wanted_.first, wanted_.last, begin);
    return at != wanted_.last && *at < end;
  }

  W* const words_;
  W* const other_;
  const Wanted wanted_;
};

/// Returns the words of keys, given as 64 bits each.
LAZY_INLINE_512 V words_of(V keys, V indices, V base, int dropped, int index_bits) {
  const V rest = _mm512_srl_epi64(_mm512_sub_epi64(keys, base), _mm_cvtsi32_si128(dropped));
  return _mm512_or_si512(_mm512_sll_epi64(rest, _mm_cvtsi32_si128(index_bits)), indices);
}

template <class L>
LAZY_ORDER_512 int64_t equal_to_next(const typename L::W* words, int64_t n, int index_bits,
                                     typename L::W* places) {
  using W = typename L::W;
  const V rest = L::all(static_cast<W>(~W{0} << index_bits)), step = L::all(L::kLanes);
  int64_t found = 0;
  V at = L::numbers();
  for (int64_t i = 0; i + 1 < n; i += L::kLanes, at = L::sum(at, step)) {
    const auto here = static_cast<typename L::Mask>((1u << std::min<int64_t>(L::kLanes, n - 1 - i)) - 1);
    const V difference = _mm512_xor_si512(L::load(words + i, here), L::load(words + i + 1, here));
    const auto equal = static_cast<typename L::Mask>(~L::test(difference, rest) & here);
    if (!equal) continue;
    _mm512_storeu_si512(places + found, L::compress(equal, at));
    found += __builtin_popcount(equal);
  }
  return found;
}

}  // namespace

template <class W>
int64_t Avx512::doubtful(const W* words, int64_t n, int index_bits, W* places) {
  return equal_to_next<LanesOf<W>>(words, n, index_bits, places);
}

template <class W>
int64_t Avx512::partition(W* words, W* other, int64_t n, W pivot, bool or_equal) {
  return or_equal ? split<LanesOf<W>, true>(words, other, n, pivot)
                  : split<LanesOf<W>, false>(words, other, n, pivot);
}

template <class W>
void Avx512::sort(W* words, W* other, int64_t n, int low, Wanted wanted) {
  if (wanted.all() && n >= kRadix) {
    const int passes = Plain::passes(words, n, low);
    if (passes <= 2 || (sizeof(W) == 8 && n >= kLongRadix && passes <= 4))
      return Plain::sort(words, other, n, low, wanted);
  }
  Quicksort<LanesOf<W>>(words, other, wanted).sort(0, n, 4 * std::bit_width(static_cast<uint64_t>(n)));
}

LAZY_ORDER_512 Kept Avx512::keep(const uint64_t* keys, int64_t n, int64_t index, uint64_t low, uint64_t high,
                                 const Packing& p, uint64_t* words) {
  using L = Words64;
  const V from = L::all(low), to = L::all(high), base = L::all(p.base), eight = L::all(8);
  V at = L::sum(L::all(static_cast<uint64_t>(index)), L::numbers());
  Kept kept;
  for (int64_t i = 0; i < n; i += 8, at = L::sum(at, eight)) {
    const auto here = static_cast<__mmask8>((1u << std::min<int64_t>(8, n - i)) - 1);
    const V k = L::load(keys + i, here);
    const auto below = static_cast<__mmask8>(L::less(k, from) & here);
    const auto inside = static_cast<__mmask8>(L::less_equal(k, to) & here & ~below);
    kept.below += __builtin_popcount(below);
    if (!inside) continue;
    const V w = words_of(k, at, base, p.dropped, p.index_bits);
    _mm512_storeu_si512(words + kept.inside, L::compress(inside, w));
    kept.inside += __builtin_popcount(inside);
  }
  return kept;
}

LAZY_ORDER_512 Kept Avx512::keep(const uint32_t* keys, int64_t n, int64_t index, uint32_t low, uint32_t high,
                                 const Packing& p, uint64_t* words) {
  using L = Words32;
  const V from = L::all(low), to = L::all(high), base = Words64::all(p.base);
  Kept kept;
  for (int64_t i = 0; i < n; i += 16) {
    const auto here = static_cast<__mmask16>((1u << std::min<int64_t>(16, n - i)) - 1);
    const V k = L::load(keys + i, here);
    const auto below = static_cast<__mmask16>(L::less(k, from) & here);
    const auto inside = static_cast<__mmask16>(L::less_equal(k, to) & here & ~below);
    kept.below += __builtin_popcount(below);
    if (!inside) continue;
    const V chosen = L::compress(inside, k), lane = L::compress(inside, L::numbers());
    const V first = Words64::all(static_cast<uint64_t>(index + i));
    const auto part = [&](V of, bool upper) __attribute__((always_inline)) LAZY_ORDER_512 {
      return _mm512_cvtepu32_epi64(upper ? _mm512_extracti64x4_epi64(of, 1) : _mm512_castsi512_si256(of));
    };
    uint64_t* const to_words = words + kept.inside;
    const int count = __builtin_popcount(inside);
    _mm512_storeu_si512(to_words, words_of(part(chosen, false), _mm512_add_epi64(first, part(lane, false)),
                                           base, p.dropped, p.index_bits));
    if (count > 8)
      _mm512_storeu_si512(to_words + 8,
                          words_of(part(chosen, true), _mm512_add_epi64(first, part(lane, true)), base,
                                   p.dropped, p.index_bits));
    kept.inside += count;
  }
  return kept;
}

template int64_t Avx512::doubtful(const uint32_t*, int64_t, int, uint32_t*);
template int64_t Avx512::doubtful(const uint64_t*, int64_t, int, uint64_t*);
template int64_t Avx512::partition(uint32_t*, uint32_t*, int64_t, uint32_t, bool);
template int64_t Avx512::partition(uint64_t*, uint64_t*, int64_t, uint64_t, bool);
template void Avx512::sort(uint32_t*, uint32_t*, int64_t, int, Wanted);
template void Avx512::sort(uint64_t*, uint64_t*, int64_t, int, Wanted);

}  // namespace lazy::cpu_backend::order
