// Computes elementary functions, floating point only. Each is computed in the next wider type and rounded
// once, so that only the rounding error of the result remains (and, rarely, that of the C library's function
// of the wider type): the oracle that vector math is measured against. Special values are those of C99, Annex
// F.
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/reference/ops.hpp"

namespace lazy::reference {
namespace {
using jit::Op;

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// The NaN that x86 gives for an argument outside of a function's domain.
template <class T>
constexpr T kInvalid = -std::numeric_limits<T>::quiet_NaN();
template <class T>
T settled(T result, T invalid = kInvalid<T>) {
  return std::isnan(result) ? invalid : result;
}

/// Defines a function of one or two arguments of the wider type, rounded to T. A NaN argument of one stays
/// what it is.
#define LAZY_WIDE1(name, formula) LAZY_WIDE1_NAN(name, formula, value + 0, kInvalid<T>)
/// Chooses the signs of NaN as machine code has them: `of_nan` for a NaN argument, `invalid` where there is
/// no value.
#define LAZY_WIDE1_NAN(name, formula, of_nan, invalid)                \
  template <class T>                                                  \
  T name(T value) {                                                   \
    if (std::isnan(value)) return of_nan;                             \
    const Wide<T> x = value;                                          \
    return settled(static_cast<T>(formula), static_cast<T>(invalid)); \
  }
#define LAZY_WIDE2(name, formula)        \
  template <class T>                     \
  T name(T first, T second) {            \
    const Wide<T> x = first, y = second; \
    return static_cast<T>(formula);      \
  }

/// Returns the C library's result: IEEE square root and sign copy are exact.
template <class T>
T sqrt(T x) {
  return std::sqrt(x);
}
template <class T>
T copysign(T x, T y) {
  return std::copysign(x, y);
}

LAZY_WIDE1(rsqrt, 1 / std::sqrt(x))
LAZY_WIDE1(exp, std::exp(x))
LAZY_WIDE1(expm1, std::expm1(x))
LAZY_WIDE1(log, std::log(x))
LAZY_WIDE1(log1p, std::log1p(x))
LAZY_WIDE1(log2, std::log2(x))
LAZY_WIDE1(log10, std::log10(x))
LAZY_WIDE1(sin, std::sin(x))
LAZY_WIDE1(cos, std::cos(x))
LAZY_WIDE1(tan, std::tan(x))
LAZY_WIDE1(sinh, std::sinh(x))
LAZY_WIDE1_NAN(cosh, std::cosh(x), std::abs(value), kInvalid<T>)
LAZY_WIDE1(tanh, std::tanh(x))
LAZY_WIDE1(asin, std::asin(x))
LAZY_WIDE1_NAN(acos, std::acos(x), -value, value < 0 ? -kInvalid<T> : kInvalid<T>)
LAZY_WIDE1(atan, std::atan(x))
LAZY_WIDE1(asinh, std::asinh(x))
LAZY_WIDE1(acosh, std::acosh(x))
LAZY_WIDE1_NAN(atanh, std::atanh(x), std::copysign(kInvalid<T>, value),
               value > 0 ? -kInvalid<T> : kInvalid<T>)
LAZY_WIDE1(erf, std::erf(x))
LAZY_WIDE1_NAN(erfc, std::erfc(x), std::abs(value), kInvalid<T>)
LAZY_WIDE1_NAN(sigmoid, 1 / (1 + std::exp(-x)), sizeof(T) == 4 ? std::abs(value) : -std::abs(value),
               kInvalid<T>)
LAZY_WIDE2(atan2, std::atan2(x, y))
LAZY_WIDE2(hypot, std::hypot(x, y))

/// Computes pow. Zeros, infinities and NaN need no more digits than T has, and glibc's long double function
/// gives pow(-inf, -2^63) = inf (an even power: it is 0).
template <class T>
T power(T first, T second) {
  if (first == 0 || !std::isfinite(first) || !std::isfinite(second))
    return static_cast<T>(std::pow(static_cast<double>(first), static_cast<double>(second)));
  const Wide<T> x = first, y = second;
  return static_cast<T>(std::pow(x, y));
}

/// Computes x/2 (1 + erf(x / sqrt 2)) as x/2 erfc(z), z = -x / sqrt 2, which does not cancel for x < 0. There
/// erfc is so steep that the rounding of z shows (a relative error of 2z^2 times that of z), so a first-order
/// step corrects it. The limit at -inf is -0.
template <class T>
T gelu(T value) {
  if (std::isnan(value)) return value + 0;
  if (std::isinf(value)) return value > 0 ? value : -T(0);
  const long double x = value, root_half = 0x0.b504f333f9de6484p0L, rest_of_root = 1.895032558893257e-20L;
  const long double two_over_root_pi = 1.128379167095512573896158903121545172L;
  const long double z = -x * root_half, rest = std::fma(-x, root_half, -z) - x * rest_of_root;
  return static_cast<T>(x / 2 * (std::erfc(z) - two_over_root_pi * std::exp(-z * z) * rest));
}

template <class T>
StripFn elementary_of(Op op) {
  switch (op) {
#define LAZY_CASE(name) \
  case Op::name: return lanes<name<T>>;
    LAZY_CASE(sqrt)
    LAZY_CASE(copysign)
    LAZY_CASE(rsqrt)
    LAZY_CASE(exp)
    LAZY_CASE(expm1)
    LAZY_CASE(log)
    LAZY_CASE(log1p)
    LAZY_CASE(log2)
    LAZY_CASE(log10)
    LAZY_CASE(sin)
    LAZY_CASE(cos)
    LAZY_CASE(tan)
    LAZY_CASE(sinh)
    LAZY_CASE(cosh)
    LAZY_CASE(tanh)
    LAZY_CASE(asin)
    LAZY_CASE(acos)
    LAZY_CASE(atan)
    LAZY_CASE(asinh)
    LAZY_CASE(acosh)
    LAZY_CASE(atanh)
    LAZY_CASE(erf)
    LAZY_CASE(erfc)
    LAZY_CASE(sigmoid)
    LAZY_CASE(gelu)
    LAZY_CASE(power)
    LAZY_CASE(atan2)
    LAZY_CASE(hypot)
    default: return nullptr;
  }
}

}  // namespace

StripFn elementary_meaning(Op op, DType t) {
  if (t == DType::float32) return elementary_of<float>(op);
  if (t == DType::float64) return elementary_of<double>(op);
  return nullptr;
}

}  // namespace lazy::reference
