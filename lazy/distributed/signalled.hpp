// Has a process tell what its rank exchanged last when it gets SIGUSR2. Internal to lazy/distributed.
#pragma once
#include <cstdint>

namespace lazy::distributed::detail {

/// Has SIGUSR2 be counted from now on, unless the program does something else at it.
void count_signals() noexcept;
/// Returns how often it came.
uint32_t signals() noexcept;

}  // namespace lazy::distributed::detail
