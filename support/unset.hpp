// Provides lists whose new entries are not set, for what is filled right after it has grown.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace lazy {

/// Holds trivial entries as a vector does. A longer one keeps the entries that it has; the new ones are
/// unset.
template <class T>
class UnsetVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);

 public:
  using value_type = T;
  UnsetVector() = default;
  UnsetVector(const UnsetVector&) = delete;

  void resize(size_t n) {
    if (n > capacity_) [[unlikely]]
      grow(n);
    size_ = n;
  }
  void assign(size_t n, T value) {
    resize(n);
    std::fill_n(data(), n, value);
  }
  template <class I>
  void assign(I first, I last) {
    resize(static_cast<size_t>(last - first));
    std::copy(first, last, data());
  }
  void push_back(T value) {
    resize(size_ + 1);
    (*this)[size_ - 1] = value;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return entries_.get(); }
  const T* data() const { return entries_.get(); }
  T& operator[](size_t i) { return entries_[i]; }
  const T& operator[](size_t i) const { return entries_[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  [[gnu::noinline]] void grow(size_t n) {
    const size_t capacity = std::max(n, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<T[]>(capacity);
    if (size_) std::memcpy(larger.get(), data(), size_ * sizeof(T));
    entries_ = std::move(larger);
    capacity_ = capacity;
  }
  std::unique_ptr<T[]> entries_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace lazy
