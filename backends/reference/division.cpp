// Divides, and computes the quotient and remainder that floor.
#include <cmath>
#include <type_traits>

#include "backends/reference/ops.hpp"

namespace lazy::reference {
namespace {
using jit::Op;

template <class T>
T divide(T a, T b) {
  return a / b;
}

template <class T>
struct Floored {
  T quotient, remainder;
};

/// Computes floats as NumPy defines them: the remainder is exact (fmod) and then moved to the divisor's sign,
/// which may round; the quotient is an integer computed from it.
template <class T>
Floored<T> floored(T a, T b) {
  T rest = std::fmod(a, b);
  if (b == 0) return {a / b, rest};
  T quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(T(0), b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(T(0), a / b), rest};
  const T whole = std::floor(quotient);
  return {quotient - whole > T(0.5) ? whole + 1 : whole, rest};
}

template <class T>
T floor_divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return floored(a, b).quotient;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));  // the least integer wraps to itself
      return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0)));
    }
    return static_cast<T>(a / b);
  }
}

template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return floored(a, b).remainder;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
      const T rest = static_cast<T>(a % b);
      return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    return static_cast<T>(a % b);
  }
}

template <class T>
StripFn division_of(Op op) {
  if (op == Op::floor_divide) return lanes<floor_divide<T>>;
  if (op == Op::remainder) return lanes<remainder<T>>;
  if constexpr (std::is_floating_point_v<T>)
    if (op == Op::divide) return lanes<divide<T>>;
  return nullptr;
}

}  // namespace

StripFn division_meaning(Op op, DType t) {
  return with_type(t, [&](auto zero) { return division_of<decltype(zero)>(op); });
}

}  // namespace lazy::reference
