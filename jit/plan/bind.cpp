// From a captured graph's concrete nodes to what a step's kernel needs to know of an operand.
#include "jit/plan/bind.hpp"

namespace lazy::jit {

int64_t extent_of(const KernelDim& d, const CapturedGraph& f) {
  return d.node == kNone ? 1 : f.values[d.node]->shape[d.dim];
}

static Layout along(const Program& p, uint32_t path, Layout l, const CapturedGraph& f) {
  return follow(p, path, std::move(l), f, view_layout);
}

Layout source_layout(const Binding& b, const CapturedGraph& f) {
  const Node& n = *f.values[b.node];
  return b.slot < 0 ? layout_of(n) : Layout::contiguous(n.shape);
}

Layout result_layout(const Program& p, const Result& r, const CapturedGraph& f) {
  if (r.input != kNone) return along(p, r.path, layout_of(*f.values[r.input]), f);
  return along(p, r.path, Layout::contiguous(f.values[p.slots[static_cast<size_t>(r.slot)].node]->shape), f);
}

void operand_layout(const Program& p, const Step& s, const Binding& b, const CapturedGraph& f,
                    OperandLayout& out) {
  const auto dims = static_cast<int>(s.dims.size());
  if (b.region) {
    const Node& n = *f.values[b.node];
    const Dims strides = contiguous_strides(n.shape);
    out.offset = 0;
    for (int i = 0; i < n.shape.size(); ++i) out.offset += n.ints[i] * strides[i];
    for (int d = 0; d < dims; ++d) {
      const KernelDim& k = s.dims[static_cast<size_t>(d)];
      out.stride[d] = k.node == kNone ? 0 : n.steps[k.dim] * strides[k.dim];
    }
    return;
  }
  const Layout l = along(p, b.path, source_layout(b, f), f);
  int64_t present[kMaxRank];
  int count = 0;
  for (int i = 0; i < l.shape.size(); ++i)
    if (l.shape[i] != 1) present[count++] = l.strides[i];
  for (int d = 0; d < dims; ++d) out.stride[d] = b.dim_of[d] < 0 ? 0 : present[b.dim_of[d]];
  out.offset = l.offset;
}

}  // namespace lazy::jit
