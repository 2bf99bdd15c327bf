// Declares memory that holds values: owned by a backend's allocator, or borrowed from the user.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "support/alone.hpp"

namespace lazy::jit {

class Backend;
class KeptLayouts;

class Buffer {
 public:
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool borrowed() const { return borrowed_; }
  /// Returns the backend whose memory it is; null if it is borrowed from the user, in the host's memory.
  Backend* backend() const { return backend_; }
  uint32_t use_count() const { return count_.load(std::memory_order_acquire); }
  /// Returns the copies in other layouts. Not for borrowed memory: the user may write to it.
  KeptLayouts& layouts();
  /// Drops the copies in other layouts, before the memory is written to.
  void forget_layouts() noexcept;

  static void* operator new(size_t bytes);
  static void operator delete(void*) noexcept;

 private:
  friend class BufferRef;
  std::atomic<uint32_t> count_{1};
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<KeptLayouts*> layouts_{nullptr};  // owned; null: never requested
  Backend* backend_ = nullptr;                  // null: borrowed, in the host's memory
  bool borrowed_ = false;
  std::function<void(void*)> deleter_;  // borrowed only; may be empty
  void release_borrowed() noexcept;
  void destroy() noexcept;
};

class BufferRef {
 public:
  BufferRef() = default;
  static BufferRef allocate(Backend&, size_t bytes);
  /// Takes memory of the user's: the host's, or that of a device. What was launched there is waited for
  /// before the deleter runs.
  static BufferRef borrow(void*, size_t bytes, std::function<void(void*)> deleter, Backend* device = nullptr);
  BufferRef(const BufferRef& o) noexcept : p_(o.p_) {
    if (p_) fetch_add(p_->count_, 1, std::memory_order_relaxed);
  }
  BufferRef(BufferRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  BufferRef& operator=(BufferRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~BufferRef() { reset(); }
  void reset() noexcept {
    Buffer* p = std::exchange(p_, nullptr);
    if (!p) return;
    // Who has the only reference needs no atomic write: nobody can copy it meanwhile.
    if (p->count_.load(std::memory_order_acquire) == 1 ||
        fetch_sub(p->count_, 1, std::memory_order_acq_rel) == 1)
      p->destroy();
  }
  Buffer* operator->() const { return p_; }
  Buffer* get() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  Buffer* p_ = nullptr;
};

}  // namespace lazy::jit
