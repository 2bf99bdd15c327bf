// Compares (false < true; NaN is unequal to everything) and chooses by a truth value.
#include "backends/reference/ops.hpp"

namespace lazy::reference {
namespace {
using jit::Op;

template <class T>
uint8_t equal(T a, T b) {
  return a == b;
}
template <class T>
uint8_t not_equal(T a, T b) {
  return a != b;
}
template <class T>
uint8_t less(T a, T b) {
  return a < b;
}
template <class T>
uint8_t less_equal(T a, T b) {
  return a <= b;
}
template <class T>
uint8_t greater(T a, T b) {
  return a > b;
}
template <class T>
uint8_t greater_equal(T a, T b) {
  return a >= b;
}
template <class T>
T where(uint8_t condition, T yes, T no) {
  return condition ? yes : no;
}

template <class T>
StripFn compare_of(Op op) {
  switch (op) {
    case Op::equal: return lanes<equal<T>>;
    case Op::not_equal: return lanes<not_equal<T>>;
    case Op::less: return lanes<less<T>>;
    case Op::less_equal: return lanes<less_equal<T>>;
    case Op::greater: return lanes<greater<T>>;
    case Op::greater_equal: return lanes<greater_equal<T>>;
    case Op::where: return lanes<where<T>>;
    default: return nullptr;
  }
}

}  // namespace

StripFn compare_meaning(Op op, DType t) {
  return with_type(t, [&](auto zero) { return compare_of<decltype(zero)>(op); });
}

}  // namespace lazy::reference
