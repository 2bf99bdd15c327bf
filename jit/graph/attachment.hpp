// Lets the floor above keep something with a node, as long as the node lives: the derivations of lazy/.
#pragma once
#include <atomic>
#include <cstdint>

#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Is attached to any number of nodes and dies with the last of them, or with the last reference.
class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  /// Called when a node that has it dies, or gets another one: before its memory is freed. Any thread.
  virtual void left(Node&) noexcept {}

  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Attachment() = default;

 private:
  std::atomic<uint32_t> references_{0};
};

/// Attaches it to a node, in place of what was attached; null: nothing. Only for a node that no other thread
/// uses meanwhile.
void attach(Node&, Attachment*) noexcept;

/// Returns another handle of a node that may be dying; an empty one if it is. The caller sees to it that its
/// memory is not freed meanwhile.
Handle handle_if_alive(Node*) noexcept;

}  // namespace lazy::jit
