// Declares what the files of lowering share. See lower.cpp.
#pragma once
#include <array>

#include "jit/graph/indexed.hpp"
#include "jit/graph/layout.hpp"
#include "jit/lower/lower.hpp"
#include "jit/plan/places.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {

using loop::Code;
using loop::Instr;
using loop::kNoValue;
using loop::LoopKernel;
using loop::Stride;
using loop::ValueId;

/// Maps kernel dimensions to a layout's extents: by kernel dimension, the position among the extents that are
/// not 1, or kAbsent.
struct DimMap {
  int8_t of[loop::kMaxAxes];
  DimMap() { std::fill(std::begin(of), std::end(of), Binding::kAbsent); }
};

/// Makes a program's steps, one at a time: the one at hand is a `Building`.
class Lowering {
 public:
  Lowering(const Trace& t, const Fusion& f, const LowerOptions& o, Program& p, std::vector<LoopKernel>& out)
      : t_(t), f_(f), options_(o), p_(p), out_(out) {}
  void run();

 private:
  struct Operand {
    Binding binding;
    uint32_t value = kNone;  // trace value in memory
    // If packed: by kernel dimension, 0 (absent) or 1 + its place in the packed source; how many places the
    // source has (jit/plan/places.hpp).
    std::array<int8_t, loop::kMaxAxes> place{};
    int places = 0;
    bool packed = false;  // strides follow from the extents
  };
  /// Holds a body or epilogue: expressions evaluated over one index map.
  struct Region {
    std::vector<Instr> code;
    FlatMap<ValueId> memo;      // by value and path
    FlatMap<uint32_t> aligned;  // path and form of a shape -> the path that broadcasts to it
    DimMap dims;
    bool epilogue = false;
  };
  struct Building {
    int group = 0;
    Step step;
    LoopKernel kernel;
    std::vector<Operand> operands;
    FlatMap<uint16_t> operand_ids;
    FlatMap<uint16_t> scalar_ids;
    std::vector<uint32_t> reduced;  // values of the kernel's reductions
    FlatMap<uint16_t> reduction_ids;
    ValueId left = kNoValue, right = kNoValue;  // of a contraction: values of the body that are multiplied
    size_t body_stores = 0;  // of a reduce: how many stores, the first ones, are in the body
    int dims = 0;
    int sequential_dim = -1;
    uint32_t fixed_dims =
        0;  // bit d: dimension d must not merge with its neighbours (an index along it is used)
    Region body, epilogue;
  };

  const Value& at(uint32_t v) const { return t_.values[v]; }
  const Shape& shape(uint32_t v) const { return t_.shape(v); }
  bool in_memory(uint32_t v) const { return at(v).op == Op::input || f_.materialised[v]; }
  int slot_of(uint32_t v);
  void collect_results();
  void lower_group(int g);

  // These functions are in lower_paths.cpp.
  uint32_t extend(uint32_t path, uint32_t v, bool align);
  uint32_t through_view(uint32_t w, uint32_t path);
  Places places(uint32_t path, uint32_t v, int64_t only_dim = -1) const;
  bool reshapes(uint32_t path) const;
  uint32_t to_operand(Region& r, uint32_t o, uint32_t user, uint32_t path);

  // These functions are in lower_values.cpp.
  static ValueId push(Region& r, Instr i) {
    r.code.push_back(i);
    return static_cast<ValueId>(r.code.size() - 1);
  }
  static ValueId cast(Region& r, ValueId v, DType to) {
    if (r.code[v].type == to) return v;
    return push(r, {Code::op, Op::cast, to, 0, v});
  }
  static uint64_t key(uint32_t v, uint32_t path) { return static_cast<uint64_t>(v) << 32 | path; }
  uint16_t operand(Building& b, const Region& r, uint32_t v, uint32_t path, bool output);
  void guard_input(uint32_t v);
  uint16_t scalar(Building& b, uint32_t v);
  ScalarArgument argument_of(uint32_t v) const;
  ValueId load(Building& b, Region& r, uint32_t v, uint32_t path);
  ValueId index_along(Building& b, Region& r, uint32_t v, uint32_t path);
  ValueId terminal(Building& b, Region& r, uint32_t v, uint32_t path);
  DType result_type(uint32_t v) const;
  uint16_t reduction(Building& b, uint32_t v);
  ValueId evaluate(Building& b, Region& r, uint32_t root, uint32_t root_path);
  ValueId compute(Region& r, const Value& x, const ValueId* args);
  ValueId rounded(Region& r, ValueId v, DType half);

