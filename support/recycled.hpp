// Work memory that a thread uses again: what is asked for on every compile need not come from the system each
// time.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace lazy {

/// A vector that starts empty and whose memory goes to the thread's next vector of that type.
template <class T>
class Recycled : public std::vector<T> {
 public:
  Recycled() {
    if (pool().empty()) return;
    std::vector<T>::swap(pool().back());
    pool().pop_back();
  }
  Recycled(Recycled&& other) noexcept : std::vector<T>(std::move(other)) {}
  Recycled& operator=(Recycled&& other) noexcept {
    this->swap(other);
    return *this;
  }
  ~Recycled() {
    if (this->capacity() == 0 || this->capacity() > kMostBytes / sizeof(T) || pool().size() == kMost) return;
    this->clear();
    pool().push_back(std::move(static_cast<std::vector<T>&>(*this)));
  }

 private:
  static constexpr size_t kMost = 8, kMostBytes = size_t{1} << 20;
  static std::vector<std::vector<T>>& pool() {
    thread_local std::vector<std::vector<T>> p = [] {
      std::vector<std::vector<T>> empty;
      empty.reserve(kMost);  // so that giving back never throws
      return empty;
    }();
    return p;
  }
};

}  // namespace lazy
