// Fuses: decides which values get memory, and which kernels make them.
//
// Pointwise ops and views are inlined into whoever reads them, unless the value must exist (an output, the
// result of a reduction, scan or product) or computing it again would cost more than a pass over memory.
// Values that exist are put, in order, into the latest kernel over the same iteration space that already has
// what they need, else into a new one. Everything here is linear in the number of values, and decided by the
// key alone (never by extents), so that one program serves every shape.
#include "jit/passes/fusion_draft.hpp"

namespace lazy::jit {
namespace {

// Makes what replaces an output an output; then marks all that outputs depend on as needed.
void find_needed(FusionDraft& d) {
  for (size_t i = d.order.size(); i-- > 0;) {
    const uint32_t v = d.order[i];
    const uint32_t kept = d.trace.same_as[v];
    if (!d.at(v).output) continue;
    d.facts[kept].needed = true;
    if (kept != v && d.at(kept).op != Op::input) d.trace.values[kept].output = true;
  }
  for (size_t i = d.order.size(); i-- > 0;) {
    const uint32_t v = d.order[i];
    if (!d.facts[v].needed) continue;
    for (int k = 0; k < d.at(v).arity; ++k) d.facts[d.at(v).operand[k]].needed = true;
  }
}

Fusion finish(FusionDraft& d, KernelAssignment&& kernels, DimensionClasses&& classes) {
  Fusion f;
  const size_t n = d.facts.size();
  f.materialised.resize(n);
  f.needed.resize(n);
  f.kernel_of.resize(n);
  for (size_t v = 0; v < n; ++v) {
    f.materialised[v] = d.facts[v].materialised;
    f.needed[v] = d.facts[v].needed;
    f.kernel_of[v] = kernels.values[v].kernel;
  }
  f.groups = std::move(kernels.groups);
  f.tied = std::move(classes).take();
  f.rolled_loops = std::move(d.rolled_loops);
  return f;
}

}  // namespace

bool same_index(const Trace& t, uint32_t v, uint32_t user) {
  // Broadcasting only ever adds extents, so equal counts mean the same extents.
  return t.values[v].extents == t.values[user].extents;
}

bool is_identity_view(const Trace& t, uint32_t w) {
  const Node& n = t.node(w);
  const uint32_t o = t.values[w].operand[0];
  switch (t.values[w].op) {
    case Op::reshape: return is_unit_reshape(n);
    case Op::broadcast: return same_index(t, o, w);
    case Op::slice:
      return std::all_of(n.axes.begin(), n.axes.end(), [](int64_t whole) { return whole != 0; });
    case Op::permute: {
      int64_t last = -1;  // extents other than 1 keep their order
      for (int i = 0; i < n.shape.size(); ++i) {
        if (n.shape[i] == 1) continue;
        if (n.axes[i] < last) return false;
        last = n.axes[i];
      }
      return true;
    }
    default: return false;
  }
}

bool is_last_axis(const Trace& t, uint32_t v, int64_t axis) {
  const Shape& s = t.shape(v);
  int last = s.size() - 1;
  while (last > 0 && s[last] == 1) --last;
  return axis == last;
}

Fusion fuse(Trace& t, const FuseOptions& o) {
  FusionDraft d{t, o, {}, {}, {}, {}};
  pack_operands(d);
  find_needed(d);
  d.rolled_loops = find_rolled_loops(d);
  DimensionClasses classes = tie_dimensions(d);
  choose_materialised(d, classes);
  return finish(d, assign_kernels(d, classes), std::move(classes));
}

}  // namespace lazy::jit
