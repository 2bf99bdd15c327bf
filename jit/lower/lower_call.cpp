// Makes steps that run calls: where their operands' memory is, and what of it they may take over.
#include "jit/calls/call.hpp"
#include "jit/lower/lower_draft.hpp"
#include "jit/plan/names.hpp"

namespace lazy::jit {

void lower_call(LowerDraft& draft, int g, const Group& group) {
  const uint32_t v = group.space;
  const CallSpec& spec = *draft.node(v).call;
  Step s;
  s.call.spec = &spec;
  s.may_throw = !spec.definition().has(call_trait::kNoThrow);
  for (int i = 0; i < draft.at(v).arity; ++i) {
    const uint32_t o = draft.at(v).operand[i],
                   from = packed_source(draft.trace, draft.fusion.materialised, o);
    draft.reads(from, g);
    if (i >= draft.at(v).arity - spec.tokens()) {  // only comes before
      if (draft.at(from).op != Op::input && !is_source(draft.at(from).op)) (void)draft.slot_of(from);
      continue;
    }
    Binding b;
    b.node = draft.at(from).node;
    b.dtype = draft.at(from).dtype;
    if (draft.at(from).op == Op::input) draft.guard_input(from);
    else b.slot = draft.slot_of(from);
    s.operands.push_back(b);
    s.call.shapes.push_back(draft.at(o).node);
  }
  std::vector<Meta> operands;
  for (const uint32_t o : s.call.shapes)
    operands.push_back({draft.trace.captured->values[o]->dtype, draft.trace.captured->values[o]->shape});
  s.call.outputs.assign(infer_outputs(spec, operands).size(), -1);
  const auto add_output = [&](uint32_t of) {
    Binding b;
    b.node = draft.at(of).node;
    b.dtype = draft.at(of).dtype;
    b.output = true;
    b.slot = draft.slot_of(of);
    s.operands.push_back(b);
    draft.reads(of, g);
  };
  for (const uint32_t root : group.roots) {
    if (!draft.is_stored(root) || root == v) continue;
    const auto output = output_of(draft.node(root));
    s.call.outputs[output] = static_cast<int>(s.operands.size());
    add_output(root);
  }
  if (draft.is_stored(v)) add_output(v);  // the token
  Slot work;
  work.node = draft.at(v).node;
  work.dtype = draft.at(v).dtype;
  work.workspace_of = static_cast<uint32_t>(draft.program.steps.size());  // renumbered by number_guards()
  s.call.workspace = static_cast<int>(draft.program.slots.size());
  draft.program.slots.push_back(work);
  draft.slot_value.push_back(kNone);
  s.label = std::string("call_") + spec.name();
  s.named_by = draft.at(v).node;
  s.group = g;
  draft.group_of_step.push_back(g);
  draft.program.steps.push_back(std::move(s));
  LoopKernel none;
  none.name = step_name(draft.program.steps.back(), draft.trace.captured);
  draft.kernels.push_back(std::move(none));
}

// Lets an operand that nobody reads later, and that is no other operand as well, give its memory to an
// output.
void plan_in_place(LowerDraft& draft, const Step& step, int g) {
  const auto in_place = step.call.spec->definition().in_place;
  for (size_t i = 0; in_place && i < step.call.outputs.size(); ++i) {
    const int to = step.call.outputs[i], from = in_place(*step.call.spec, static_cast<int>(i));
    if (to < 0 || from < 0 || from >= static_cast<int>(step.call.shapes.size())) continue;
    const Binding &in = step.operands[static_cast<size_t>(from)],
                  &out = step.operands[static_cast<size_t>(to)];
    bool alone = dies_in(draft, in, g) && size_of(in.dtype) == size_of(out.dtype);
    for (int k = 0; k < static_cast<int>(step.call.shapes.size()); ++k)
      alone &= k == from || !same_source(step.operands[static_cast<size_t>(k)], in);
    for (const uint32_t made : step.made) {
      const Slot& other = draft.program.slots[made];
      alone &= in.slot >= 0 ? other.donor_slot != in.slot : other.donor_input != in.node;
    }
    if (!alone) continue;
    Slot& slot = draft.program.slots[static_cast<size_t>(out.slot)];
    if (in.slot >= 0) slot.donor_slot = in.slot;
    else slot.donor_input = in.node;
  }
}

}  // namespace lazy::jit
