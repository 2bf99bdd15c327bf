#include "jit/flush/halves.hpp"

#include <utility>

#include "jit/graph/record.hpp"
#include "jit/plan/peak.hpp"
#include "support/config.hpp"

namespace lazy::jit {
namespace {

// A program of fewer kernels runs as it is: only longer ones have enough values that die in the middle.
constexpr size_t kFewKernels = 32;

bool is_too_much(const Program& p, const CapturedGraph& f) {
  return p.steps.size() > kFewKernels && peak_bytes(p, f) > static_cast<uint64_t>(config::get().max_bytes);
}

/// Returns where the nodes are cut in two: a call and its outputs stay together.
size_t middle_of(const std::vector<Node*>& nodes) {
  size_t middle = nodes.size() / 2;
  while (middle < nodes.size() && nodes[middle]->op == Op::part) ++middle;
  return middle;
}

}  // namespace

bool is_cut_in_two(const std::vector<Node*>& nodes, const Program& p, const CapturedGraph& f) {
  return is_too_much(p, f) && middle_of(nodes) < nodes.size();
}

std::vector<Handle> read_by_second_half(const std::vector<Node*>& nodes) {
  const size_t middle = middle_of(nodes);
  std::vector<Handle> read;
  for (size_t i = 0; i < middle; ++i) nodes[i]->index = 0;
  for (size_t i = middle; i < nodes.size(); ++i) nodes[i]->index = 1;
  for (size_t i = middle; i < nodes.size(); ++i) {
    const Node& n = *nodes[i];
    for (int k = 0; k < n.arity; ++k) {
      Node* o = n.operand[k];
      if (n.operand.is_input(k) || std::exchange(o->index, 1) != 0) continue;
      o->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
      read.push_back(Handle::adopt(o));
    }
  }
  return read;
}

void flush_first_half(Graph& graph, const std::vector<Node*>& nodes, CapturedGraph& f,
                      const std::vector<Handle>& read, const Site& site) {
  graph.restore_in_two(nodes, middle_of(nodes), f.spare);
  for (Node* n : f.held) drop_reference(n);
  std::vector<const Handle*> handles;
  for (const Handle& h : read) handles.push_back(&h);
  evaluate(handles, Cause::byte_limit, site);
}

}  // namespace lazy::jit
