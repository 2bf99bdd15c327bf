// A lock for critical sections of tens of nanoseconds.
#pragma once
#include <atomic>
#include <thread>

namespace lazy {

class SpinLock {
 public:
  void lock() noexcept {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire); ++spins) {
      while (held_.load(std::memory_order_relaxed)) {
        if (++spins < 64) __builtin_ia32_pause();
        else std::this_thread::yield();
      }
    }
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace lazy
