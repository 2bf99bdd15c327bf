// Lets the floor above keep something with a node, as long as the node has a handle: the derivations of
// lazy/. Pending ops may read a node longer than that, but nothing can be recorded on it any more.
#pragma once
#include <atomic>
#include <cstdint>

#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Is attached to any number of nodes and dies with the last of them, or with the last reference. Destruction
/// is iterative: what one of them refers to may have another attached, and so on.
class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  /// Called when a node that has it loses its last handle, or gets another one. Any thread.
  virtual void left(Node&) noexcept {}

  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 protected:
  virtual ~Attachment() = default;

 private:
  void destroy() noexcept;
  std::atomic<uint32_t> references_{0};
  Attachment* next_ = nullptr;  // in the list of those that a destruction under way has to free
};

/// Attaches it to a node, in place of what was attached; null: nothing. Only for a node that no other thread
/// uses meanwhile.
void attach(Node&, Attachment*) noexcept;

/// Returns another handle of a node; an empty one if it has lost its last. The caller sees to it that its
/// memory is not freed meanwhile.
Handle handle_if_alive(Node*) noexcept;

}  // namespace lazy::jit