  // These functions are in lower_indexed.cpp.
  ValueId argument(Building& b, Region& r, uint64_t key, const ScalarArgument& a);
  ValueId number(Building& b, Region& r, int64_t value, DType type);
  ValueId extent(Building& b, Region& r, uint32_t v, int dim, int64_t more);
  /// Holds an index by its rule: in range, and whether it was, if the rule requires that.
  struct InRange {
    ValueId index = kNoValue, good = kNoValue, bad = kNoValue;
  };
  bool is_single(uint32_t v) const;
  InRange in_range(Building& b, Region& r, ValueId index, uint32_t v);
  void report_fault(Building& b, Region& r, ValueId bad, uint32_t v);
  ValueId offset(Building& b, Region& r, ValueId index, uint16_t operand, bool unit);
  ValueId gather(Building& b, Region& r, uint32_t v, uint32_t path, ValueId index);
  void scatter_dims(Building& b, uint32_t v);
  void lower_scatter(Building& b, const Group& group);
  bool is_checked_before(uint32_t scatter) const;
  void lower_check(const Group& group, int g);
  void lower_index_check(uint32_t v, int g, const Group& group);

  // These functions are in lower_ahead.cpp.
  size_t made_before(uint32_t root, int g, const std::vector<size_t>& made_by) const;
  size_t known_before(size_t step, const std::vector<size_t>& made_by) const;
  void look_ahead(size_t step);
  void keep_inputs_until_nothing_throws();

  // These functions are in lower_rolled_loop.cpp.
  // True if operand i of `v`, a value of a rolled loop's first iteration, is the same in each iteration.
  bool is_fixed(const TraceLoop& r, uint32_t v, int i) const {
    return at(v).operand[i] == at(v + r.period).operand[i];
  }
  bool is_computed(uint32_t v) const { return f_.needed[v] && kind_of(at(v).op) == OpKind::pointwise; }
  /// Calls f(value of the first iteration, its operand from before the rolled loop, true if that operand is
  /// the same in each iteration).
  template <class F>
  void each_from_before(const TraceLoop& r, F&& f) const {
    for (uint32_t v = r.first + r.period; v-- > r.first;) {
      if (!is_computed(v)) continue;
      for (int i = at(v).arity - 1; i >= 0; --i)
        if (const uint32_t o = at(v).operand[i]; o < r.first) f(v, o, is_fixed(r, v, i));
    }
  }
  void lower_rolled_loop(Building& b, Region& r, const TraceLoop& rolled_loop, uint32_t path);

  // These functions are in lower_kernels.cpp.
  bool is_stored(uint32_t v) const { return wanted_[v]; }
  void store(Building& b, Region& r, uint32_t v, ValueId value);
  void add_dim(Building& b, uint32_t v, int dim);
  void map_dims(Building& b, uint32_t space);
  void lower_map(Building& b, const Group& group);
  void lower_reduce(Building& b, const Group& group);
  void lower_scan(Building& b, const Group& group);
  void lower_contract(Building& b, const Group& group);
  void permute_dims(DimMap& dims, uint32_t v) const;
  ValueId side(Building& b, Region& r, uint32_t v);
  void lower_update(Building& b, const Group& group);
  uint16_t add_updated(Building& b, uint32_t v);
  void start_from(Building& b, uint32_t base);

  // These functions are in lower_call.cpp.
  void lower_call(int g, const Group& group);
  void plan_in_place(const Step& step, int g);

  // These functions are in lower_axes.cpp.
  void finish(Building& b, const Group& group);
  bool mergeable(const Building& b, int d, const std::vector<OperandLayout>& layouts) const;
  void layout_guard(Guard::Kind kind, uint32_t step, size_t operand, int dim, int64_t value);
  loop::Operand classify(Building& b, size_t i, const std::vector<uint8_t>& axis, int axes,
                         const OperandLayout& l, uint32_t step);
  int64_t packed_stride(const Building& b, const Operand& o, int d) const;
  void limit_offsets(loop::Operand& out, size_t i, int dim, int64_t stride, uint32_t step);
  std::string label(const Group& group) const;
  void number_guards();

  // These functions are in lower_memory.cpp.
  void plan_memory();
  bool dies_in(const Binding& b, int g) const;
  bool can_give(const Step&, const LoopKernel&, int group, size_t operand, size_t output) const;
  void plan_donation(Step& step, const LoopKernel& k, int g, std::vector<uint8_t>& taken);
  void plan_initial(Step& step, int g);

  static constexpr int kForever = 1 << 30;
  const Trace& t_;
  const Fusion& f_;
  const LowerOptions& options_;
  Program& p_;
  std::vector<LoopKernel>& out_;
  std::vector<int> slot_;
  std::vector<uint32_t> slot_value_;
  std::vector<uint8_t> wanted_, guarded_;
  std::vector<int> last_read_;  // by value: the last group that reads it from memory
  std::vector<int> group_of_step_;
  FlatMap<uint32_t> fault_of_;                  // by value: number of its fault
  std::vector<std::vector<uint32_t>> checked_;  // by group: the gathers and scatters whose indices it checks
  bool checked_before_ = false;                 // an earlier step looks at the indices that are evaluated now
  FlatMap<uint32_t> path_ids_;
  std::vector<size_t> layout_guards_;
};

}  // namespace lazy::jit
