// Keeps address space aside for kernels' scratch. A kernel that runs after an input was overwritten must not
// fail for want of memory (docs/architecture/memory.md), and how much scratch it takes depends on its launch.
#pragma once
#include <cstddef>

namespace lazy::cpu_backend::spare {

/// Maps the region, once; no page of it takes memory before it is used. Called where kernels that take
/// scratch are made. Where the process may not map it, there is none.
void reserve() noexcept;
/// Returns a 64-byte aligned block of the region, null if it has no room.
void* take(size_t bytes) noexcept;
/// Takes a block back. False if it is not of the region.
bool give(void*) noexcept;

}  // namespace lazy::cpu_backend::spare
