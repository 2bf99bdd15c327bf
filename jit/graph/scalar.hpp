// Holds the value of a constant.
#pragma once
#include <cstdint>
#include <cstring>

namespace lazy::jit {

/// Holds a scalar of any dtype: the value's bytes in the low end, the rest zero (float16 as its 2 bytes, bool
/// as 0 or 1).
struct Scalar {
  uint64_t bits = 0;
  template <class T>
  static Scalar of(T v) {
    static_assert(sizeof(T) <= 8);
    Scalar s;
    std::memcpy(&s.bits, &v, sizeof v);
    return s;
  }
  template <class T>
  T as() const {
    T v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
};

}  // namespace lazy::jit
