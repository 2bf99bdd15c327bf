// Declares attention over sequences of any lengths, which lie one behind the other. Lengths are data: one
// program does any number of sequences.
//
//   varlen_attention           q (T, H, E), k (S, G, E), v (S, G, V), factor (), q_offsets (N + 1),
//                              k_offsets (N + 1) [, slopes (H)]          ->  y (T, H, V), lse (T, H)
//     paged                    k (B, P, G, E), v (B, P, G, V), ..., k_lengths (N) in place of k_offsets,
//                              [slopes,] table (N, M) [, k_scales (B, P, G), v_scales (B, P, G)]
//   varlen_attention_backward  the same operands (none are paged), y, lse, the gradient of y
//                                                                        ->  of q, k and v
//
// Sequence n has the queries [q_offsets[n], q_offsets[n + 1]) and likewise its keys; key j of a paged one is
// row j % P of block table[n, j / P]. H / G heads of queries share a head of keys. The last query stands at
// the last key: query t of a sequence with L queries and K keys is at p = K - L + t. y is softmax(factor q k'
// - slope |p - j|) v, lse the logarithm of the sum of the exponentials, inf for a query that sees no key: its
// y is 0. Offsets, lengths and the table are int64, all else is of one dtype, float32 or float64. Beside
// float32 paged keys and values may be stored in fewer bits (stored_rows.hpp): as 16-bit floats, and with
// scales as int8, or as uint8 that are codes of e4m3.
#pragma once
#include <algorithm>
#include <string>
#include <utility>

#include "jit/built_in/nn/stored_rows.hpp"
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct VarlenAttributes {
  uint8_t causal = 0;  // 1: a query sees keys up to its own place
  uint8_t paged = 0;   // 1: keys and values lie in blocks
  uint8_t sloped = 0;  // 1: scores fall with distance (Press et al., 2022)
  uint8_t scaled = 0;  // 1: paged keys and values are int8, or codes of e4m3, and have scales
  int32_t window = 0;  // keys further off than window - 1 are not seen; 0: all are

  int operands() const { return 6 + sloped + paged + 2 * scaled; }
};

/// Holds a run's extents and memory.
template <class T>
struct VarlenAttention {
  VarlenAttributes how;
  int64_t sequences, heads, groups, depth, width;  // N, H, G, E, V
  int64_t page = 0, pages = 0;                     // P, M
  const T *q, *k, *v;                              // k, v: null where they are stored otherwise than as T
  StoredRows<T> stored_k, stored_v;
  T factor;
  const int64_t *q_offsets, *k_offsets, *table = nullptr;
  const T* slopes = nullptr;

  explicit VarlenAttention(const CallRun& r) : how(r.spec.as<VarlenAttributes>()) {
    const Shape &q_shape = r.operands[0].shape, &v_shape = r.operands[2].shape;
    const auto in = [&](int i) { return reinterpret_cast<const T*>(r.in[i]); };
    const auto integers = [&](int i) { return reinterpret_cast<const int64_t*>(r.in[i]); };
    heads = q_shape[1], depth = q_shape[2], width = v_shape.back();
    groups = v_shape[v_shape.size() - 2];
    sequences = r.operands[4].shape[0] - 1;
    q = in(0), factor = *in(3);
    const auto bytes = [&](int i) { return reinterpret_cast<const std::byte*>(r.in[i]); };
    const auto scale = [&](int i) { return reinterpret_cast<const float*>(r.in[how.operands() - 2 + i]); };
    stored_k = {bytes(1), r.operands[1].dtype, depth, how.scaled ? scale(0) : nullptr};
    stored_v = {bytes(2), r.operands[2].dtype, width, how.scaled ? scale(1) : nullptr};
    k = stored_k.as_they_are(), v = stored_v.as_they_are();
    q_offsets = integers(4), k_offsets = integers(5);
    if (how.sloped) slopes = in(6);
    if (how.paged) {
      table = integers(6 + how.sloped);
      page = v_shape[1], pages = r.operands[static_cast<size_t>(6 + how.sloped)].shape[1];
    }
  }
  int64_t shared() const { return heads / groups; }  // heads of queries to one of keys
  int64_t queries(int64_t n) const { return q_offsets[n + 1] - q_offsets[n]; }
  int64_t keys(int64_t n) const { return how.paged ? k_offsets[n] : k_offsets[n + 1] - k_offsets[n]; }
  /// Returns the row of k and v, of all heads, where a key of a sequence lies.
  int64_t row(int64_t n, int64_t key) const {
    if (!how.paged) return k_offsets[n] + key;
    return table[n * pages + key / page] * page + key % page;
  }
  /// Returns the keys [first, end) that the query at a place sees.
  std::pair<int64_t, int64_t> seen(int64_t place, int64_t keys) const {
    const int64_t w = how.window, first = w ? std::max<int64_t>(0, place - w + 1) : 0;
    const int64_t end = how.causal ? place + 1 : w ? place + w : keys;
    return {first, std::max(first, std::min(end, keys))};
  }
};

/// Throws IndexError, at the user's line, for offsets, lengths or blocks that are out of range: memory is
/// read where they say.
void check_sequences(const CallRun&);

/// Describe the outputs of the calls, and of intentions of them (lazy/nn/functional), which have their
/// operands.
std::vector<CallOutput> infer_varlen_attention(const CallSpec&, std::span<const Meta>);
std::vector<CallOutput> infer_varlen_attention_backward(const CallSpec&, std::span<const Meta>);
extern const CallDefinition kVarlenAttention, kVarlenAttentionBackward;

}  // namespace lazy::jit::calls
