// Declares the passes of lowering and what they share. lower.cpp calls them in order.
#pragma once
#include "jit/graph/layout.hpp"
#include "jit/lower/building.hpp"
#include "jit/lower/lower.hpp"
#include "jit/plan/places.hpp"

namespace lazy::jit {

/// Holds a program that is being made. Until number_guards() its steps are in reverse order. In brackets:
/// what finds a field out.
struct LowerDraft {
  LowerDraft(const Trace&, const Fusion&, const LowerOptions&, Program&, std::vector<LoopKernel>&);

  const Trace& trace;
  const Fusion& fusion;
  const LowerOptions& options;
  Program& program;
  std::vector<LoopKernel>& kernels;  // by step

  std::vector<int> slot;             // by value: its slot, -1: none [slot_of]
  std::vector<uint32_t> slot_value;  // by slot: its value; kNone for work memory [slot_of, lower_call]
  std::vector<uint8_t> wanted;       // by value: a result or a later kernel reads it from memory [slot_of]
  std::vector<uint8_t> guarded;      // by value: there is a guard that it is contiguous [guard_input]
  std::vector<int> last_read;        // by value: the last group that reads it from memory, kForever: the user
  std::vector<int> group_of_step;    // by step [finish_kernel, lower_call]
  FlatMap<uint32_t> fault_of;        // by value: number of its fault [Expressions]
  // By group: the gathers and scatters whose indices it checks [Expressions].
  std::vector<std::vector<uint32_t>> checked;
  FlatMap<uint32_t> path_ids;         // by what extends a path and by what [extend]
  std::vector<size_t> layout_guards;  // guards whose steps are numbered in reverse [finish_kernel]

  static constexpr int kForever = 1 << 30;

  const Value& at(uint32_t v) const { return trace.values[v]; }
  const Node& node(uint32_t v) const { return trace.node(v); }
  const Shape& shape(uint32_t v) const { return trace.shape(v); }
  bool in_memory(uint32_t v) const { return at(v).op == Op::input || fusion.materialised[v]; }
  bool is_stored(uint32_t v) const { return wanted[v]; }
  /// Says that group g reads the value from memory.
  void reads(uint32_t v, int g) { last_read[v] = std::max(last_read[v], g); }
  /// Returns the value's slot, made if there is none yet: somebody reads it from memory.
  int slot_of(uint32_t v);
  /// Has the program rely on an input that is contiguous.
  void guard_input(uint32_t v);
  /// Returns the path that goes on from `path` by `v`, a view or what is broadcast to.
  uint32_t extend(uint32_t path, uint32_t v, bool align);
  Places places(uint32_t path, uint32_t v, int64_t only_dim = -1) const {
    return places_along(program, *trace.captured, path, shape(v), AtReshape::packed, only_dim);
  }
  /// True if a path goes through a reshape that only packed memory can be read by.
  bool reshapes(uint32_t path) const;
};

/// Says where each output of the captured graph is. Sets `kept` of slots.
void collect_results(LowerDraft&);

/// Makes the kernel of a group and its step.
void lower_map(LowerDraft&, Building&, const Group&);
void lower_reduce(LowerDraft&, Building&, const Group&);
void lower_scan(LowerDraft&, Building&, const Group&);
void lower_contract(LowerDraft&, Building&, const Group&);
void lower_update(LowerDraft&, Building&, const Group&);
void lower_scatter(LowerDraft&, Building&, const Group&);
/// Makes the step of a call.
void lower_call(LowerDraft&, int g, const Group&);

/// Adds a dimension for each extent of a value that is not 1, at least one.
void map_dims(LowerDraft&, Building&, uint32_t space);
/// Adds the operand that is the buffer of `v`, an update, in part.
uint16_t add_updated(LowerDraft&, Building&, const Region&, uint32_t v);
/// Lets what the step makes start as `base`.
void start_from(LowerDraft&, Building&, uint32_t base);
/// Makes the step that only looks at a scatter's indices, where one before it is to find what is out of
/// range.
void lower_check(LowerDraft&, const Group&, int g);
/// Makes a step that only looks at the indices of `v`, a gather or scatter of group g.
void lower_index_check(LowerDraft&, uint32_t v, int g, const Group&);

/// Completes kernel and step, and adds them: dimensions become axes, what is relied on becomes a guard.
void finish_kernel(LowerDraft&, Building&, const Group&);
/// Numbers the steps that guards and work memory name, once the steps are in order.
void number_guards(LowerDraft&);
/// Says when buffers die, and which outputs take over the memory of an operand.
void plan_memory(LowerDraft&);
/// True if nobody reads the operand after group g.
bool dies_in(const LowerDraft&, const Binding&, int g);
/// Lets operands of a call give their memory to its outputs.
void plan_in_place(LowerDraft&, const Step&, int g);
/// Makes sure that a run that throws leaves its nodes pending, with all inputs as they were.
void keep_inputs_until_nothing_throws(LowerDraft&);

}  // namespace lazy::jit
