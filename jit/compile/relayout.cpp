#include "jit/compile/relayout.hpp"

namespace lazy::jit {
namespace {

/// True if the step reads one input and stores it, perhaps in another dtype.
bool only_moves(const Step& s) {
  if (s.operands.size() != 2 || !s.scalars.empty() || s.initial != Initial::none || s.sequential >= 0)
    return false;
  const Binding &in = s.operands[s.operands[0].output], &out = s.operands[!s.operands[0].output];
  return out.output && !in.output && in.slot < 0 && s.ops <= (in.dtype != out.dtype);
}

}  // namespace

void find_relayouts(Program& p) {
  std::vector<uint8_t> donors(p.slots.size(), 0);
  for (const Slot& s : p.slots)
    if (s.donor_slot >= 0) donors[static_cast<size_t>(s.donor_slot)] = 1;
  for (Step& s : p.steps) {
    if (!only_moves(s) || s.made.size() != 1) continue;
    Slot& slot = p.slots[s.made[0]];
    if (slot.kept || donors[s.made[0]] || slot.donor_slot >= 0 || slot.donor_input != kNone) continue;
    s.relayout = slot.shared = true;
  }
}

}  // namespace lazy::jit
