// Works out, from a captured graph's concrete nodes, what a step's kernel needs to know of an operand.
#include "jit/plan/bind.hpp"

#include "jit/core/bytes.hpp"
#include "jit/graph/indexed.hpp"

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

size_t slot_bytes(const Program& p, uint32_t slot, const CapturedGraph& f) {
  const Slot& s = p.slots[slot];
  if (s.workspace_of == kNone) return bytes_of(f.values[s.node]->shape, s.dtype);
  const CallStep& c = p.steps[s.workspace_of].call;
  const std::vector<Meta> operands = operand_metas(c, f);
  return c.kernel->workspace(operands, output_metas(p.steps[s.workspace_of], operands, f));
}

std::vector<Meta> operand_metas(const CallStep& c, const CapturedGraph& f) {
  std::vector<Meta> all;
  all.reserve(c.shapes.size());
  for (const uint32_t v : c.shapes) all.push_back({f.values[v]->dtype, f.values[v]->shape});
  return all;
}

std::vector<Meta> output_metas(const Step& s, std::span<const Meta> operands, const CapturedGraph& f) {
  const CallStep& c = s.call;
  std::vector<Meta> all;
  for (const int o : c.outputs) {
    if (o < 0) break;
    const uint32_t v = s.operands[static_cast<size_t>(o)].node;
    all.push_back({f.values[v]->dtype, f.values[v]->shape});
  }
  if (all.size() == c.outputs.size()) return all;
  all.clear();
  for (const CallOutput& o : infer_outputs(*c.spec, operands)) all.push_back(o.meta);
  return all;
}

int64_t indexed_stride(const Program& p, const Binding& b, const CapturedGraph& f) {
  const Node& n = *f.values[b.node];
  if (b.region) return contiguous_strides(n.shape)[indexed_of(n).axis];
  int64_t stride = 0;
  (void)follow(p, b.path, source_layout(b, f), f, [&](const Node& view, const Layout& in, Layout& out) {
    if (view.op == Op::gather) stride = in.strides[indexed_of(view).axis];
    view_layout(view, in, out);
  });
  return stride;
}

void operand_layout(const Program& p, const Step& s, const Binding& b, const CapturedGraph& f,
                    OperandLayout& out) {
  const auto dims = static_cast<int>(s.dims.size());
  if (b.region) {
    const Node& n = *f.values[b.node];
    const Dims strides = contiguous_strides(n.shape);
    out.offset = 0;
    if (n.op == Op::scatter) {  // its region has the indices of the updates
      for (int d = 0; d < dims; ++d) {
        const KernelDim& k = s.dims[static_cast<size_t>(d)];
        const bool moves = k.node != kNone && k.dim != indexed_of(n).axis;
        out.stride[d] = moves ? strides[k.dim] : 0;
      }
      return;
    }
    for (int i = 0; i < n.shape.size(); ++i) out.offset += n.ints[i] * strides[i];
    for (int d = 0; d < dims; ++d) {
      const KernelDim& k = s.dims[static_cast<size_t>(d)];
      const bool moves = k.node != kNone && b.dim_of[d] != Binding::kAbsent;
      out.stride[d] = moves ? n.steps[k.dim] * strides[k.dim] : 0;
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
