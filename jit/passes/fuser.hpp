// Fusion, phase by phase: what its files share. See fuse.cpp.
#pragma once
#include "jit/graph/layout.hpp"
#include "jit/passes/operand_sets.hpp"
#include "jit/passes/passes.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {

class Fuser {
 public:
  Fuser(Trace& t, const FuseOptions& o) : t_(t), strict_(o.strict_layout), host_(o.host) {}
  Fusion run();

 private:
  const Value& at(uint32_t v) const { return t_.values[v]; }
  OpKind kind(uint32_t v) const { return kind_of(at(v).op); }
  bool exists(uint32_t v) const { return at(v).op == Op::input || f_.materialised[v]; }
  static bool always_materialised(OpKind k) {
    return k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract || k == OpKind::update ||
           k == OpKind::part;
  }
  /// True for what is computed where it is read, at the reader's index, unless it gets memory.
  static bool is_computed(OpKind k) { return k == OpKind::pointwise || k == OpKind::indexed; }
  /// True if `v` reads its operand i at its own index.
  bool reads_in_place(uint32_t v, int i) const {
    switch (kind(v)) {
      case OpKind::pointwise: return same_index(t_, at(v).operand[i], v);
      case OpKind::indexed: return i > 0;
      case OpKind::view: return is_identity_view(t_, v);
      default: return false;
    }
  }
  void find_needed();

  // fuse_pack.cpp
  void pack_reshaped_operands();
  bool packs_right_side(uint32_t v) const;
  void copy_input(uint32_t v, int operand, std::vector<uint32_t>& copy_of);

  // fuse_dimensions.cpp
  uint32_t root(uint32_t d);
  void tie(uint32_t a, uint32_t b);
  uint32_t dim(uint32_t v, int i) const;
  void tie_dimensions();
  void tie_aligned(uint32_t o, uint32_t v);
  void tie_output(uint32_t part);
  void tie_indexed(uint32_t v);
  uint32_t space(uint32_t v, char form, int axis = -1);
  bool is_last_axis(uint32_t o, int64_t axis) const;

  // need: the first kernel in which a value can be used at the same index, and at any index (its makers must
  // be done).
  struct Need {
    int same = 0, any = 0;
  };

  // fuse_materialise.cpp
  /// How values are used, by the kernels that they may be inlined into.
  static constexpr uint8_t kInRow = 1;     // read by a reduction along its last axis
  static constexpr uint8_t kMoved = 2;     // read at another index
  static constexpr uint8_t kDirectly = 4;  // so itself, not a value computed from it
  static constexpr uint32_t kUnset = kNone, kMany = kNone - 1;
  struct Uses {
    std::vector<uint8_t> used;         // by value: kInRow, kMoved, kDirectly
    std::vector<uint32_t> home;        // by value: the kernel it would be inlined into, kMany, or kUnset
    std::vector<uint32_t> last_chunk;  // by value: of its last reader
  };
  /// Memory that a value is computed from where it is inlined.
  struct Beneath {
    uint32_t result = kNone;  // of a product or reduction, read at the value's own index
    bool more = false;        // and others
  };
  void choose_materialised();
  void cut_long_kernels();
  Uses find_uses() const;
  void materialise_what_costs_more_to_repeat(const Uses& uses, const std::vector<Need>& need);
  void limit_reads(uint32_t v);
  uint32_t reads_by(uint32_t v, uint32_t o);
  void add_beneath(std::vector<Beneath>& beneath, uint32_t v, int i) const;
  bool replaces_a_result(const Beneath& b, const Uses& uses, const Need& need) const;
  bool broadcasts_up(uint32_t o, uint32_t user) const;
  bool is_code(uint32_t v) const;
  bool is_inside(uint32_t v) const;
  void materialise_results_of_repeats(const std::vector<uint32_t>& home);
  bool is_alias(uint32_t v) const;
  void mark_operands_that_must_exist();

  // fuse_kernels.cpp
  std::vector<Need> assign_kernels();
  Need call_step(uint32_t v, OpKind k);
  int new_group(Group::Kind kind, uint32_t space, int axis);
  int& latest(uint32_t space);
  int reduction_kernel(uint32_t v, Need operand);
  int map_kernel(uint32_t v, Need need);
  bool suits_epilogue(uint32_t v, int g) const;
  bool has_rolled_loop(int g) const;
  bool has_room(int g, uint32_t v);

  Trace& t_;
  const bool strict_, host_;
  Fusion f_;
  std::vector<uint32_t> order_, transposed_;
  std::vector<uint8_t> flat_, needed_;
  /// Tells what computing a value takes where it is inlined: lanes of 64 bits, a rolled loop, a load at a
  /// computed index.
  static constexpr uint8_t kWide = 1, kLoop = 2, kGather = 4;
  std::vector<uint8_t> takes_;  // by value
  std::vector<uint32_t> parent_, chunk_;
  std::vector<uint32_t> making_;  // by value: the cost of computing it from what is in memory
  OperandSets sets_;
  std::vector<uint32_t> reads_;        // by value: set of what computing it where it is inlined reads
  std::vector<uint32_t> group_reads_;  // by kernel
  Interner spaces_;
  std::vector<int> latest_;  // kernels by space
};

}  // namespace lazy::jit
