#include "jit/flush/publish.hpp"

#include <algorithm>
#include <utility>

#include "jit/calls/call.hpp"
#include "jit/graph/graph.hpp"
#include "jit/key/captured_graph.hpp"
#include "support/lock.hpp"

namespace lazy::jit {
namespace {

// Makes a node ready whose value is there. It has no operands any more, whose references the caller drops.
[[gnu::always_inline]] inline void become_ready(Node* n) noexcept {
  n->state.store(State::ready, std::memory_order_release);
  if (!alone()) n->state.notify_all();
}

void become_ready_and_drop_operands(Node* n) noexcept {
  const int arity = std::exchange(n->arity, 0);
  become_ready(n);
  for (int i = 0; i < arity; ++i) drop_reference(n->operand[i]);
}

// Makes nodes ready whose values are there, when all nodes of the flush go or become ready. None has operands
// any more, so what each value's readers held of it is dropped at once.
[[gnu::noinline]] void publish_all(CapturedGraph& f) noexcept {
  const size_t values = f.values.size();
  for (size_t v = 0; v < values; ++v) {
    if (!f.pending[v]) continue;
    Node* const n = f.values[v];
    n->arity = 0;
    if (n->buffer) become_ready(n);
  }
  drop_references(f.values, f.uses.data());
}

}  // namespace

bool has_passed(const Node& n) {
  return n.op == Op::part && !n.buffer && may_pass(*n.operand[0]) && n.operand[0]->buffer;
}

void publish(Graph& graph, CapturedGraph& f) noexcept {
  if (f.repended.empty()) {
    publish_all(f);
  } else {
    for (Node* n : f.taken)
      if (n->buffer) become_ready_and_drop_operands(n);
    graph.repend(f.repended, f.spare);
  }
  for (Node* n : f.held) drop_reference(n);
}

void undo(Graph& graph, CapturedGraph& f) noexcept {
  std::vector<Node*>& nodes = f.taken;
  auto stands = f.stands.begin();
  const auto last = std::remove_if(nodes.begin(), nodes.end(), [&](Node* n) {
    if (stands != f.stands.end() && *stands == n) return ++stands, true;
    n->lost |= has_passed(*n);
    n->buffer.reset();
    return false;
  });
  nodes.erase(last, nodes.end());
  for (Node* n : f.stands) add_reference(n);  // nodes that read it may be gone as soon as they are pending
  graph.restore(nodes, f.spare);
  for (Node* n : f.stands) become_ready_and_drop_operands(n);
  for (Node* n : f.stands) drop_reference(n);
  for (Node* n : f.held) drop_reference(n);
}

}  // namespace lazy::jit
