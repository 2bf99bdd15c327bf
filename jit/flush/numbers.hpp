// Finds the numbers of a captured graph's values from their nodes, for those who look at a flush seldom.
#pragma once
#include <unordered_map>

#include "jit/key/captured_graph.hpp"

namespace lazy::jit {

class Numbers {
 public:
  explicit Numbers(const CapturedGraph& f) {
    all_.reserve(f.values.size());
    for (uint32_t v = 0; v < f.values.size(); ++v) all_.emplace(f.values[v], v);
  }
  /// Returns kNone for a node that is no value of the graph.
  uint32_t of(const Node* n) const {
    const auto at = all_.find(n);
    return at == all_.end() ? kNone : at->second;
  }

 private:
  std::unordered_map<const Node*, uint32_t> all_;
};

}  // namespace lazy::jit
