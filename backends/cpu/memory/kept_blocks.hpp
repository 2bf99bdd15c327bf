// Caches freed blocks of memory for whichever thread allocates next.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/memory/size_class.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {

using Milliseconds = uint64_t;  // of a clock that is never set back

/// Keeps a list for each size class. The block freed last is taken first, so blocks that a program doesn't
/// need age at the other end. Links and ages lie in the blocks.
/// Invariant: nothing here allocates memory from the system.
class KeptBlocks {
 public:
  /// Returns a block, or null if there is none.
  void* take(const SizeClass&) noexcept;
  void give(const SizeClass&, void*, Milliseconds now) noexcept;
  size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

  /// Returns blocks to the system, those that were freed first, until `bytes` of them are returned or none is
  /// left. Returns the number of bytes.
  size_t free_oldest(size_t bytes) noexcept;
  /// Returns blocks to the system that were freed before a time.
  size_t free_before(Milliseconds) noexcept;
  /// True if blocks of the class were returned to the system since forget_freed(), once for each: a block
  /// that is needed now was returned too early.
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
  /// Returns up to so many bytes of blocks that were freed until a time, the largest first.
  size_t free_until(Milliseconds, size_t bytes) noexcept;

  std::array<List, kSizeClasses> lists_;
  std::atomic<size_t> bytes_{0};
};

/// Allocates memory from the system: at least 64-byte aligned, large blocks on huge pages. Null if there is
/// none.
void* system_allocate(size_t bytes) noexcept;
void system_free(void*, size_t bytes) noexcept;

}  // namespace lazy::cpu_backend
