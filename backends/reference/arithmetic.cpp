// Computes arithmetic on one type. Integers wrap: computed in uint64_t, whose low bits are right at any
// width.
#include <cmath>
#include <type_traits>

#include "backends/reference/ops.hpp"

namespace lazy::reference {
namespace {
using jit::Op;

constexpr uint64_t word(auto v) { return static_cast<uint64_t>(v); }

template <class T>
T add(T a, T b) {
  if constexpr (kFloat<T>) return a + b;
  else return static_cast<T>(word(a) + word(b));
}
template <class T>
T subtract(T a, T b) {
  if constexpr (kFloat<T>) return a - b;
  else return static_cast<T>(word(a) - word(b));
}
template <class T>
T multiply(T a, T b) {
  if constexpr (kFloat<T>) return a * b;
  else return static_cast<T>(word(a) * word(b));
}
template <class T>
T negative(T a) {
  if constexpr (kFloat<T>) return -a;
  else return static_cast<T>(0 - word(a));
}
template <class T>
T abs(T a) {
  if constexpr (kFloat<T>) return std::fabs(a);
  else return a < 0 ? negative(a) : a;  // the least integer stays itself
}
template <class T>
T sign(T a) {
  if (a > 0) return 1;
  if (a < 0) return static_cast<T>(-1);
  return a == 0 ? T(0) : a;  // either zero gives +0; otherwise a is NaN
}
/// Returns the larger operand. Either NaN gives NaN; -0 is less than +0.
template <class T>
T maximum(T a, T b) {
  if constexpr (kFloat<T>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
  if constexpr (kFloat<T>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
/// Raises integers to a power by repeated squaring, wrapping. A negative exponent gives 1 / x^|y| truncated;
/// 0 to a negative power is 0.
template <class T>
T integer_power(T x, T y) {
  if (y < 0) return x == 1 ? T(1) : word(x) == ~0ull ? static_cast<T>(y % 2 ? -1 : 1) : T(0);
  uint64_t result = 1, base = word(x);
  for (uint64_t e = word(y); e; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <class T>
T fma(T a, T b, T c) {
  return std::fma(a, b, c);
}

template <class T>
StripFn arithmetic_of(Op op) {
  switch (op) {
    case Op::add: return lanes<add<T>>;
    case Op::subtract: return lanes<subtract<T>>;
    case Op::multiply: return lanes<multiply<T>>;
    case Op::negative: return lanes<negative<T>>;
    case Op::abs: return lanes<abs<T>>;
    case Op::sign: return lanes<sign<T>>;
    case Op::maximum: return lanes<maximum<T>>;
    case Op::minimum: return lanes<minimum<T>>;
    default: break;
  }
  if constexpr (kFloat<T>) {
    if (op == Op::fma) return lanes<fma<T>>;
  } else {
    if (op == Op::power) return lanes<integer_power<T>>;
  }
  return nullptr;
}

}  // namespace

StripFn arithmetic_meaning(Op op, DType t) {
  return with_type(t, [&](auto zero) { return arithmetic_of<decltype(zero)>(op); });
}

}  // namespace lazy::reference
