// Finds how values that have no memory would be used: in which kernels, in which way.
#include "jit/passes/fuse_materialise.hpp"

namespace lazy::jit {
namespace {

/// Returns where the operands of `v` that have no memory are computed. `use`: what is known of its readers.
Home home_of_operands(const FusionDraft& d, const std::vector<KernelAssignment::Placed>& placed, uint32_t v,
                      const ValueUse& use) {
  const OpKind k = d.kind(v);
  const bool exists = d.materialised(v) || (d.at(v).output && k == OpKind::view);
  if (exists && (is_computed(k) || k == OpKind::reduce || is_source(d.at(v).op)))
    return Home::kernel(placed[v].kernel);
  if (exists || k == OpKind::call || d.is_moving_view(v)) return Home::index_maps_of(v);
  return use.home;
}

}  // namespace

// Visits values from the last to the first, with the kernels that there would be if nothing more got memory.
std::vector<ValueUse> find_uses(const FusionDraft& d, const std::vector<KernelAssignment::Placed>& placed) {
  std::vector<ValueUse> uses(d.facts.size());
  for (size_t i = d.order.size(); i-- > 0;) {
    const uint32_t v = d.order[i];
    if (!d.facts[v].needed) continue;
    const OpKind k = d.kind(v);
    const Home mine = home_of_operands(d, placed, v, uses[v]);
    for (int j = 0; j < d.at(v).arity; ++j) {
      const uint32_t o = d.at(v).operand[j];
      ValueUse& u = uses[o];
      if (k == OpKind::reduce && is_last_axis(d.trace, o, axis_of(d.trace.node(v)))) {
        u.in_row = u.reads_itself = true;
      } else if (!d.reads_in_place(v, j)) {
        u.moved = u.reads_itself = true;
      } else if (!d.materialised(v)) {
        u.in_row |= uses[v].in_row;
        u.moved |= uses[v].moved;
      }
      const Home home = k == OpKind::pointwise && !same_index(d.trace, o, v) ? mine.broadcast() : mine;
      if (u.home.is_unset()) u.home = home;
      else if (u.home != home) u.home = Home::many();
      u.last_chunk = std::max(u.last_chunk, d.facts[v].chunk);
    }
  }
  return uses;
}

void materialise_results_of_loops(FusionDraft& d, const KernelAssignment& kernels,
                                  const std::vector<ValueUse>& uses) {
  if (d.rolled_loops.empty()) return;
  std::vector<uint8_t> result(d.facts.size(), 0);  // by value: it is of a rolled loop and read outside of it
  for (uint32_t v : d.order)
    for (int i = 0; d.facts[v].needed && i < d.at(v).arity; ++i) {
      const uint32_t o = d.at(v).operand[i];
      const TraceLoop* r = d.loop_of(o);
      if (r && r != d.loop_of(v)) result[o] = 1;
    }
  const auto is_map = [&](int kernel) {
    return kernel >= 0 && kernels.groups[static_cast<size_t>(kernel)].kind == Group::Kind::map;
  };
  for (const TraceLoop& r : d.rolled_loops) {
    int where = -1;
    bool alone = true;
    for (uint32_t v = r.last(); v < r.end(); ++v) {
      if (!d.materialised(v) && !result[v]) continue;
      const int mine = d.materialised(v) ? kernels.values[v].kernel : uses[v].home.whole_kernel();
      alone &= is_map(mine) && (where < 0 || where == mine);
      where = mine;
    }
    for (uint32_t v = r.last(); v < r.end() && !alone; ++v)
      if (result[v] && d.kind(v) == OpKind::pointwise) d.facts[v].materialised = true;
  }
}

}  // namespace lazy::jit
