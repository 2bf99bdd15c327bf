// Defines what a Tensor holds of the graph; the nodes themselves are in node.hpp, which users don't see.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

#include "support/alone.hpp"

namespace lazy::jit {

struct Node;

/// Holds the reference count of every node: handles in its upper half, references in its lower one.
struct Counted {
  static constexpr uint64_t kHandle = (1ull << 32) | 1;  // a handle is also a reference

  std::atomic<uint64_t> counts{0};
};

/// Keeps a node's value alive across flushes.
class Handle {
 public:
  Handle() = default;
  /// Takes over one handle count.
  static Handle adopt(Node* n) {
    Handle h;
    h.node_ = reinterpret_cast<Counted*>(n);
    return h;
  }
  Handle(const Handle& o) noexcept : node_(o.node_) {
    if (node_) fetch_add(node_->counts, Counted::kHandle, std::memory_order_relaxed);
  }
  Handle(Handle&& o) noexcept : node_(std::exchange(o.node_, nullptr)) {}
  Handle& operator=(Handle o) noexcept {
    std::swap(node_, o.node_);
    return *this;
  }
  ~Handle() {
    if (node_) release(node_);
  }
  // Invariant: a node begins with its count (node.hpp asserts it), so the pointers are equal.
  Node* get() const { return reinterpret_cast<Node*>(node_); }
  Node* operator->() const { return get(); }
  explicit operator bool() const { return node_ != nullptr; }
  /// Turns the handle, which is there no more, into a reference that the caller owns. Not for a node with an
  /// attachment. The caller holds the lock of the node's graph, or the node is in none: so nobody else can
  /// reach it if this is its only count.
  void become_reference() noexcept {
    Counted* const n = std::exchange(node_, nullptr);
    if (n->counts.load(std::memory_order_acquire) == Counted::kHandle)
      n->counts.store(1, std::memory_order_relaxed);
    else fetch_sub(n->counts, Counted::kHandle - 1, std::memory_order_acq_rel);
  }

 private:
  static void release(Counted*) noexcept;
  Counted* node_ = nullptr;
};

}  // namespace lazy::jit
