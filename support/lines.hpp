// Remembers which memory is read soon after something was found, so that all of it is on its way at once: a
// program that ran long ago lies in tens of cache lines, and each is known only from another.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lazy {

/// Holds addresses, which are only prefetched: nothing needs to be there any more.
class Lines {
 public:
  /// Adds `bytes` from `at` on, as far as there is room.
  void add(const void* at, size_t bytes) noexcept {
    if (count_ == kMost || !at || bytes == 0) return;
    const auto first = reinterpret_cast<uintptr_t>(at) & ~(kLine - 1);
    const uintptr_t more = (reinterpret_cast<uintptr_t>(at) + bytes - 1 - first) / kLine;
    spans_[count_++] = first | std::min(more, kLine - 1);
  }
  template <class Vector>
  void add_entries(const Vector& v) noexcept {
    add(v.data(), v.size() * sizeof *v.data());
  }
  bool empty() const noexcept { return count_ == 0; }
  void prefetch() const noexcept {
    for (uint32_t i = 0; i < count_; ++i) {
      const uintptr_t first = spans_[i] & ~(kLine - 1), more = spans_[i] & (kLine - 1);
      for (uintptr_t n = 0; n <= more; ++n)
        __builtin_prefetch(reinterpret_cast<const void*>(first + n * kLine));
    }
  }

 private:
  static constexpr uintptr_t kLine = 64;
  static constexpr uint32_t kMost = 23;
  std::array<uintptr_t, kMost> spans_;  // a line's address, and in its low bits how many follow
  uint32_t count_ = 0;
};

}  // namespace lazy
