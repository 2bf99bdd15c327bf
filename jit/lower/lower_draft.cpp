#include "jit/lower/lower_draft.hpp"

namespace lazy::jit {

LowerDraft::LowerDraft(const Trace& t, const Fusion& f, const LowerOptions& o, Program& p,
                       std::vector<LoopKernel>& k)
    : trace(t), fusion(f), options(o), program(p), kernels(k) {
  const size_t n = t.values.size();
  slot.assign(n, -1);
  wanted.assign(n, 0);
  last_read.assign(n, -1);
  checked.resize(f.groups.size());
  // Most programs have no more: growing from nothing takes longer.
  constexpr size_t kFew = 8;
  p.guards.reserve(kFew);
  p.paths.reserve(kFew);
  layout_guards.reserve(kFew);
  p.steps.reserve(f.groups.size());
  k.reserve(f.groups.size());
}

int LowerDraft::slot_of(uint32_t v) {
  if (slot[v] < 0) {
    slot[v] = static_cast<int>(program.slots.size());
    Slot s;
    s.node = at(v).node;
    s.dtype = at(v).dtype;
    program.slots.push_back(s);
    slot_value.push_back(v);
  }
  wanted[v] = 1;
  return slot[v];
}

void LowerDraft::guard_input(uint32_t v) {
  if (guarded.size() < trace.values.size()) guarded.resize(trace.values.size(), 0);
  if (guarded[v]++) return;
  program.guards.push_back({Guard::Kind::contiguous, at(v).node, 0, 0, 0, 1});
}

uint32_t LowerDraft::extend(uint32_t path, uint32_t v, bool align) {
  const uint64_t key = (static_cast<uint64_t>(path) << 32 | at(v).node) * 2 + align;
  const auto [id, fresh] = path_ids.try_emplace(key, static_cast<uint32_t>(program.paths.size()));
  if (fresh) program.paths.push_back({path, at(v).node, align});
  return id;
}

bool LowerDraft::reshapes(uint32_t path) const {
  for (uint32_t p = path; p; p = program.paths[p].parent) {
    const Node& n = *trace.captured->values[program.paths[p].node];
    if (!program.paths[p].align && n.op == Op::reshape && !is_unit_reshape(n)) return true;
  }
  return false;
}

}  // namespace lazy::jit
