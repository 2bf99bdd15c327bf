// Blocks of memory that were given back and are kept for whichever thread asks next.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/memory/size_class.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {

using Milliseconds = uint64_t;  // on a clock that only goes on

/// Keeps a list for each size class. The block given back last is taken first, so what a program doesn't need
/// ages at the other end. Links and ages lie in the blocks.
/// Invariant: nothing here asks the system for memory.
class KeptBlocks {
 public:
  /// Returns null if there is none.
  void* take(const SizeClass&) noexcept;
  void give(const SizeClass&, void*, Milliseconds now) noexcept;
  size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

  /// Gives blocks back to the system, those that were given back first, until `bytes` of them are freed or
  /// none is left. Returns how many were.
  size_t free_oldest(size_t bytes) noexcept;
  /// Gives blocks back to the system that were given back before a time.
  size_t free_before(Milliseconds) noexcept;
  /// Returns true, once for each, if blocks of the class were freed since forget_freed(): one that is asked
  /// for now was freed too early.
  bool freed_too_early(const SizeClass&) noexcept;
  void forget_freed() noexcept;

 private:
  struct Block {
    Block *newer, *older;
    Milliseconds given;
  };
  struct alignas(64) List {
    Mutex mutex;
    Block *newest = nullptr, *oldest = nullptr;
    uint32_t freed = 0;
  };
  class Locked;
  /// Gets the oldest block's time; false if there is none.
  bool oldest(Milliseconds&) noexcept;
  /// Frees up to so many bytes of what was given back until a time, the largest first.
  size_t free_until(Milliseconds, size_t bytes) noexcept;

  std::array<List, kSizeClasses> lists_;
  std::atomic<size_t> bytes_{0};
};

/// Takes memory from the system: at least 64-byte aligned, large blocks on huge pages. Null if there is none.
void* system_allocate(size_t bytes) noexcept;
void system_free(void*, size_t bytes) noexcept;

}  // namespace lazy::cpu_backend
