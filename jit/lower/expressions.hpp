// Makes the expressions of one kernel: the instructions by which it gets a value at its index.
#pragma once
#include "jit/lower/lower_draft.hpp"

namespace lazy::jit {

/// Holds an index by its rule: in range, and whether it was, if the rule requires that.
struct InRange {
  ValueId index = kNoValue, good = kNoValue, bad = kNoValue;
};

class Expressions {
 public:
  Expressions(LowerDraft& draft, Building& b) : draft_(draft), b_(b) {}

  /// Returns the value of `v` at the kernel's index seen through `path`.
  ValueId evaluate(Region&, uint32_t v, uint32_t path = 0);
  /// Stores a value of the region as `v`.
  void store(Region&, uint32_t v, ValueId value);

  /// Brings the index of `v`, a gather or scatter, into range by its rule.
  InRange in_range(Region&, ValueId index, uint32_t v);
  void report_fault(Region&, ValueId bad, uint32_t v);
  /// Returns how many elements on from where the operand is at the current index. `unit`: neighbours along
  /// the axis lie side by side.
  ValueId offset(Region&, ValueId index, uint16_t operand, bool unit);
  /// Returns a small number, as an argument.
  ValueId number(Region&, int64_t value, DType);
  /// Says that an earlier step looks at the indices that are evaluated now.
  void set_checked_before(bool is) { checked_before_ = is; }

 private:
  static uint64_t key(uint32_t v, uint32_t path) { return static_cast<uint64_t>(v) << 32 | path; }
  const Value& at(uint32_t v) const { return draft_.at(v); }

  // These functions are in expressions.cpp.
  uint16_t operand(const Region&, uint32_t v, uint32_t path, bool output);
  uint16_t scalar(uint32_t v);
  ScalarArgument argument_of(uint32_t v) const;
  ValueId load(Region&, uint32_t v, uint32_t path);
  ValueId index_along(Region&, uint32_t v, uint32_t path);
  ValueId terminal(Region&, uint32_t v, uint32_t path);
  uint16_t reduction(uint32_t v);
  ValueId compute(Region&, const Value& x, const ValueId* args) const;
  ValueId rounded(Region&, ValueId v, DType half) const;
  uint32_t through_view(uint32_t w, uint32_t path);
  uint32_t to_operand(Region&, uint32_t o, uint32_t user, uint32_t path);

  // These are in expressions_indexed.cpp.
  ValueId argument(Region&, uint64_t key, const ScalarArgument&);
  ValueId extent(Region&, uint32_t v, int dim, int64_t more);
  bool is_single(uint32_t v) const;
  ValueId gather(Region&, uint32_t v, uint32_t path, ValueId index);

  // These are in expressions_rolled.cpp.
  // True if operand i of `v`, a value of a rolled loop's first iteration, is the same in each iteration.
  bool is_fixed(const TraceLoop& r, uint32_t v, int i) const {
    return at(v).operand[i] == at(v + r.period).operand[i];
  }
  bool is_computed(uint32_t v) const {
    return draft_.fusion.needed[v] && kind_of(at(v).op) == OpKind::pointwise;
  }
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
  void rolled_loop(Region&, const TraceLoop&, uint32_t path);

  LowerDraft& draft_;
  Building& b_;
  bool checked_before_ = false;
};

}  // namespace lazy::jit
