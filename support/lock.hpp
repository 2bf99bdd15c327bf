// Provides locks that a forked child never waits for in vain (support/forks.hpp): a lock that a thread of the
// parent held at the fork is distinguished from one that a thread of this process holds.
#pragma once
#include <sched.h>

#include <atomic>
#include <cstdint>

#include "support/alone.hpp"
#include "support/forks.hpp"

namespace lazy {

/// Locks by sleeping. lock() throws DeviceError if a thread of the parent held the lock at the fork; callers
/// that can go on use Hold.
class Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  void lock() {
    if (!acquire<false>()) forks::fail_left_behind();
  }
  /// Takes the lock in any case. False if a thread of the parent held it: the guarded data may be half
  /// changed.
  bool take() noexcept { return acquire<true>(); }
  bool try_lock() noexcept {
    uint32_t none = 0;
    return compare_exchange(word_, none, ticket(), std::memory_order_acquire);
  }
  void unlock() noexcept {
    if (alone()) return word_.store(0, std::memory_order_relaxed);
    if (word_.exchange(0, std::memory_order_release) & kWaited) word_.notify_one();
  }

 private:
  static constexpr uint32_t kWaited = 1;
  static uint32_t ticket() noexcept { return (forks::generation() + 1) << 1; }

  template <bool kInherit>
  bool acquire() noexcept {
    uint32_t seen = 0;
    if (compare_exchange(word_, seen, ticket(), std::memory_order_acquire)) [[likely]]
      return true;
    return slowly(kInherit, seen);
  }
  [[gnu::noinline]] bool slowly(bool inherit, uint32_t seen) noexcept {
    const uint32_t mine = ticket();
    for (;;) {
      if (seen == 0) {
        // Others may be asleep, too.
        if (word_.compare_exchange_weak(seen, mine | kWaited, std::memory_order_acquire)) return true;
      } else if ((seen & ~kWaited) != mine) {
        if (!inherit) return false;
        if (word_.compare_exchange_weak(seen, mine | kWaited, std::memory_order_acquire)) return false;
      } else if ((seen & kWaited) || word_.compare_exchange_weak(seen, mine | kWaited)) {
        word_.wait(mine | kWaited, std::memory_order_relaxed);
        seen = word_.load(std::memory_order_relaxed);
      }
    }
  }

  std::atomic<uint32_t> word_{0};  // 0: free; else the holder's process, and whether threads wait
};

/// Locks critical sections of tens of nanoseconds. Behaves as Mutex after a fork.
class SpinLock {
 public:
  void lock() {
    if (!acquire<false>()) forks::fail_left_behind();
  }
  bool take() noexcept { return acquire<true>(); }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  template <bool kInherit>
  bool acquire() noexcept {
    const uint32_t mine = forks::generation() + 1;
    uint32_t seen = 0;
    if (compare_exchange(holder_, seen, mine, std::memory_order_acquire)) [[likely]]
      return true;
    return slowly(kInherit, mine);
  }
  [[gnu::noinline]] bool slowly(bool inherit, uint32_t mine) noexcept {
    for (int spins = 0;; ++spins) {
      uint32_t seen = holder_.load(std::memory_order_relaxed);
      if (seen == 0) {
        if (holder_.compare_exchange_weak(seen, mine, std::memory_order_acquire)) return true;
      } else if (seen != mine) {
        if (!inherit) return false;
        if (holder_.compare_exchange_weak(seen, mine, std::memory_order_acquire)) return false;
      }
      if (spins < 64) __builtin_ia32_pause();
      else sched_yield();
    }
  }

  std::atomic<uint32_t> holder_{0};  // 0: free; else the holder's process
};

/// Holds a lock for a scope whose owner can rebuild the guarded data.
template <class Lock>
class Hold {
 public:
  explicit Hold(Lock& lock) noexcept : lock_(lock), intact_(lock.take()) {}
  Hold(const Hold&) = delete;
  ~Hold() { lock_.unlock(); }
  /// False if a thread of the parent held the lock at the fork, so that the data may be half changed.
  bool intact() const noexcept { return intact_; }

 private:
  Lock& lock_;
  const bool intact_;
};

/// Holds a value that is made at its first use, once, and never destroyed. Replaces a function's static, for
/// which a forked child would wait for ever if a thread of the parent was making it.
template <class T>
class Once {
 public:
  constexpr Once() = default;
  template <class Make>
  T& get(Make&& make) {
    if (T* const known = made_.load(std::memory_order_acquire)) [[likely]]
      return *known;
    const Hold hold(lock_);
    T* known = made_.load(std::memory_order_relaxed);
    if (!known) made_.store(known = new T(make()), std::memory_order_release);
    return *known;
  }

 private:
  std::atomic<T*> made_{nullptr};
  Mutex lock_;
};

}  // namespace lazy
