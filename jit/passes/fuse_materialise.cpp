// Decides which values get memory: what must exist, and what costs more to compute again than a pass over
// memory.
#include "jit/passes/fuse_materialise.hpp"

namespace lazy::jit {
namespace {

// A kernel's body is cut after so many ops: compile time stays linear and code sane.
constexpr uint32_t kMaxBody = 3000;

/// True for a view (N, C, spatial...) of (N, spatial..., C): an image in channels-last memory.
bool is_image_of_last(const FusionDraft& d, uint32_t v) {
  if (d.at(v).op != Op::permute) return false;
  const Node& n = d.trace.node(v);
  const int rank = n.shape.size();
  bool is = rank >= 3 && n.axes[0] == 0 && n.axes[1] == rank - 1;
  for (int i = 2; is && i < rank; ++i) is = n.axes[i] == i - 1;
  return is;
}

/// Returns which value gets the memory of `v`, an output: of an image in channels-last memory the one that it
/// views, so that it lies as was recorded. Other views are computed where they are read: a gradient beside
/// its update.
uint32_t unpermuted(const FusionDraft& d, uint32_t v) {
  while (is_image_of_last(d, v) && !d.exists(v)) v = d.at(v).operand[0];
  return v;
}

void materialise_results(FusionDraft& d) {
  for (uint32_t v : d.order) {
    ValueFacts& f = d.facts[v];
    if (!f.needed) continue;
    const OpKind k = d.kind(v);
    const bool is_output = d.at(v).output && d.trace.same_as[v] == v;
    f.materialised = always_materialised(k) || f.packs_side ||
                     (is_output && (is_computed(k) || k == OpKind::call || is_source(d.at(v).op)));
    if (!is_output || f.materialised) continue;
    if (const uint32_t o = unpermuted(d, v); is_computed(d.kind(o))) d.facts[o].materialised = true;
  }
}

/// Returns true if code is made for v: of a rolled loop only the first iteration counts.
bool is_code(const FusionDraft& d, uint32_t v) {
  const TraceLoop* r = d.loop_of(v);
  return !r || v < r->first + r->period;
}

// Numbers ops in order, and cuts that order into chunks: a kernel is of one chunk.
void cut_long_kernels(FusionDraft& d) {
  uint32_t ops = 0;
  for (uint32_t v : d.order) {
    if (!d.facts[v].needed) continue;
    d.facts[v].chunk = ops / kMaxBody;
    ops += is_computed(d.kind(v)) && is_code(d, v);
  }
}

// Drops rolled loops of which a value inside is wanted in memory after all.
void drop_loops_with_inner_values_in_memory(FusionDraft& d) {
  std::erase_if(d.rolled_loops, [&](const TraceLoop& r) {
    return std::any_of(d.facts.begin() + r.first, d.facts.begin() + r.last(),
                       [](const ValueFacts& f) { return f.materialised; });
  });
}

/// Returns true for a view of something that exists: it shares that memory.
bool is_alias(const FusionDraft& d, uint32_t v) {
  const uint32_t o = d.at(v).operand[0];
  if (d.at(v).op == Op::reshape && !is_unit_reshape(d.trace.node(v)))
    return d.exists(o);  // packed: see pack_operands
  if (d.kind(o) == OpKind::view && !d.materialised(o)) return is_alias(d, o);
  return d.exists(o);
}

// Gives memory to outputs that are views, computed like pointwise values, unless they view something that
// exists: those share its memory.
void materialise_viewed_outputs(FusionDraft& d) {
  for (uint32_t v : d.order)
    if (d.facts[v].needed && d.at(v).output && d.trace.same_as[v] == v && d.kind(v) == OpKind::view)
      if (!is_alias(d, v)) d.facts[unpermuted(d, v)].materialised = true;
}

}  // namespace

void choose_materialised(FusionDraft& d, DimensionClasses& classes) {
  materialise_results(d);
  materialise_operands_that_must_exist(d);
  cut_long_kernels(d);
  const KernelAssignment kernels = assign_kernels(d, classes);
  const std::vector<ValueUse> uses = find_uses(d, kernels.values);
  materialise_results_of_loops(d, kernels, uses);
  materialise_the_dear(d, kernels, uses);
  drop_loops_with_inner_values_in_memory(d);
  materialise_viewed_outputs(d);
}

}  // namespace lazy::jit
