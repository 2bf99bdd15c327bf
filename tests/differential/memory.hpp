// Allocates memory between unmapped pages: an access past either end faults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/differential/random_kernel.hpp"

namespace lazy::test {

class Guarded {
 public:
  Guarded() = default;
  /// Allocates `bytes` of data next to an unmapped page, `shift` bytes away from it. The rest of the mapping
  /// has a fixed pattern.
  Guarded(size_t bytes, bool at_end, size_t shift);
  Guarded(Guarded&& o) noexcept { *this = std::move(o); }
  Guarded& operator=(Guarded&& o) noexcept {
    std::swap(map_, o.map_);
    std::swap(mapped_, o.mapped_);
    std::swap(data_, o.data_);
    return *this;
  }
  ~Guarded();
  char* data() const { return data_; }
  /// Return what may be accessed: the data, and the rest of its pages.
  const char* begin() const;
  const char* end() const;
  void make_read_only() const;

 private:
  char* map_ = nullptr;
  size_t mapped_ = 0;
  char* data_ = nullptr;
};

/// Returns the bytes that an operand's index map touches, relative to its pointer: [low, high). Empty if it
/// has no index.
struct Span {
  int64_t low = 0, high = 0;
};
Span span_of(const Case&, int operand);

/// Calls f(byte offset from the operand's pointer, running number) for every element; axes along which it
/// does not move are visited once.
template <class F>
void each_element(const Case& c, int operand, F&& f) {
  const auto& strides = c.plans[operand].strides;
  const int rank = c.kernel.rank;
  const auto extent = [&](int a) { return extent_in_memory(c, static_cast<size_t>(operand), a); };
  for (int a = 0; a < rank; ++a)
    if (extent(a) == 0) return;
  int64_t index[jit::loop::kMaxAxes] = {}, offset = 0;
  for (uint64_t n = 0;; ++n) {
    f(offset, n);
    int a = rank - 1;
    for (; a >= 0; --a) {
      offset += strides[a];
      if (++index[a] < extent(a)) break;
      offset -= strides[a] * index[a];
      index[a] = 0;
    }
    if (a < 0) return;
  }
}

}  // namespace lazy::test
