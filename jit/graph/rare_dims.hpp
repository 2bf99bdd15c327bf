// Holds a list of integers that most nodes lack, outside of the node: a node with empty ones is small.
#pragma once
#include <span>
#include <utility>

#include "jit/core/shape.hpp"

namespace lazy::jit {

/// Owns a Dims, none while it is empty. Reads as a const Dims& does.
class RareDims {
 public:
  RareDims() = default;
  RareDims(const RareDims&) = delete;
  ~RareDims() {
    if (dims_) release();
  }
  RareDims& operator=(const RareDims& o) { return *this = o.get(); }
  RareDims& operator=(const Dims& d) {
    if (dims_ || !d.empty()) own() = d;
    return *this;
  }

  void swap(RareDims& o) noexcept { std::swap(dims_, o.dims_); }

  const Dims& get() const { return dims_ ? *dims_ : kNone.dims; }
  operator const Dims&() const { return get(); }
  operator std::span<const int64_t>() const { return get(); }
  int size() const { return dims_ ? dims_->size() : 0; }
  bool empty() const { return size() == 0; }
  int64_t operator[](int i) const { return (*dims_)[i]; }
  const int64_t* begin() const { return get().begin(); }
  const int64_t* end() const { return get().end(); }
  void push_back(int64_t x) { own().push_back(x); }
  void clear() {
    if (dims_) dims_->resize(0);
  }
  friend bool operator==(const RareDims& a, const Dims& b) { return a.get() == b; }
  friend bool operator==(const RareDims& a, const RareDims& b) { return a.get() == b.get(); }

 private:
  /// Holds an empty list, made by the compiler: Dims leaves the entries that it has not undefined.
  union None {
    constexpr None() : bytes{} {}
    unsigned char bytes[sizeof(Dims)];
    Dims dims;
  };
  static const None kNone;
  Dims& own() { return dims_ ? *dims_ : make(); }
  Dims& make();  // throws std::bad_alloc
  void release() noexcept;
  Dims* dims_ = nullptr;
};

}  // namespace lazy::jit
