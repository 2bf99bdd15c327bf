// Caches copies of a buffer's values, in the layouts that kernels read, beside it. A convolution's weights,
// say, are laid out as a matrix by each run of a program: the second time that the same kernel makes the same
// copy of the same buffer, the copy stays until the buffer is freed or changes. No key depends on it, nor
// does any bit of a result.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "jit/backend/buffer.hpp"
#include "support/lock.hpp"

namespace lazy::jit {

class Kernel;

class KeptLayouts {
 public:
  /// Smaller copies take no longer than looking for them.
  static constexpr size_t kLeastBytes = 4096;

  KeptLayouts() = default;
  KeptLayouts(const KeptLayouts&) = delete;
  ~KeptLayouts() { clear(); }

  /// Returns the copy that `kernel` makes with these words (of which none is an address), or null. Then
  /// `again` says whether it was requested before.
  BufferRef find(const std::shared_ptr<const Kernel>& kernel, std::span<const uint64_t> words, bool& again);
  /// Caches the copy, if LAZY_KEEP_LAYOUTS has room. Nobody may write to it any more.
  void keep(const std::shared_ptr<const Kernel>& kernel, std::span<const uint64_t> words, const BufferRef&);
  void clear() noexcept;

 private:
  static constexpr size_t kMost = 4;  // copies of one buffer; the oldest is dropped first
  struct Copy {
    std::shared_ptr<const Kernel> kernel;  // owned, so that no other can have its address
    std::vector<uint64_t> words;
    BufferRef made;  // null: requested once
  };
  class Locked;
  Copy* find_locked(const std::shared_ptr<const Kernel>&, std::span<const uint64_t> words);
  static void release(Copy&) noexcept;

  Mutex mutex_;
  std::vector<Copy> copies_;
};

}  // namespace lazy::jit
