// Makes steps that run calls: where their operands' memory is, and what of it they may take over.
#include "jit/calls/call.hpp"
#include "jit/lower/lowering.hpp"
#include "jit/plan/names.hpp"

namespace lazy::jit {

void Lowering::lower_call(int g, const Group& group) {
  const uint32_t v = group.space;
  const CallSpec& spec = *t_.node(v).call;
  Step s;
  s.call.spec = &spec;
  s.may_throw = !spec.definition().has(call_trait::kNoThrow);
  for (int i = 0; i < at(v).arity; ++i) {
    const uint32_t o = at(v).operand[i], from = packed_source(t_, f_.materialised, o);
    last_read_[from] = std::max(last_read_[from], g);
    if (i >= at(v).arity - spec.tokens()) {  // only comes before
      if (at(from).op != Op::input && !is_source(at(from).op)) (void)slot_of(from);
      continue;
    }
    Binding b;
    b.node = at(from).node;
    b.dtype = at(from).dtype;
    if (at(from).op == Op::input) guard_input(from);
    else b.slot = slot_of(from);
    s.operands.push_back(b);
    s.call.shapes.push_back(at(o).node);
  }
  std::vector<Meta> operands;
  for (const uint32_t o : s.call.shapes)
    operands.push_back({t_.captured->values[o]->dtype, t_.captured->values[o]->shape});
  s.call.outputs.assign(infer_outputs(spec, operands).size(), -1);
  const auto add_output = [&](uint32_t of) {
    Binding b;
    b.node = at(of).node;
    b.dtype = at(of).dtype;
    b.output = true;
    b.slot = slot_of(of);
    s.operands.push_back(b);
    last_read_[of] = std::max(last_read_[of], g);
  };
  for (const uint32_t root : group.roots) {
    if (!is_stored(root) || root == v) continue;
    const auto output = static_cast<size_t>(t_.node(root).axes[0]);
    s.call.outputs[output] = static_cast<int>(s.operands.size());
    add_output(root);
  }
  if (is_stored(v)) add_output(v);  // the token
  Slot work;
  work.node = at(v).node;
  work.dtype = at(v).dtype;
  work.workspace_of = static_cast<uint32_t>(p_.steps.size());  // renumbered by number_guards()
  s.call.workspace = static_cast<int>(p_.slots.size());
  p_.slots.push_back(work);
  slot_value_.push_back(kNone);
  s.label = std::string("call_") + spec.name();
  s.named_by = at(v).node;
  s.group = g;
  group_of_step_.push_back(g);
  p_.steps.push_back(std::move(s));
  LoopKernel none;
  none.name = step_name(p_.steps.back(), t_.captured);
  out_.push_back(std::move(none));
}

// Lets an operand that nobody reads later, and that is no other operand as well, give its memory to an
// output.
void Lowering::plan_in_place(const Step& step, int g) {
  const auto in_place = step.call.spec->definition().in_place;
  for (size_t i = 0; in_place && i < step.call.outputs.size(); ++i) {
    const int to = step.call.outputs[i], from = in_place(*step.call.spec, static_cast<int>(i));
    if (to < 0 || from < 0 || from >= static_cast<int>(step.call.shapes.size())) continue;
    const Binding &in = step.operands[static_cast<size_t>(from)],
                  &out = step.operands[static_cast<size_t>(to)];
    bool alone = dies_in(in, g) && size_of(in.dtype) == size_of(out.dtype);
    for (int k = 0; k < static_cast<int>(step.call.shapes.size()); ++k)
      alone &= k == from || !same_source(step.operands[static_cast<size_t>(k)], in);
    for (const uint32_t made : step.made) {
      const Slot& other = p_.slots[made];
      alone &= in.slot >= 0 ? other.donor_slot != in.slot : other.donor_input != in.node;
    }
    if (!alone) continue;
    Slot& slot = p_.slots[static_cast<size_t>(out.slot)];
    if (in.slot >= 0) slot.donor_slot = in.slot;
    else slot.donor_input = in.node;
  }
}

}  // namespace lazy::jit
