// Ends a flush for the nodes that it took: their values are there for every thread, or they are pending
// again.
#pragma once

namespace lazy::jit {

class Graph;
struct CapturedGraph;
struct Node;

/// Makes nodes ready whose values are there; nodes that were dropped are pending again.
void publish(Graph&, CapturedGraph&) noexcept;

/// Makes the nodes pending again, as before the flush, except those of CapturedGraph::stands, whose values
/// are there, and what has passed: that is lost.
void undo(Graph&, CapturedGraph&) noexcept;

/// Returns true for an output that was not kept of a call that has run, and must not run again.
bool has_passed(const Node&);

}  // namespace lazy::jit
