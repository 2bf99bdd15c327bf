// Evaluates polynomials, and shares what the recipes of one element type have in common.
#pragma once
#include <limits>
#include <numbers>
#include <span>

#include "backends/vector/vecmath/coefficients.hpp"
#include "backends/vector/vecmath/core.hpp"
#include "backends/vector/vecmath/vecmath.hpp"

namespace lazy::vecmath {
using vir::Type;

/// Returns the list or number that serves x's element type.
inline std::span<const double> pick(Val x, std::span<const double> f32, std::span<const double> f64) {
  return x.type == Type::f32 ? f32 : f64;
}
inline double pick(Val x, double f32, double f64) { return x.type == Type::f32 ? f32 : f64; }

/// Returns the polynomial with coefficients c, lowest degree first. Long ones run as two chains, for the even
/// and the odd degrees of what follows c[0]: half the latency for one multiplication, and the rounding errors
/// of the chains, whose terms may cancel, are scaled down by x before c[0] is added.
inline Val polynomial(Builder& b, Val x, std::span<const double> c) {
  if (c.size() < 7) return horner(b, x, c);
  Val x2 = b.mul(x, x);
  std::span<const double> rest = c.subspan(1);
  return b.fma(b.fma(horner(b, x2, rest, 1, 2), x, horner(b, x2, rest, 0, 2)), x, b.num(x, c[0]));
}

/// Returns `magnitude` with its sign flipped where `sign` is negative.
inline Val flip_sign(Builder& b, Val magnitude, Val sign) {
  return b.xor_(magnitude, b.and_(sign, b.sign_bit(sign)));
}
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns a number that, added to |n| < 2^22 (2^51), rounds n to an integer and leaves that in the sum's low
/// bits.
inline double round_magic(Val x) { return pick(x, 0x1.8p23, 0x1.8p52); }
inline int mantissa_bits(Val x) { return x.type == Type::f32 ? 23 : 52; }
inline int exponent_bias(Val x) { return x.type == Type::f32 ? 127 : 1023; }
/// Returns the bits of 2^e as an integer constant.
inline Val power_bits(Builder& b, Val like, int e) {
  return b.integer(like, static_cast<int64_t>(exponent_bias(like) + e) << mantissa_bits(like));
}
/// Returns 2^(n + e) for a sum `shifted` = n + round_magic, where the result is a normal number.
inline Val power_of_two(Builder& b, Val shifted, int e = 0) {
  Val n = b.bitcast(b.int_of(shifted), shifted);
  return b.bitcast(shifted.type, b.iadd(b.shl(n, mantissa_bits(shifted)), power_bits(b, shifted, e)));
}

}  // namespace lazy::vecmath
