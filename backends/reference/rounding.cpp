// Rounds to integers, and classifies numbers. Integers are integral, finite and never NaN.
#include <cmath>
#include <type_traits>

#include "backends/reference/ops.hpp"

namespace lazy::reference {
namespace {
using jit::Op;

template <class T>
T ceil(T x) {
  if constexpr (kFloat<T>) return std::ceil(x);
  else return x;
}
template <class T>
T floor(T x) {
  if constexpr (kFloat<T>) return std::floor(x);
  else return x;
}
template <class T>
T trunc(T x) {
  if constexpr (kFloat<T>) return std::trunc(x);
  else return x;
}
/// Rounds half to even: the rounding mode that every C++ program starts in.
template <class T>
T round(T x) {
  if constexpr (kFloat<T>) return std::nearbyint(x);
  else return x;
}
template <class T>
uint8_t isnan(T x) {
  if constexpr (kFloat<T>) return std::isnan(x);
  else return 0;
}
template <class T>
uint8_t isinf(T x) {
  if constexpr (kFloat<T>) return std::isinf(x);
  else return 0;
}
template <class T>
uint8_t isfinite(T x) {
  if constexpr (kFloat<T>) return std::isfinite(x);
  else return 1;
}
template <class T>
uint8_t signbit(T x) {
  if constexpr (kFloat<T>) return std::signbit(x);
  else return x < 0;
}

template <class T>
StripFn rounding_of(Op op) {
  switch (op) {
    case Op::ceil: return lanes<ceil<T>>;
    case Op::floor: return lanes<floor<T>>;
    case Op::trunc: return lanes<trunc<T>>;
    case Op::round: return lanes<round<T>>;
    case Op::isnan: return lanes<isnan<T>>;
    case Op::isinf: return lanes<isinf<T>>;
    case Op::isfinite: return lanes<isfinite<T>>;
    case Op::signbit: return lanes<signbit<T>>;
    default: return nullptr;
  }
}

}  // namespace

StripFn rounding_meaning(Op op, DType t) {
  return with_type(t, [&](auto zero) { return rounding_of<decltype(zero)>(op); });
}

}  // namespace lazy::reference
