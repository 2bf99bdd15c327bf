// Computes bitwise ops on integers and truth values, and shifts.
#include <type_traits>

#include "backends/reference/ops.hpp"

namespace lazy::reference {
namespace {
using jit::Op;

template <class T>
T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T bitwise_invert(T a) {
  return static_cast<T>(~a);
}
uint8_t logical_not(uint8_t a) { return a ^ 1; }

/// True if the count is past the width: a negative one is, as unsigned, past every width.
template <class T>
T left_shift(T a, T count) {
  const uint64_t n = static_cast<uint64_t>(count);
  return n < sizeof(T) * 8 ? static_cast<T>(static_cast<uint64_t>(a) << n) : T(0);
}
template <class T>
T right_shift(T a, T count) {
  const uint64_t n = static_cast<uint64_t>(count);
  if (n < sizeof(T) * 8) return static_cast<T>(a >> n);
  return a < 0 ? static_cast<T>(-1) : T(0);
}

template <class T>
StripFn bits_of(Op op) {
  switch (op) {
    case Op::bitwise_and: return lanes<bitwise_and<T>>;
    case Op::bitwise_or: return lanes<bitwise_or<T>>;
    case Op::bitwise_xor: return lanes<bitwise_xor<T>>;
    case Op::bitwise_invert: return lanes<bitwise_invert<T>>;
    case Op::left_shift: return lanes<left_shift<T>>;
    case Op::right_shift: return lanes<right_shift<T>>;
    default: return nullptr;
  }
}

}  // namespace

StripFn bits_meaning(Op op, DType t) {
  if (is_bool(t) && op == Op::bitwise_invert) return lanes<logical_not>;
  return with_type(t, [&](auto zero) -> StripFn {
    if constexpr (std::is_integral_v<decltype(zero)>) return bits_of<decltype(zero)>(op);
    else return nullptr;
  });
}

}  // namespace lazy::reference
