// Plans memory: when buffers die, and which outputs take over the memory of an input.
#include "jit/lower/lower_draft.hpp"

namespace lazy::jit {

bool dies_in(const LowerDraft& draft, const Binding& b, int g) {
  if (b.slot >= 0)
    return draft.last_read[draft.slot_value[static_cast<size_t>(b.slot)]] == g &&
           !draft.program.slots[static_cast<size_t>(b.slot)].kept;
  return draft.last_read[b.node] == g;
}

namespace {

// True if the operand is read only at the index at which the output is written, and dies here. An epilogue's
// output is written after the sums of its index are complete, so an operand of the epilogue alone will do: a
// weight whose update is computed with its gradient, a product, is updated in place.
bool can_give(const LowerDraft& draft, const Step& step, const LoopKernel& k, int g, size_t i, size_t o) {
  const Binding &in = step.operands[i], &out = step.operands[o];
  if (in.output || in.path != 0 || size_of(in.dtype) != size_of(out.dtype) || !dies_in(draft, in, g))
    return false;
  bool fits = in.packed && std::equal(std::begin(in.dim_of), std::end(in.dim_of), std::begin(out.dim_of));
  for (int a = 0; a < k.rank; ++a) fits &= k.operands[i].stride[a] == k.operands[o].stride[a];
  for (size_t j = 0; j < step.operands.size(); ++j) fits &= j == i || !same_source(step.operands[j], in);
  // A body may still run at this index in another part of the launch when an epilogue stores there.
  for (size_t v = 0; k.has_epilogue() && v < k.epilogue; ++v) {
    const bool loads = k.body[v].code == Code::load || k.body[v].code == Code::load_at;
    fits &= !loads || k.body[v].imm != i || k.operands[o].stride[k.sequential] != Stride::zero;
  }
  // A backend may load an element as late as the store of it; another output must not have replaced it.
  for (const loop::Store& st : k.stores)
    fits &= k.body[st.value].code != Code::load || k.body[st.value].imm != i || k.stores.size() == 1;
  return fits;
}

// Lets operands that can give their memory to outputs. An input may have a handle when the program runs, as a
// gradient has: then the output takes another that can.
void plan_donation(LowerDraft& draft, Step& step, const LoopKernel& k, int g, std::vector<uint8_t>& taken) {
  for (size_t o = 0; o < step.operands.size(); ++o) {
    const Binding& out = step.operands[o];
    if (!out.output) continue;
    std::vector<uint32_t> inputs;
    int from = -1;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (!can_give(draft, step, k, g, i, o)) continue;
      if (from < 0 && !taken[i]) from = static_cast<int>(i);
      else if (step.operands[i].slot < 0) inputs.push_back(step.operands[i].node);
    }
    if (from < 0) continue;
    taken[static_cast<size_t>(from)] = 1;
    Slot& slot = draft.program.slots[static_cast<size_t>(out.slot)];
    const Binding& in = step.operands[static_cast<size_t>(from)];
    if (in.slot >= 0) {
      slot.donor_slot = in.slot;
    } else {
      slot.donor_input = in.node;
      slot.other_inputs = std::move(inputs);
    }
  }
}

void plan_initial(LowerDraft& draft, Step& step, int g) {
  const Binding& in = step.initial_from;
  bool alone = dies_in(draft, in, g);
  for (const Binding& b : step.operands) alone &= b.output || !same_source(b, in);
  if (!alone) return;
  Slot& slot = draft.program.slots[step.made[0]];
  if (in.slot >= 0) slot.donor_slot = in.slot;
  else slot.donor_input = in.node;
}

}  // namespace

void plan_memory(LowerDraft& draft) {
  std::vector<std::vector<uint32_t>> dead(draft.fusion.groups.size());
  for (size_t v = 0; v < draft.trace.values.size(); ++v)
    if (draft.slot[v] >= 0 && draft.last_read[v] >= 0 &&
        !draft.program.slots[static_cast<size_t>(draft.slot[v])].kept)
      dead[static_cast<size_t>(draft.last_read[v])].push_back(static_cast<uint32_t>(draft.slot[v]));
  for (size_t s = 0; s < draft.program.steps.size(); ++s) {
    Step& step = draft.program.steps[s];
    const int g = draft.group_of_step[s];
    std::vector<uint8_t> taken(step.operands.size(), 0);
    for (const Binding& b : step.operands)
      if (b.output) step.made.push_back(static_cast<uint32_t>(b.slot));
    if (s + 1 == draft.program.steps.size() || draft.group_of_step[s + 1] != g)
      step.dead = dead[static_cast<size_t>(g)];
    if (step.call.spec) {
      const auto work = static_cast<uint32_t>(step.call.workspace);
      step.made.push_back(work);
      step.dead.push_back(work);
      plan_in_place(draft, step, g);
    } else if (step.initial == Initial::copy) plan_initial(draft, step, g);
    else if (step.initial == Initial::none && draft.kernels[s].form != loop::Form::scan)
      plan_donation(draft, step, draft.kernels[s], g, taken);
  }
  keep_inputs_until_nothing_throws(draft);
}

}  // namespace lazy::jit
