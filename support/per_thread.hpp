// Provides objects of one thread that live as long as anything in the thread may run.
//
// A thread_local object with a destructor is gone when a later destructor needs it: that of a static object
// on the main thread, or of a thread_local one that was made earlier. So the library has none. What a thread
// keeps lies on the heap; a thread_local pointer, which needs no destructor, leads to it. A key of POSIX
// threads frees it once all thread_local objects of the thread are gone. What other keys' destructors make
// anew is freed in the next round. On the main thread it lives as long as the process.
#pragma once
#include <new>

namespace lazy {
namespace detail {

struct KeptByThread {
  KeptByThread* next = nullptr;
  virtual ~KeptByThread() = default;
};
/// Deletes the object when the calling thread ends.
void keep_until_thread_ends(KeptByThread*) noexcept;

}  // namespace detail

/// Returns the calling thread's T, one for each type. Made at its first use.
template <class T>
class PerThread {
 public:
  /// Throws std::bad_alloc if there is none yet and no memory for one.
  static T& get() {
    if (!mine_) [[unlikely]]
      make();
    return *mine_;
  }
  /// Returns null in place of throwing.
  static T* try_get() noexcept {
    if (!mine_) try {
        make();
      } catch (...) { return nullptr; }
    return mine_;
  }
  /// Returns null if there is none.
  static T* if_there() noexcept { return mine_; }

 private:
  struct Holder final : detail::KeptByThread {
    T value;
    ~Holder() override { mine_ = nullptr; }  // while `value` is destroyed, code that needs one gets another
  };
  [[gnu::noinline]] static void make() {
    auto* const h = new Holder;
    mine_ = &h->value;
    detail::keep_until_thread_ends(h);
  }
  static inline constinit thread_local T* mine_ = nullptr;
};

}  // namespace lazy
