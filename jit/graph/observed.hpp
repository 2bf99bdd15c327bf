// Observes if a value is needed after the flush that may store it: noted on its node, learned by the program
// that makes it (jit/flush/liveness.hpp).
//
// A node's word `watch` is a pointer to what is observed of the value, or null, and two marks. It is looked
// at when the node is read, bound as an input, or dies, so that recording costs nothing.
#pragma once
#include <atomic>
#include <cstdint>

#include "jit/graph/node.hpp"

namespace lazy::jit {

/// Counts observations of one value of one program, over all the flushes that made it. Nodes that are watched
/// share it.
class alignas(8) Observed {
 public:
  /// Counts a node's death, and drops one reference.
  void died(bool needed) noexcept {
    if (!needed) unread_.fetch_add(1, std::memory_order_relaxed);
    release();
  }
  void need() noexcept { needed_.store(true, std::memory_order_relaxed); }
  bool needed() const noexcept { return needed_.load(std::memory_order_relaxed); }
  uint32_t unread() const noexcept { return unread_.load(std::memory_order_relaxed); }
  /// Returns the number of nodes that are watched now.
  uint32_t alive() const noexcept { return references_.load(std::memory_order_relaxed) - 1; }

  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<uint32_t> references_{1};  // one of its program and one for each watched node
  std::atomic<uint32_t> unread_{0};      // nodes that died unneeded
  std::atomic<bool> needed_{false};      // never reset
};

namespace watch {

inline constexpr uintptr_t kNeeded = 1;    // read, evaluated, or an operand of a later flush
inline constexpr uintptr_t kRepended = 2;  // a flush dropped the value: pending again, with its recipe
inline constexpr uintptr_t kMarks = 3;

inline uintptr_t word(const Node& n) { return n.watch.load(std::memory_order_relaxed); }
inline Observed* observed(uintptr_t w) { return reinterpret_cast<Observed*>(w & ~kMarks); }
/// True for a node that is watched but not needed yet. Cheap: most are neither.
inline bool undecided(const Node& n) {
  const uintptr_t w = word(n);
  return w > kMarks && !(w & kNeeded);
}
/// Notes that the value is needed after all, or will be by the next flush.
void need(Node&) noexcept;
/// Does the same for a node that this thread's flush has taken: meanwhile others can only note that, too.
inline void need_taken(Node& n) noexcept {
  if (word(n) == 0) n.watch.store(kNeeded, std::memory_order_relaxed);
  else need(n);
}
/// Notes that a value that exists was read.
inline void note_use(Node& n) noexcept {
  if (undecided(n)) [[unlikely]]
    need(n);
}
/// Watches a node, unless it is watched already.
void begin(Node&, Observed&) noexcept;
/// Counts a watched node's death.
inline void end(Node& n) noexcept {
  const uintptr_t w = n.watch.load(std::memory_order_acquire);
  if (w > kMarks) [[unlikely]]
    observed(w)->died(w & kNeeded);
}

}  // namespace watch
}  // namespace lazy::jit
