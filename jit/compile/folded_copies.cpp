#include "jit/compile/folded_copies.hpp"

#include <algorithm>

namespace lazy::jit {
namespace {

/// Counts what is done with a slot besides being made.
struct Use {
  uint32_t reads = 0, step = 0;  // the step that reads it last
  uint16_t operand = 0;
  bool held = false;  // it is a result, or its memory is taken over
};

std::vector<Use> uses_of(const Program& p) {
  std::vector<Use> uses(p.slots.size());
  const auto hold = [&](int slot) {
    if (slot >= 0) uses[static_cast<size_t>(slot)].held = true;
  };
  for (uint32_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    hold(s.initial_from.slot);
    for (size_t o = 0; o < s.operands.size(); ++o) {
      const Binding& b = s.operands[o];
      if (b.output || b.slot < 0) continue;
      Use& u = uses[static_cast<size_t>(b.slot)];
      u = {u.reads + 1, i, static_cast<uint16_t>(o), u.held};
    }
  }
  for (const Result& r : p.results) hold(r.slot);
  for (const Slot& s : p.slots) hold(s.donor_slot);
  return uses;
}

/// True if the step does nothing but copy, into memory of its own.
bool only_copies(const Program& p, const Step& s) {
  if (s.call.spec || s.operands.size() != 2 || !s.scalars.empty() || s.initial != Initial::none ||
      s.sequential >= 0 || s.ops > 0 || s.made.size() != 1 || s.may_throw)
    return false;
  const Binding &in = s.operands[s.operands[0].output], &out = s.operands[!s.operands[0].output];
  const Slot& slot = p.slots[s.made[0]];
  return out.output && !in.output && !out.region && in.dtype == out.dtype && !slot.kept &&
         slot.donor_slot < 0 && slot.donor_input == kNone;
}

/// Returns the number of the tile group that the step is in, from 1 on; 0: it is in none.
std::vector<uint32_t> groups_of(const Program& p) {
  std::vector<uint32_t> group(p.steps.size(), 0);
  uint32_t n = 0;
  for (const TileGroup& t : p.tile_groups) std::fill_n(group.begin() + t.first, t.count, ++n);
  return group;
}

/// True if the reader may write where the copy reads.
bool overwrites(const Program& p, const Step& reader, const Step& copy) {
  const Binding& in = copy.operands[copy.operands[0].output];
  for (const uint32_t made : reader.made) {
    const Slot& s = p.slots[made];
    const auto& others = s.other_inputs;
    if (in.slot >= 0
            ? s.donor_slot == in.slot
            : s.donor_input == in.node || std::find(others.begin(), others.end(), in.node) != others.end())
      return true;
  }
  return false;
}

}  // namespace

void find_folded_copies(Program& p) {
  const std::vector<Use> uses = uses_of(p);
  const std::vector<uint32_t> group = groups_of(p);
  for (uint32_t i = 0; i < p.steps.size(); ++i) {
    Step& copy = p.steps[i];
    if (!only_copies(p, copy)) continue;
    const Use& u = uses[copy.made[0]];
    if (u.held || u.reads != 1 || u.step <= i || group[u.step] != group[i]) continue;
    Step& reader = p.steps[u.step];
    if (reader.call.spec || reader.sequential < 0 || overwrites(p, reader, copy)) continue;
    // What the copy reads stays as it is only as long as nothing else is made.
    bool next = true;
    for (uint32_t k = i + 1; k < u.step; ++k)
      next = next && only_copies(p, p.steps[k]) && uses[p.steps[k].made[0]].step == u.step;
    if (!next) continue;
    copy.folded_into = u.step;
    reader.folds.push_back({u.operand, i});
    reader.dead.insert(reader.dead.end(), copy.dead.begin(), copy.dead.end());
    copy.dead.clear();
  }
}

}  // namespace lazy::jit
