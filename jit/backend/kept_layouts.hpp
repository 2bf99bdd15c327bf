// Copies of a buffer's values in the layouts that kernels read, kept beside it. A convolution's weights, say,
// are laid out as a matrix by each run of a program: the second time that the same kernel makes the same copy
// of the same buffer, the copy stays until the buffer goes or changes. No key knows of it, and no bit depends
// on it.
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
  /// `again` says whether it was asked for before.
  BufferRef find(const std::shared_ptr<const Kernel>& kernel, std::span<const uint64_t> words, bool& again);
  /// Keeps it, if LAZY_KEEP_LAYOUTS has room. Nobody may write to the copy any more.
  void keep(const std::shared_ptr<const Kernel>& kernel, std::span<const uint64_t> words, const BufferRef&);
  void clear() noexcept;

 private:
  static constexpr size_t kMost = 4;  // of one buffer; the oldest goes first
  struct Copy {
    std::shared_ptr<const Kernel> kernel;  // owned, so that no other can have its address
    std::vector<uint64_t> words;
    BufferRef made;  // null: asked for once
  };
  class Locked;
  Copy* find_locked(const std::shared_ptr<const Kernel>&, std::span<const uint64_t> words);
  static void release(Copy&) noexcept;

  Mutex mutex_;
  std::vector<Copy> copies_;
};

}  // namespace lazy::jit
