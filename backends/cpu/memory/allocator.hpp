// Memory for values: 64-byte aligned blocks that are kept when given back, so that a steady state asks the
// system for nothing.
//
// What is kept is bounded by a share of what the process may have (memory_limit.hpp). It goes back to the
// system when that has no more; as far as it exceeds what is in use, when blocks of other sizes are asked for
// (unless programs come back for it); and when nobody needed it for ten seconds. No thread watches over that:
// it happens where memory is asked for or given back.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lazy::cpu_backend {

/// Returns a block, never null; a size of 0 gives a valid pointer. Throws DeviceError when the system has no
/// memory.
void* allocate(size_t bytes);
void deallocate(void*, size_t bytes) noexcept;

struct AllocatorStats {
  size_t kept_bytes;       // given back and kept for any thread; threads keep a few small blocks besides
  size_t held_bytes;       // from the system, in use or kept
  size_t system_requests;  // ever
};
AllocatorStats allocator_stats();
/// Gives everything kept back to the system, but for what other threads keep for themselves. Returns how many
/// bytes.
size_t release_kept_memory() noexcept;
/// Test aid: makes blocks older by so much.
void let_time_pass(uint64_t milliseconds) noexcept;

}  // namespace lazy::cpu_backend
