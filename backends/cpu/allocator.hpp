// Memory for values: 64-byte aligned blocks that are kept when given back, so that a steady state asks the
// system for nothing.
#pragma once
#include <cstddef>

namespace lazy::cpu_backend {

/// Never null; a size of 0 gives a valid pointer. Throws DeviceError when the system has no memory.
void* allocate(size_t bytes);
void deallocate(void*, size_t bytes) noexcept;

struct AllocatorStats {
  size_t kept_bytes;       // given back and kept
  size_t system_requests;  // ever
};
AllocatorStats allocator_stats();
/// Returns everything kept to the system.
void release_kept_memory();

}  // namespace lazy::cpu_backend
