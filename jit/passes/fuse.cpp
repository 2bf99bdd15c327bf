// Fusion: which values get memory, and which kernels make them.
//
// Pointwise ops and views are inlined into whoever reads them, unless the value must exist (an output, the
// result of a reduction, scan or product) or computing it again would cost more than a pass over memory.
// Values that exist are put, in order, into the latest kernel over the same iteration space that already has
// what they need, else into a new one. Everything here is linear in the number of values, and decided by the
// key alone (never by extents), so that one program serves every shape.
#include "jit/passes/fuser.hpp"

namespace lazy::jit {

Fusion Fuser::run() {
  pack_reshaped_operands();
  const size_t n = t_.values.size();
  f_.materialised.assign(n, 0);
  find_needed();
  f_.rolled_loops = find_rolled_loops(t_, needed_);
  tie_dimensions();
  choose_materialised();
  assign_kernels();
  f_.tied = std::move(parent_);
  f_.needed = std::move(needed_);
  return std::move(f_);
}

void Fuser::find_needed() {
  needed_.assign(t_.values.size(), 0);
  for (size_t i = order_.size(); i-- > 0;) {
    const uint32_t v = order_[i];
    const uint32_t kept = t_.same_as[v];
    if (!at(v).output) continue;
    needed_[kept] = 1;
    if (kept != v && at(kept).op != Op::input) t_.values[kept].output = true;
  }
  for (size_t i = order_.size(); i-- > 0;) {
    const uint32_t v = order_[i];
    if (!needed_[v]) continue;
    for (int k = 0; k < at(v).arity; ++k) needed_[at(v).operand[k]] = 1;
  }
}

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

Fusion fuse(Trace& t, const FuseOptions& o) { return Fuser(t, o).run(); }

}  // namespace lazy::jit
