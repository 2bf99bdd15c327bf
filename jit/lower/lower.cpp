// Lowers groups of fused values to kernels of the loop IR, the last one first: by then it is known which
// values later kernels read from memory.
#include "jit/lower/lower_draft.hpp"

namespace lazy::jit {
namespace {

void lower_group(LowerDraft& draft, int g) {
  const Group& group = draft.fusion.groups[static_cast<size_t>(g)];
  if (std::none_of(group.roots.begin(), group.roots.end(), [&](uint32_t v) { return draft.is_stored(v); }))
    return;  // dead
  if (group.kind == Group::Kind::call) return lower_call(draft, g, group);
  Building b(g);
  switch (group.kind) {
    case Group::Kind::map: lower_map(draft, b, group); break;
    case Group::Kind::reduce: lower_reduce(draft, b, group); break;
    case Group::Kind::scan: lower_scan(draft, b, group); break;
    case Group::Kind::contract: lower_contract(draft, b, group); break;
    case Group::Kind::update:
      if (draft.at(group.roots[0]).op == Op::scatter) lower_scatter(draft, b, group);
      else lower_update(draft, b, group);
      break;
    case Group::Kind::call: break;
  }
  finish_kernel(draft, b, group);
  if (group.kind == Group::Kind::update) lower_check(draft, group, g);
}

}  // namespace

void collect_results(LowerDraft& draft) {
  for (uint32_t v = 0; v < draft.trace.captured->values.size(); ++v) {
    if (!draft.trace.captured->is_output(v)) continue;
    Result r;
    r.node = v;
    uint32_t from = draft.trace.same_as[v];
    std::vector<uint32_t> views;
    while (!draft.in_memory(from)) {  // a view of something that exists: its memory is shared
      views.push_back(from);
      from = draft.at(from).operand[0];
    }
    uint32_t path = 0;
    for (uint32_t w : views) path = draft.extend(path, w, false);
    r.path = path;
    if (draft.at(from).op == Op::input) {
      r.input = from;
      if (draft.reshapes(path)) draft.guard_input(from);
      draft.last_read[from] = LowerDraft::kForever;
    } else {
      r.slot = draft.slot_of(from);
      draft.program.slots[static_cast<size_t>(r.slot)].kept = true;
    }
    draft.program.results.push_back(r);
  }
}

void lower(const Trace& t, const Fusion& f, const LowerOptions& o, Program& p,
           std::vector<LoopKernel>& kernels) {
  LowerDraft draft(t, f, o, p, kernels);
  collect_results(draft);
  for (int g = static_cast<int>(f.groups.size()) - 1; g >= 0; --g) lower_group(draft, g);
  std::reverse(p.steps.begin(), p.steps.end());
  std::reverse(kernels.begin(), kernels.end());
  number_guards(draft);
  plan_memory(draft);
}

}  // namespace lazy::jit
