// Lowers groups of fused values to kernels of the loop IR, the last one first: by then it is known which
// values later kernels read from memory.
#include "jit/lower/lowering.hpp"

namespace lazy::jit {

void Lowering::run() {
  const size_t n = t_.values.size();
  slot_.assign(n, -1);
  wanted_.assign(n, 0);
  last_read_.assign(n, -1);
  checked_.resize(f_.groups.size());
  // Most programs have no more: growing from nothing takes longer.
  constexpr size_t kFew = 8;
  p_.guards.reserve(kFew);
  p_.paths.reserve(kFew);
  layout_guards_.reserve(kFew);
  p_.steps.reserve(f_.groups.size());
  out_.reserve(f_.groups.size());
  collect_results();
  // From the last kernel to the first: by then it is known which values later kernels read from memory.
  for (int g = static_cast<int>(f_.groups.size()) - 1; g >= 0; --g) lower_group(g);
  std::reverse(p_.steps.begin(), p_.steps.end());
  std::reverse(out_.begin(), out_.end());
  number_guards();
  plan_memory();
}

int Lowering::slot_of(uint32_t v) {
  if (slot_[v] < 0) {
    slot_[v] = static_cast<int>(p_.slots.size());
    Slot s;
    s.node = at(v).node;
    s.dtype = at(v).dtype;
    p_.slots.push_back(s);
    slot_value_.push_back(v);
  }
  wanted_[v] = 1;
  return slot_[v];
}

void Lowering::collect_results() {
  for (uint32_t v = 0; v < t_.captured->values.size(); ++v) {
    if (!t_.captured->is_output(v)) continue;
    Result r;
    r.node = v;
    uint32_t from = t_.same_as[v];
    std::vector<uint32_t> views;
    while (!in_memory(from)) {  // a view of something that exists: its memory is shared
      views.push_back(from);
      from = at(from).operand[0];
    }
    uint32_t path = 0;
    for (uint32_t w : views) path = extend(path, w, false);
    r.path = path;
    if (at(from).op == Op::input) {
      r.input = from;
      if (reshapes(path)) guard_input(from);
      last_read_[from] = kForever;
    } else {
      r.slot = slot_of(from);
      p_.slots[static_cast<size_t>(r.slot)].kept = true;
    }
    p_.results.push_back(r);
  }
}

void Lowering::lower_group(int g) {
  const Group& group = f_.groups[static_cast<size_t>(g)];
  if (std::none_of(group.roots.begin(), group.roots.end(), [&](uint32_t v) { return is_stored(v); }))
    return;  // dead
  if (group.kind == Group::Kind::call) return lower_call(g, group);
  Building b;
  b.group = g;
  b.operands.reserve(4);
  b.epilogue.epilogue = true;
  switch (group.kind) {
    case Group::Kind::map: lower_map(b, group); break;
    case Group::Kind::reduce: lower_reduce(b, group); break;
    case Group::Kind::scan: lower_scan(b, group); break;
    case Group::Kind::contract: lower_contract(b, group); break;
    case Group::Kind::update:
      if (at(group.roots[0]).op == Op::scatter) lower_scatter(b, group);
      else lower_update(b, group);
      break;
    case Group::Kind::call: break;
  }
  finish(b, group);
  if (group.kind == Group::Kind::update) lower_check(group, g);
}

void lower(const Trace& t, const Fusion& f, const LowerOptions& o, Program& p,
           std::vector<LoopKernel>& kernels) {
  Lowering(t, f, o, p, kernels).run();
}

}  // namespace lazy::jit
