// Forks. A child has the memory of its parent and one of its threads: whatever the others held when the
// process was forked, locks and half-made values, they hold for good. So each lock and each value that is
// being made says in which process that is, and nobody waits for a thread that stayed behind.
#pragma once
#include <atomic>
#include <cstdint>

namespace lazy::forks {
namespace detail {
extern constinit std::atomic<uint32_t> generation;
}

/// Returns how many forks lie between the process that loaded the library and this one.
inline uint32_t generation() noexcept { return detail::generation.load(std::memory_order_relaxed); }

/// Throws DeviceError: a thread that stayed in the parent had hold of what the caller needs.
[[noreturn]] void fail_left_behind();

/// Calls `f` in every child from now on, before fork() returns there. At most a few are kept.
void in_child(void (*f)()) noexcept;

}  // namespace lazy::forks
