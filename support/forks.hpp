// Handles forks. A child has the memory of its parent and one of its threads: locks and half-made values that
// the other threads had when the process was forked stay theirs for good. So each lock and each value that is
// being made records its process, and nobody waits for a thread that stayed in the parent.
#pragma once
#include <atomic>
#include <cstdint>

namespace lazy::forks {
namespace detail {
extern constinit std::atomic<uint32_t> generation;
}

/// Returns how many forks lie between the process that loaded the library and this one.
inline uint32_t generation() noexcept { return detail::generation.load(std::memory_order_relaxed); }

/// Throws DeviceError: a thread that stayed in the parent was using what the caller needs.
[[noreturn]] void fail_left_behind();

/// Calls `f` in every child from now on, before fork() returns there. At most a few functions can be
/// registered.
void in_child(void (*f)()) noexcept;

}  // namespace lazy::forks
