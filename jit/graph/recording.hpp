// What the ways of recording share: record.cpp, record_call.cpp.
#pragma once
#include <span>

#include "jit/graph/graph.hpp"
#include "jit/graph/record.hpp"

namespace lazy::jit {

/// Makes a pending node with one handle, in no graph. ShapeError if it has more elements than can be
/// addressed.
Node* make_node(Op, DType, const Shape&, const Site&);
/// Returns where an op's result is: where its operands are. Sources are everywhere; what is made of them
/// alone is where one was moved to, else on the default device. DeviceError if operands are on two.
Device device_of(const char* op, std::span<const Handle* const> operands, const Site&);
/// Evaluates what is pending in another thread's graph.
void settle_elsewhere(const Graph&, std::span<const Handle* const> operands, const Site&);
/// Waits for operands that another thread's flush is making: it keeps them only while a handle on them lives,
/// as the caller's do now. `n`: linked, with these operands first.
void await_inputs(const Node& n, std::span<const Handle* const> operands, const Site&);
/// Puts a node into the graph; a limit is obeyed that asks for its operands' values first. Returns which
/// limit asks for a flush now.
Limit link_node(Graph&, Node*, std::span<const Handle* const> operands, const Site&);
/// Does what LAZY_EAGER and a limit ask for.
void obey(const Handle& result, Limit);

}  // namespace lazy::jit
