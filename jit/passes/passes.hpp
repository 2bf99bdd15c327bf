// Declares the passes of a compile, in order. Each is a named function on the trace; `print(trace)` between
// any two shows its work.
#pragma once
#include <algorithm>
#include <vector>

#include "jit/key/trace.hpp"

namespace lazy::jit {

/// Replaces values by equal, cheaper ones: identities that hold for every value of the operands (NaN,
/// infinities and signed zeros included), and common subexpressions. Then the values that no output needs are
/// left without users.
void simplify(Trace&);

/// Turns a * b + c into fma(a, b, c) where nothing else needs the product (LAZY_FP_CONTRACT).
void contract(Trace&);

/// Describes a loop that was recorded iteration by iteration: values [first, end()), `trips` times the
/// `period` ones of an iteration. Those of one are the same pointwise ops and constants as those of the next,
/// on operands that are either values from before the loop, the same in each iteration, or of the same or the
/// previous iteration. Only the last iteration's values are read from outside, and all have the same extents.
struct TraceLoop {
  uint32_t first = 0, period = 0, trips = 0;
  uint32_t end() const { return first + trips * period; }
  uint32_t last() const { return end() - period; }  // first value of the last iteration
};

/// Describes one kernel: the values that it computes, and over which space.
struct Group {
  enum class Kind : uint8_t { map, reduce, scan, contract, update, call } kind{};
  uint32_t space = kNone;  // value whose shape is the iteration space (reduce, scan: the operand; contract:
                           // the result; call: the call)
  int axis = -1;           // reduce, scan: the axis of `space`
  std::vector<uint32_t> roots;       // materialised values that the kernel computes, in order; of a reduction
                                     // along the last axis they may also be values at each index of the space
  std::vector<uint32_t> permuted{};  // roots of a product that permute what it computes: not at its index
  std::vector<uint32_t> placed{};    // its root that is a part of new memory, if it has one
};
struct Fusion {
  std::vector<uint8_t> materialised;  // by value: it is in memory (a register if only its kernel reads it)
  std::vector<int> kernel_of;         // by value: index into groups, -1 if inlined or an input
  std::vector<Group> groups;          // in execution order
  std::vector<uint32_t> tied;         // by value * kMaxRank + dimension: a union-find forest (see dim_class)

  /// Returns the class of a dimension: two are of one class if the rule of some op makes their extents equal.
  uint32_t dim_class(uint32_t v, int i) const {
    uint32_t d = v * kMaxRank + static_cast<uint32_t>(i);
    while (tied[d] != d) d = tied[d];
    return d;
  }
  std::vector<uint8_t> needed;          // by value: whether some output depends on it
  std::vector<TraceLoop> rolled_loops;  // each completely in the kernel that reads its results; in order
};
/// Returns the one of these loops, which are in order, that value v is of, or null.
inline const TraceLoop* rolled_loop_of(const std::vector<TraceLoop>& loops, uint32_t v) {
  const auto after = std::upper_bound(loops.begin(), loops.end(), v,
                                      [](uint32_t x, const TraceLoop& r) { return x < r.first; });
  return after != loops.begin() && v < after[-1].end() ? &after[-1] : nullptr;
}
inline const TraceLoop* rolled_loop_of(const Fusion& f, uint32_t v) {
  return rolled_loop_of(f.rolled_loops, v);
}
/// Returns the value whose memory a call reads as its operand `v`: reshapes of packed memory are that memory.
/// `is_materialised(v)`: true if v gets separate memory.
template <class IsMaterialised>
uint32_t packed_source(const Trace& t, uint32_t v, const IsMaterialised& is_materialised) {
  while (t.values[v].op == Op::reshape && !is_materialised(v)) v = t.values[v].operand[0];
  return v;
}
inline uint32_t packed_source(const Trace& t, const std::vector<uint8_t>& materialised, uint32_t v) {
  return packed_source(t, v, [&](uint32_t w) { return materialised[w] != 0; });
}
struct FuseOptions {
  bool strict_layout = false;  // assume nothing about inputs' layouts (the variant that serves everything)
  bool host = true;            // for a CPU, which takes products block by block
};
Fusion fuse(Trace&, const FuseOptions&);

/// True if `v`, an operand of `user` (pointwise), has the same index: the extents other than 1 are the same.
bool same_index(const Trace&, uint32_t v, uint32_t user);
/// True if view value `w` only moves dimensions of extent 1 about (or does nothing).
bool is_identity_view(const Trace&, uint32_t w);

}  // namespace lazy::jit
