// Reuses a thread's work memory, so that what every compile needs is not allocated anew each
// time.
#pragma once
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/per_thread.hpp"

namespace lazy {

/// Provides a vector that starts empty and whose memory goes to the thread's next vector of that type.
template <class T>
class Recycled : public std::vector<T> {
 public:
  Recycled() {
    Pool* const pool = PerThread<Pool>::try_get();
    if (pool && pool->count > 0) std::vector<T>::swap(pool->spare[--pool->count]);
  }
  Recycled(Recycled&& other) noexcept : std::vector<T>(std::move(other)) {}
  Recycled& operator=(Recycled&& other) noexcept {
    this->swap(other);
    return *this;
  }
  ~Recycled() {
    if (this->capacity() == 0 || this->capacity() > kMostBytes / sizeof(T)) return;
    Pool* const pool = PerThread<Pool>::if_there();
    if (!pool || pool->count == kMost) return;
    this->clear();
    pool->spare[pool->count++].swap(*this);
  }

 private:
  static constexpr size_t kMost = 8, kMostBytes = size_t{1} << 20;
  struct Pool {
    std::array<std::vector<T>, kMost> spare;
    size_t count = 0;  // in use, from the first on
  };
};

}  // namespace lazy
