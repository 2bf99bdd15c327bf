// Decides which steps may overwrite inputs although a later one may throw.
//
// A step that finds an index out of range throws, and then every input must be as it was. But indices are
// mostly known long before they are used: then a run can look at them before it overwrites the first input,
// by steps that do nothing else. They are the program's last ones and run only if there is something to gain
// (Run::look_ahead).
#include <algorithm>

#include "jit/lower/lower_draft.hpp"

namespace lazy::jit {

namespace {

constexpr size_t kNever = SIZE_MAX;

/// Returns the number of the step from which on all that `root`, an index that group g computes, is computed
/// from is in memory; kNever if g itself makes some of that.
size_t made_before(const LowerDraft& draft, uint32_t root, int g, const std::vector<size_t>& made_by) {
  size_t from = 0;
  std::vector<uint32_t> stack{root};
  std::vector<uint8_t> seen(draft.trace.values.size(), 0);
  while (!stack.empty()) {
    const uint32_t v = stack.back();
    stack.pop_back();
    if (std::exchange(seen[v], 1)) continue;
    const Value& x = draft.at(v);
    const OpKind k = kind_of(x.op);
    if (x.op == Op::input) continue;
    if (draft.fusion.materialised[v]) {
      if (draft.slot[v] < 0 || draft.fusion.kernel_of[v] == g) return kNever;
      from = std::max(from, made_by[static_cast<size_t>(draft.slot[v])] + 1);
      continue;
    }
    if (k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract || rolled_loop_of(draft.fusion, v))
      return kNever;
    for (int i = 0; i < x.arity; ++i) stack.push_back(x.operand[i]);
  }
  return from;
}

/// Returns the number of the step from which on it can be known that `step` will not throw; kNever if only
/// running it tells.
size_t known_before(const LowerDraft& draft, size_t step, const std::vector<size_t>& made_by) {
  if (draft.program.steps[step].call.spec) return kNever;
  size_t from = 0;
  const int g = draft.group_of_step[step];
  for (const uint32_t v : draft.checked[static_cast<size_t>(g)])
    from = std::max(from, made_before(draft, draft.at(v).operand[1], g, made_by));
  return from;
}

/// Makes the steps that look at all indices of `step`.
void look_ahead(LowerDraft& draft, size_t step) {
  const int g = draft.group_of_step[step];
  const std::vector<uint32_t> all = draft.checked[static_cast<size_t>(g)];
  for (const uint32_t v : all) {
    lower_index_check(draft, v, g, draft.fusion.groups[static_cast<size_t>(g)]);
    draft.program.steps.back().ahead_of = static_cast<uint32_t>(step);
    draft.program.steps.back().may_throw = false;
  }
}

}  // namespace

void keep_inputs_until_nothing_throws(LowerDraft& draft) {
  const size_t count = draft.program.steps.size();
  std::vector<size_t> made_by(draft.program.slots.size(), kNever - 1);
  for (size_t s = 0; s < count; ++s)
    for (const uint32_t slot : draft.program.steps[s].made) made_by[slot] = s;
  size_t known = 0, first = count;  // the first step that may overwrite an input
  bool throws = false;              // a step from here on
  for (size_t s = count; s-- > 0;) {
    if (draft.program.steps[s].may_throw)
      throws = true, known = std::max(known, known_before(draft, s, made_by));
    for (const uint32_t made : draft.program.steps[s].made) {
      Slot& slot = draft.program.slots[made];
      if (slot.donor_input == kNone || !throws) continue;
      // Only what stays takes over what stayed, and not in the step that gathers: checks for every sum with
      // something gathered would not pay.
      if (known <= s && slot.kept && !draft.program.steps[s].may_throw) first = s;
      else slot.donor_input = kNone, slot.other_inputs.clear();
    }
  }
  std::vector<uint8_t> looked(draft.fusion.groups.size(), 0);
  for (size_t s = count; s-- > first;)
    if (draft.program.steps[s].may_throw &&
        !std::exchange(looked[static_cast<size_t>(draft.group_of_step[s])], 1))
      look_ahead(draft, s);
}

}  // namespace lazy::jit
