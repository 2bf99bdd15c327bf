// Declares memory that holds values: owned by a backend's allocator, or borrowed from the user.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "support/alone.hpp"
#include "support/holdings.hpp"

namespace lazy::jit {

class Backend;

/// Says what is known of the values in a buffer.
enum class Stays : uint8_t {
  no,      // a flush that alone has it may write to it; memory of the user's may change at any time
  shared,  // a result that is kept (kept_results.hpp): others may read it, so nobody writes to it
  yes,     // as they are, for as long as the buffer lives: what is computed from them alone is kept too
};

class Buffer {
 public:
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool borrowed() const { return borrowed_; }
  /// Returns the backend whose memory it is; null if it is borrowed from the user, in the host's memory.
  Backend* backend() const { return backend_; }
  uint32_t use_count() const { return count_.load(std::memory_order_acquire); }
  /// Promises that nobody writes to the memory any more, the user neither.
  void mark_unchanging() noexcept { stays_.store(Stays::yes, std::memory_order_release); }
  void set_stays(Stays s) noexcept { stays_.store(s, std::memory_order_release); }
  bool unchanging() const noexcept { return stays_.load(std::memory_order_acquire) == Stays::yes; }
  /// True if a flush that alone has it may write to it.
  bool writable() const noexcept { return !borrowed_ && stays_.load(std::memory_order_acquire) == Stays::no; }
  /// Returns the number of its values: no other buffer of the process has it, nor has this one after a write.
  uint64_t identity() noexcept;
  /// Says which line has the memory, where a trace is recorded (support/holdings.hpp).
  void belongs(const Site& site, const char* purpose = nullptr) noexcept {
    if (counted_) holdings::belongs(this, site, purpose);
  }
  /// Drops what was kept beside the values, which are about to be overwritten.
  void forget_results() noexcept;

  static void* operator new(size_t bytes);
  static void operator delete(void*) noexcept;

 private:
  friend class BufferRef;
  std::atomic<uint32_t> count_{1};
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<uint64_t> identity_{0};  // 0: nobody asked for it, so nothing is kept beside the values
  Backend* backend_ = nullptr;         // null: borrowed, in the host's memory
  bool borrowed_ = false;
  bool counted_ = false;  // by holdings, which has to be told when it goes
  std::atomic<Stays> stays_{Stays::no};
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
