// Decides which steps may overwrite inputs although a later one may throw.
//
// A step that finds an index out of range throws, and then every input must be as it was. But indices are
// mostly known long before they are used: then a run can look at them before it overwrites the first input,
// by steps that do nothing else. They are the program's last ones and run only if there is something to gain
// (Run::look_ahead).
#include <algorithm>

#include "jit/lower/lowering.hpp"

namespace lazy::jit {

namespace {
constexpr size_t kNever = SIZE_MAX;
}

/// Returns the number of the step from which on all that `root`, an index that group g computes, is computed
/// from is in memory; kNever if g itself makes some of that.
size_t Lowering::made_before(uint32_t root, int g, const std::vector<size_t>& made_by) const {
  size_t from = 0;
  std::vector<uint32_t> stack{root};
  std::vector<uint8_t> seen(t_.values.size(), 0);
  while (!stack.empty()) {
    const uint32_t v = stack.back();
    stack.pop_back();
    if (std::exchange(seen[v], 1)) continue;
    const Value& x = at(v);
    const OpKind k = kind_of(x.op);
    if (x.op == Op::input) continue;
    if (f_.materialised[v]) {
      if (slot_[v] < 0 || f_.kernel_of[v] == g) return kNever;
      from = std::max(from, made_by[static_cast<size_t>(slot_[v])] + 1);
      continue;
    }
    if (k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract || rolled_loop_of(f_, v))
      return kNever;
    for (int i = 0; i < x.arity; ++i) stack.push_back(x.operand[i]);
  }
  return from;
}

/// Returns the number of the step from which on it can be known that `step` will not throw; kNever if only
/// running it tells.
size_t Lowering::known_before(size_t step, const std::vector<size_t>& made_by) const {
  if (p_.steps[step].call.spec) return kNever;
  size_t from = 0;
  const int g = group_of_step_[step];
  for (const uint32_t v : checked_[static_cast<size_t>(g)])
    from = std::max(from, made_before(at(v).operand[1], g, made_by));
  return from;
}

/// Makes the steps that look at all indices of `step`.
void Lowering::look_ahead(size_t step) {
  const int g = group_of_step_[step];
  const std::vector<uint32_t> all = checked_[static_cast<size_t>(g)];
  for (const uint32_t v : all) {
    lower_index_check(v, g, f_.groups[static_cast<size_t>(g)]);
    p_.steps.back().ahead_of = static_cast<uint32_t>(step);
    p_.steps.back().may_throw = false;
  }
}

/// Makes sure that a run that throws leaves its nodes pending, with all inputs as they were.
void Lowering::keep_inputs_until_nothing_throws() {
  const size_t count = p_.steps.size();
  std::vector<size_t> made_by(p_.slots.size(), kNever - 1);
  for (size_t s = 0; s < count; ++s)
    for (const uint32_t slot : p_.steps[s].made) made_by[slot] = s;
  size_t known = 0, first = count;  // the first step that may overwrite an input
  bool throws = false;              // a step from here on
  for (size_t s = count; s-- > 0;) {
    if (p_.steps[s].may_throw) throws = true, known = std::max(known, known_before(s, made_by));
    for (const uint32_t made : p_.steps[s].made) {
      Slot& slot = p_.slots[made];
      if (slot.donor_input == kNone || !throws) continue;
      // Only what stays takes over what stayed, and not in the step that gathers: checks for every sum with
      // something gathered would not pay.
      if (known <= s && slot.kept && !p_.steps[s].may_throw) first = s;
      else slot.donor_input = kNone, slot.other_inputs.clear();
    }
  }
  std::vector<uint8_t> looked(f_.groups.size(), 0);
  for (size_t s = count; s-- > first;)
    if (p_.steps[s].may_throw && !std::exchange(looked[static_cast<size_t>(group_of_step_[s])], 1))
      look_ahead(s);
}

}  // namespace lazy::jit
