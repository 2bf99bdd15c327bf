// Keeps memory of objects that come and go by the thousand in a free list of the thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "support/per_thread.hpp"

namespace lazy {

/// Holds the calling thread's spare memory for objects of type T. Objects that another thread made simply
/// join this thread's list, up to a bound. Sanitizers see each object's memory come from and go to the
/// system.
template <class T>
class SpareMemory {
 public:
  /// Throws std::bad_alloc.
  static void* take() {
    Free* const f = first_;
    if (!kPooled || !f) return ::operator new(sizeof(T));
    first_ = f->next;
    --count_;
    return f;
  }
  static void put(void* memory) noexcept {
    if (!kPooled || count_ >= kMost || !PerThread<Drain>::try_get()) return ::operator delete(memory);
    first_ = new (memory) Free{first_};
    ++count_;
  }
  /// Returns the memory to the system.
  static void release() noexcept {
    count_ = 0;
    while (first_) ::operator delete(std::exchange(first_, first_->next));
  }

 private:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kPooled = false;
#else
  static constexpr bool kPooled = true;
#endif
  static constexpr uint32_t kMost = 1 << 16;
  struct Free {
    Free* next;
  };
  /// Empties the list when the thread ends.
  struct Drain {
    ~Drain() { release(); }
  };
  static inline constinit thread_local Free* first_ = nullptr;
  static inline constinit thread_local uint32_t count_ = 0;
};

}  // namespace lazy
