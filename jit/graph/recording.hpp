// Shares functions between record.cpp and record_call.cpp.
#pragma once
#include <span>

#include "jit/graph/graph.hpp"
#include "jit/graph/record.hpp"

namespace lazy::jit {

/// Makes a pending node with one handle, in no graph. ShapeError if it has more elements than can be
/// addressed.
Node* make_node(Op, DType, const Shape&, const Site&);

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

/// Waits for operands that another thread's flush is making: it stores them only while they have a handle, as
/// the caller's do now. `n`: linked, with these operands first.
[[gnu::always_inline]] inline void await_inputs(const Node& n, std::span<const Handle* const> operands,
                                                const Site& site) {
  int i = 0;
  for (const Handle* o : operands)
    if (n.operand.is_input(i++) && !(*o)->ready() && !is_source((*o)->op)) {
      const Handle* one[] = {o};
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
