// Works out layouts from a captured graph's concrete nodes.
#pragma once
#include "jit/graph/layout.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns the layout of the memory that a binding starts from: that of an input, or of a packed buffer.
Layout source_layout(const Binding&, const CapturedGraph&);
/// Returns the layout `l` followed along a path. view(node, in, out) says what a view makes of a layout.
template <class View>
Layout follow(const Program& p, uint32_t path, Layout l, const CapturedGraph& f, View&& view) {
  for (; path; path = p.paths[path].parent) {
    const Node& n = *f.values[p.paths[path].node];
    Layout next;
    if (p.paths[path].align) next = broadcast_layout(l, n.shape);
    else view(n, l, next);
    l = next;
  }
  return l;
}
/// Return what a call's operands and outputs are in this captured graph.
std::vector<Meta> operand_metas(const CallStep&, const CapturedGraph&);
std::vector<Meta> output_metas(const Step&, std::span<const Meta> operands, const CapturedGraph&);
/// Returns how a result's elements lie in the buffer that it gets.
Layout result_layout(const Program&, const Result&, const CapturedGraph&);

}  // namespace lazy::jit
