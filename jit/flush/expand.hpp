// Expands intentions: calls that say what is meant, such as a convolution. A flush asks the backend which of
// them it takes whole, and puts the ops of the others' expansions in their place, before the key is made. So
// a key says how each was expanded, and what that went by - extents, how operands lie, what the backend
// prefers - needs no guard of its own.
#pragma once
#include <vector>

#include "jit/graph/graph.hpp"

namespace lazy::jit {

class Backend;

/// Replaces, among nodes that a flush has taken of `graph`, the intentions that the backend doesn't take
/// whole. An output takes over the recipe of the value that its expansion gives for it. All inputs are ready.
/// Nodes that the flush has a reference of are added to `held`, as Graph::take does. Throws what an expansion
/// throws: the nodes are then still ones to be restored, some of them expanded.
void expand(Graph& graph, std::vector<Node*>& nodes, std::vector<Node*>& held, Backend&);

}  // namespace lazy::jit
