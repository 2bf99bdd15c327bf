// Refers to a node's operands as what records ops takes them. Internal to jit/flush/.
#pragma once
#include <vector>

#include "jit/graph/node.hpp"
#include "support/alone.hpp"

namespace lazy::jit {

inline Handle handle_of(Node* n) {
  fetch_add(n->counts, Node::kHandle, std::memory_order_relaxed);
  return Handle::adopt(n);
}

/// Holds handles of a call's operands, for its definition's functions.
struct OperandsOf {
  std::vector<Handle> handles;
  std::vector<const Handle*> pointers;
  explicit OperandsOf(const Node& call) {
    handles.reserve(static_cast<size_t>(call.arity));
    pointers.reserve(static_cast<size_t>(call.arity));
    for (int i = 0; i < call.arity; ++i)
      pointers.push_back(&handles.emplace_back(handle_of(call.operand[i])));
  }
};

}  // namespace lazy::jit
