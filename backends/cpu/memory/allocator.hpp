// Allocates memory for values: 64-byte aligned blocks that are cached when freed, so that a steady state
// needs no memory from the system.
// The cache is limited to a share of what the process may have (memory_limit.hpp). Blocks return to the
// system when it has no more memory; if they exceed what is in use, when blocks of other sizes are needed
// (unless programs need them again); and when nobody needed them for ten seconds. No thread watches over
// that: it happens when memory is allocated or freed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lazy::cpu_backend {

/// Returns a block, never null; a size of 0 gives a valid pointer. Throws DeviceError when the system has no
/// memory.
void* allocate(size_t bytes);
void deallocate(void*, size_t bytes) noexcept;

struct AllocatorStats {
  size_t kept_bytes;       // cached for any thread; threads cache a few small blocks besides
  size_t held_bytes;       // from the system, in use or cached
  size_t system_requests;  // since the process began
};
AllocatorStats allocator_stats();
/// Returns all cached blocks to the system, except those that other threads cache for themselves. Returns how
/// many bytes.
size_t release_kept_memory() noexcept;
/// Makes blocks older by so much, for tests.
void let_time_pass(uint64_t milliseconds) noexcept;

}  // namespace lazy::cpu_backend
