#include "lazy/core/fold.hpp"

#include <cmath>
#include <type_traits>

#include "lazy/core/scalar.hpp"
#include "support/float_mode.hpp"

namespace lazy::detail {
namespace {

using jit::Op;
using jit::Scalar;

template <class T>
constexpr bool floating = std::is_floating_point_v<T>;

template <class T>
T wrap(uint64_t v) {
  return static_cast<T>(v);
}

/// 16-bit floats compute in float; the caller rounds.
template <class T>
using Compute = std::conditional_t<is_half_type<T>, float, T>;

template <class T>
bool unary(Op op, T a, T& r) {
  if constexpr (std::is_same_v<T, bool>) {
    if (op != Op::bitwise_invert) return false;
    r = !a;
    return true;
  } else if constexpr (floating<T>) {
    switch (op) {
      case Op::negative: r = -a; return true;
      case Op::abs: r = std::abs(a); return true;
      case Op::ceil: r = std::ceil(a); return true;
      case Op::floor: r = std::floor(a); return true;
      case Op::trunc: r = std::trunc(a); return true;
      case Op::round: r = std::nearbyint(a); return true;
      case Op::sqrt: r = std::sqrt(a); return true;
      default: return false;
    }
  } else {
    switch (op) {
      case Op::negative: r = wrap<T>(-static_cast<uint64_t>(a)); return true;
      case Op::abs: r = a < T(0) ? wrap<T>(-static_cast<uint64_t>(a)) : a; return true;
      case Op::bitwise_invert: r = static_cast<T>(~a); return true;
      default: return false;
    }
  }
}

template <class T>
bool binary(Op op, T a, T b, T& r) {
  if constexpr (std::is_same_v<T, bool>) {
    switch (op) {
      case Op::bitwise_and: r = a && b; return true;
      case Op::bitwise_or: r = a || b; return true;
      case Op::bitwise_xor: r = a != b; return true;
      default: return false;
    }
  } else if constexpr (floating<T>) {
    switch (op) {
      case Op::add: r = a + b; return true;
      case Op::subtract: r = a - b; return true;
      case Op::multiply: r = a * b; return true;
      case Op::divide: r = a / b; return true;
      // Maximum and minimum are never folded: which of two equal zeros or NaNs they give is up to the op, and
      // folding may not depend on values, which are not part of a key.
      default: return false;
    }
  } else {
    const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    switch (op) {
      case Op::add: r = wrap<T>(ua + ub); return true;
      case Op::subtract: r = wrap<T>(ua - ub); return true;
      case Op::multiply: r = wrap<T>(ua * ub); return true;
      case Op::maximum: r = a > b ? a : b; return true;
      case Op::minimum: r = a < b ? a : b; return true;
      case Op::bitwise_and: r = static_cast<T>(a & b); return true;
      case Op::bitwise_or: r = static_cast<T>(a | b); return true;
      case Op::bitwise_xor: r = static_cast<T>(a ^ b); return true;
      default: return false;
    }
  }
}

template <class T>
bool compare(Op op, T a, T b, bool& r) {
  switch (op) {
    case Op::equal: r = a == b; return true;
    case Op::not_equal: r = a != b; return true;
    case Op::less: r = a < b; return true;
    case Op::less_equal: r = a <= b; return true;
    case Op::greater: r = a > b; return true;
    case Op::greater_equal: r = a >= b; return true;
    default: return false;
  }
}

[[gnu::noinline]] bool folded(Op op, DType t, Scalar a, Scalar& out) {
  return with_type(t, [&](auto tag) {
    using T = decltype(tag);
    using C = Compute<T>;
    C r{};
    if (!unary<C>(op, static_cast<C>(a.as<T>()), r)) return false;
    out = Scalar::of(T(r));
    return true;
  });
}

[[gnu::noinline]] bool folded(Op op, DType t, Scalar a, Scalar b, Scalar& out) {
  return with_type(t, [&](auto tag) {
    using T = decltype(tag);
    using C = Compute<T>;
    const C x = static_cast<C>(a.as<T>()), y = static_cast<C>(b.as<T>());
    bool truth = false;
    if (compare<C>(op, x, y, truth)) {
      out = Scalar::of(truth);
      return true;
    }
    C r{};
    if (!binary<C>(op, x, y, r)) return false;
    out = Scalar::of(T(r));
    return true;
  });
}

}  // namespace

bool fold(Op op, DType t, Scalar a, Scalar& out) {
  const FloatMode mode;
  return folded(op, t, a, out);
}

bool fold(Op op, DType t, Scalar a, Scalar b, Scalar& out) {
  const FloatMode mode;
  return folded(op, t, a, b, out);
}

}  // namespace lazy::detail
