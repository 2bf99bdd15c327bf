// Shares functions between record.cpp and record_call.cpp.
#pragma once
#include <span>

#include "jit/graph/graph.hpp"
#include "jit/graph/record.hpp"

namespace lazy::jit {

/// Makes a pending node with one handle, in no graph. ShapeError if it has more elements than can be
/// addressed.
Node* make_node(Op, DType, const Shape&, const Site&);
/// Makes likewise one whose shape is known to be countable.
inline Node* make_node_like(Op op, DType type, const Shape& shape, const Site& site) {
  Node* n = new_node();
  n->counts.store(Node::kHandle, std::memory_order_relaxed);
  n->op = op;
  n->dtype = type;
  n->shape = shape;
  n->site = site;
  n->purpose = Purpose::current();
  return n;
}

[[noreturn]] void fail_on_two_devices(const char* op, const Node&, const Node&, const Site&);
Device device_of_sources(std::span<const Handle* const> operands, const Site&);
/// Returns the device of an op's result: that of its operands. Sources are everywhere; a result of sources
/// alone is where one was moved to, else on the default device. DeviceError if operands are on two.
[[gnu::always_inline]] inline Device device_of(const char* op, std::span<const Handle* const> operands,
                                               const Site& site) {
  const Node* first = nullptr;
  for (const Handle* o : operands) {
    const Node* n = o->get();
    if (is_source(n->op)) continue;
    if (!first) first = n;
    else if (n->device != first->device) fail_on_two_devices(op, *first, *n, site);
  }
  return first ? first->device : device_of_sources(operands, site);
}

/// Evaluates what is pending in another thread's graph.
[[gnu::always_inline]] inline void settle_elsewhere(const Graph& graph,
                                                    std::span<const Handle* const> operands,
                                                    const Site& site) {
  for (const Handle* o : operands) {
    const Node* n = o->get();
    if (n->graph != &graph && n->graph && !is_source(n->op) &&
        n->state.load(std::memory_order_acquire) == State::pending) {
      const Handle* one[] = {o};
      evaluate(one, Cause::other_thread, site);
    }
  }
}

/// True if all operands are this graph's nodes, or values, on one device: then nothing needs to be settled,
/// and the result is on the device of the first. Most are.
[[gnu::always_inline]] inline bool are_at_hand(const Graph& graph, std::span<const Handle* const> operands) {
  bool all = !operands.empty();
  for (const Handle* o : operands) {
    const Node& n = *o->get();
    all &= (n.graph == &graph) | (n.state.load(std::memory_order_acquire) != State::pending);
    all &= !is_source(n.op) & (n.device == operands[0]->get()->device);
  }
  return all;
}

/// Waits for operands that another thread's flush is making: it stores them only while they have a handle, as
/// the caller's do now. `n`: linked, with these operands first. Empty handles were given away: their values
/// are there, or are computed with `n`.
[[gnu::always_inline]] inline void await_inputs(const Node& n, std::span<const Handle* const> operands,
                                                const Site& site) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const Handle& o = *operands[i];
    if (!o || !n.operand.is_input(static_cast<int>(i)) || o->ready() || is_source(o->op)) continue;
    const Handle* one[] = {&o};
    evaluate(one, Cause::other_thread, site);
  }
}

/// Puts a node into the graph, after a flush of its operands if a limit asks for that. Says which limit asks
/// for a flush now, and if await_inputs() is to be called.
Linked link_node(Graph&, Node*, std::span<const Handle* const> operands, const Site&,
                 GivenHandles* = nullptr);
/// Flushes if LAZY_EAGER or a limit asks for it.
void obey(const Handle& result, Limit);

}  // namespace lazy::jit
