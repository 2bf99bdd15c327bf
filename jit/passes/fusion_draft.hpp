// Declares the passes of fusion and what they share. fuse.cpp calls them in order.
#pragma once
#include "jit/graph/layout.hpp"
#include "jit/passes/operand_sets.hpp"
#include "jit/passes/passes.hpp"

namespace lazy::jit {

/// Holds what is known of a value. In brackets: the pass that finds it out.
struct ValueFacts {
  bool needed = false;        // some output depends on it [find_needed]
  bool packed = false;        // it can be read as packed memory, wherever it is computed [pack_operands]
  bool packs_side = false;    // a packed copy of a product's right side [pack_operands]
  bool materialised = false;  // it gets memory [choose_materialised]
  uint32_t chunk = 0;         // kernels are of one chunk of the program: its number [cut_long_kernels]
  uint32_t making = 0;        // cost, in additions, of computing it from memory [materialise_the_dear]
  // Set, in FusionDraft::sets, of the memory that computing it where it is inlined reads
  // [materialise_the_dear]
  uint32_t reads = OperandSets::kEmpty;
};

/// Holds a fusion that is being decided: each pass reads what earlier ones found out, and adds to it.
struct FusionDraft {
  Trace& trace;
  const FuseOptions options;
  std::vector<uint32_t> order;          // every value, operands before users [pack_operands]
  std::vector<ValueFacts> facts;        // by value
  std::vector<TraceLoop> rolled_loops;  // in order [find_rolled_loops]
  OperandSets sets;

  const Value& at(uint32_t v) const { return trace.values[v]; }
  OpKind kind(uint32_t v) const { return kind_of(at(v).op); }
  bool materialised(uint32_t v) const { return facts[v].materialised; }
  /// True if `v` is in memory when a kernel that reads it runs.
  bool exists(uint32_t v) const { return at(v).op == Op::input || facts[v].materialised; }
  /// Returns the rolled loop that `v` is of, or null.
  const TraceLoop* loop_of(uint32_t v) const { return rolled_loop_of(rolled_loops, v); }
  /// True for a value of a rolled loop that nothing outside reads.
  bool is_inside_loop(uint32_t v) const {
    const TraceLoop* r = loop_of(v);
    return r && v < r->last();
  }
  /// True for a view that changes which element an index means.
  bool is_moving_view(uint32_t v) const { return kind(v) == OpKind::view && !is_identity_view(trace, v); }
  /// True if `v` reads its operand i at the same index as its result.
  bool reads_in_place(uint32_t v, int i) const {
    switch (kind(v)) {
      case OpKind::pointwise: return same_index(trace, at(v).operand[i], v);
      case OpKind::indexed: return i > 0;
      case OpKind::view: return is_identity_view(trace, v);
      default: return false;
    }
  }
};

/// True for the results that get memory whoever reads them.
constexpr bool always_materialised(OpKind k) {
  return k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract || k == OpKind::update ||
         k == OpKind::part;
}
/// True for what is computed where it is read, at the reader's index, unless it gets memory.
constexpr bool is_computed(OpKind k) { return k == OpKind::pointwise || k == OpKind::indexed; }
/// True if `axis` of `v` is the innermost whose extent is not 1.
bool is_last_axis(const Trace&, uint32_t v, int64_t axis);

/// Has copies made of operands that are read as packed memory and are not, and of products' right sides that
/// lie transposed. Makes `order`, `packed` and `packs_side`; appends values and rewrites operands.
void pack_operands(FusionDraft&);

/// Finds the loops worth keeping as such, in order, among the values that are needed.
std::vector<TraceLoop> find_rolled_loops(const FusionDraft&);

/// Groups dimensions into classes: two are of one class if the rule of some op makes their extents equal.
class DimensionClasses {
 public:
  explicit DimensionClasses(size_t values);
  void tie(uint32_t v, int i, uint32_t w, int j) { parent_[root(number(w, j))] = root(number(v, i)); }
  /// Returns a number that all dimensions of a class share.
  uint32_t of(uint32_t v, int i) { return root(number(v, i)); }
  /// Gives up the union-find forest, for Fusion::tied.
  std::vector<uint32_t> take() && { return std::move(parent_); }

 private:
  static uint32_t number(uint32_t v, int i) { return v * kMaxRank + static_cast<uint32_t>(i); }
  uint32_t root(uint32_t d) {
    while (parent_[d] != d) d = parent_[d] = parent_[parent_[d]];
    return d;
  }
  std::vector<uint32_t> parent_;  // by number; a root is the parent of itself
};
/// Reads `order` and the ops' rules.
DimensionClasses tie_dimensions(const FusionDraft&);

/// Says which kernel is the first in which a value can be used.
struct Earliest {
  int same_index = 0;  // read at the same index
  int any_index = 0;   // read at any index: what makes it must be done
};
/// Says which kernels make the values that get memory.
struct KernelAssignment {
  struct Placed {
    int kernel = -1;  // index into groups; -1 if no kernel stores it
    Earliest usable;
  };
  std::vector<Group> groups;   // in execution order
  std::vector<Placed> values;  // by value
};
/// Puts every value that gets memory into a kernel. Reads all facts.
KernelAssignment assign_kernels(FusionDraft&, DimensionClasses&);

/// Decides which values get memory. Makes `materialised`, `chunk`, `reads` and `making`; takes loops of
/// which an inner value gets memory out of `rolled_loops`.
void choose_materialised(FusionDraft&, DimensionClasses&);

}  // namespace lazy::jit
