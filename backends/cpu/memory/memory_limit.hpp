// Determines how much memory this process may have.
#pragma once
#include <cstdint>

namespace lazy::cpu_backend {

/// Returns the least of the machine's memory, of the limits of the control groups that the process is in and
/// of its own (RLIMIT_AS, RLIMIT_DATA), in bytes. The first two are read once; the process may change the
/// last at any time.
uint64_t memory_limit() noexcept;

}  // namespace lazy::cpu_backend
