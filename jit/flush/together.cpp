#include "jit/flush/together.hpp"

#include <algorithm>
#include <vector>

#include "jit/graph/graph.hpp"
#include "support/error.hpp"

namespace lazy::jit {

void join_for_flush(std::span<const Handle* const> handles, const Site& site) {
  std::vector<Node*> leaders;  // of components that others join, one for each graph and device
  for (const Handle* h : handles) {
    Node* n = h->get();
    if (n->state.load(std::memory_order_acquire) != State::pending) continue;
    const auto leader = std::find_if(leaders.begin(), leaders.end(), [&](const Node* l) {
      return l->graph == n->graph && l->device == n->device;
    });
    if (leader == leaders.end()) leaders.push_back(n);
    else if (!located<DeviceError>(site, [&] { return n->graph->join_for_flush(*leader, n); })) *leader = n;
  }
}

}  // namespace lazy::jit
