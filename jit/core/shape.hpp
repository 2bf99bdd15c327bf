// Defines extents, strides and the user-facing Shape. Their capacity is fixed: nothing allocates.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

namespace lazy {

/// Limits the number of a tensor's dimensions.
inline constexpr int kMaxRank = 8;

/// Holds a short list of integers: extents, strides, axes. More than kMaxRank entries throw ShapeError.
class Dims {
 public:
  Dims() noexcept {}  // not defaulted: `{}` would set all entries to zero first
  Dims(std::initializer_list<int64_t> v) : Dims(std::span(v.begin(), v.size())) {}
  explicit Dims(std::span<const int64_t> v) : size_(static_cast<uint8_t>(checked(v.size()))) {
    std::copy(v.begin(), v.end(), v_);
  }
  Dims(int rank, int64_t fill) : size_(static_cast<uint8_t>(checked(static_cast<size_t>(rank)))) {
    std::fill_n(v_, rank, fill);
  }
  Dims(const Dims& o) noexcept : size_(o.size_) { copy(o.v_); }
  Dims& operator=(const Dims& o) noexcept {
    size_ = o.size_;
    copy(o.v_);
    return *this;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](int i) { return v_[i]; }
  const int64_t& operator[](int i) const { return v_[i]; }
  int64_t* begin() { return v_; }
  int64_t* end() { return v_ + size_; }
  const int64_t* begin() const { return v_; }
  const int64_t* end() const { return v_ + size_; }
  int64_t back() const { return v_[size_ - 1]; }
  void push_back(int64_t x) {
    checked(size_ + 1u);
    v_[size_++] = x;
  }
  void resize(int n) {
    size_ = static_cast<uint8_t>(checked(static_cast<size_t>(n)));
  }  // new entries are unset
  bool operator==(const Dims& o) const {
    if (size_ != o.size_) return false;
    for (int i = 0; i < size_; ++i)  // shorter than a call of memcmp
      if (v_[i] != o.v_[i]) return false;
    return true;
  }
  /// True if a vector, array or span has the same integers.
  template <class R>
  requires requires(const R& r) {
    r.size();
    requires std::is_integral_v<std::remove_cvref_t<decltype(*r.data())>>;
  }
  bool operator==(const R& r) const { return std::equal(begin(), end(), r.data(), r.data() + r.size()); }
  operator std::span<const int64_t>() const { return {v_, size_}; }

 private:
  static size_t checked(size_t n) {
    if (n > kMaxRank) too_many(n);
    return n;
  }
  [[noreturn]] static void too_many(size_t n);
  /// Copies entries in blocks of a fixed size, which takes a few instructions; unset ones come along.
  void copy(const int64_t* from) noexcept {
    static_assert(kMaxRank == 2 * kBlock);
    std::memcpy(v_, from, kBlock * sizeof *v_);
    if (size_ > kBlock) std::memcpy(v_ + kBlock, from + kBlock, kBlock * sizeof *v_);
  }
  static constexpr int kBlock = 4;

  uint8_t size_ = 0;
  int64_t v_[kMaxRank];
};

using Shape = Dims;

/// Returns the number of elements, which is exact for a countable shape.
inline int64_t numel(const Dims& s) {
  uint64_t n = 1;
  for (int64_t d : s) n *= static_cast<uint64_t>(d);
  return static_cast<int64_t>(n);
}
/// True if strides, and bytes of 16 an element, fit int64 even if extents of 0 counted as 1.
/// Invariant: the shape of every value is countable.
inline bool countable(const Dims& s) {
  int64_t n = 16;
  bool fits = true;
  for (int64_t d : s) fits &= !__builtin_mul_overflow(n, d > 1 ? d : 1, &n);
  return fits;
}
/// Returns text such as "[3, 4]".
std::string to_string(const Dims&);
/// Returns row-major strides in elements. A dimension of extent 1, or of an empty tensor, gets the stride
/// that a packed tensor would have.
Dims contiguous_strides(const Shape&);

}  // namespace lazy
