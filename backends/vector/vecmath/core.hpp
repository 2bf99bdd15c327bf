// Shares recipes between the elementary functions. Each serves f32 and f64, by the type of its argument.
#pragma once
#include <cstddef>
#include <span>

#include "backends/vector/vir.hpp"

namespace lazy::vecmath {
using vir::Builder;
using vir::Val;

/// Holds an unevaluated sum, |lo| <= ulp(hi) / 2 or a little more.
struct Pair {
  Val hi, lo;
};

inline bool is_f32(Val x) { return x.type == vir::Type::f32; }
/// Returns the constant for x's type.
inline Val num(Builder& b, Val x, double for_f32, double for_f64) {
  return b.num(x, is_f32(x) ? for_f32 : for_f64);
}
/// Returns the integer constant whose bits are those of float `value` in x's type.
inline Val bits_of(Builder& b, Val x, double value) {
  return is_f32(x) ? b.i32(std::bit_cast<int32_t>(static_cast<float>(value)))
                   : b.i64(std::bit_cast<int64_t>(value));
}
inline Val infinity(Builder& b, Val x) {
  return is_f32(x) ? b.constant(x.type, 0x7f800000u) : b.constant(x.type, 0x7ffull << 52);
}
inline Val quiet_nan(Builder& b, Val x) {
  return is_f32(x) ? b.constant(x.type, 0x7fc00000u) : b.constant(x.type, 0x7ff8ull << 48);
}

/// Returns c[0] + c[step] x + c[2 step] x^2 ... over the elements begin, begin + step, ... of c, in the
/// fewest instructions.
Val horner(Builder&, Val x, std::span<const double> c, size_t begin = 0, size_t step = 1);
/// Returns the same value up to rounding, as two interleaved chains in x2 = x*x: half the latency for one
/// more multiplication.
Val even_odd(Builder&, Val x, Val x2, std::span<const double> c);

/// Returns a + b exactly, where |a| >= |b| or a == 0.
Pair fast_two_sum(Builder&, Val a, Val b);
/// Returns a * b exactly (barring underflow).
Pair two_product(Builder&, Val a, Val b);

// --- exponential
// -----------------------------------------------------------------------------------------------------

/// Holds x = n ln 2 + (r + low), n an integer, |r| <= ln 2 / 2, r exact. |x| < 2^20; a NaN is in both.
struct ExpReduced {
  Val n, r;
};
ExpReduced exp_reduce(Builder&, Val x);
/// Returns the low part: -n times what ln 2 has beyond one float; |low| < 2^-21 (f32), 2^-45 (f64).
Val exp_low(Builder&, ExpReduced);
/// Returns p with e^r = 1 + r + r^2 p, |r| <= 0.3468.
Val exp_tail(Builder&, Val r, Val r2);
/// Limits x to where e^x is neither 0 nor infinity, and a little beyond; keeps NaN.
Val exp_clamp(Builder&, Val x);
/// Returns e^(x + low), |low| < 2^-10 |x| or so. Relative error below 2^-24 (f32) or 2^-53 (f64) beside one
/// rounding to nearest.
Val exp_of_pair(Builder&, Pair x);
/// Returns 2^(x.hi + x.lo) for any x; where x.hi is out of range x.lo may be anything, NaN too. A NaN in x.hi
/// stays.
Val exp2_of_pair(Builder&, Pair x);

// --- logarithm
// -------------------------------------------------------------------------------------------------------

/// Holds x = 2^e (1 + f), -1/4 <= f < 1/2, f exact. x = 0: e = -inf, f = 0; x = inf: e = inf, f = 0; x < 0:
/// NaN; NaN: e is NaN.
struct LogReduced {
  Val e, f;
};
LogReduced log_reduce(Builder&, Val x);
/// Returns t with log(1 + f) = f + t, -1/4 <= f <= 1/2.
Val log1p_tail(Builder&, Val f);
/// Returns e ln 2 + log(1 + f), rounded: about 1 ulp.
Val log_finish(Builder&, LogReduced);
/// Reduces log(1 + x) without the rounding of 1 + x: 1 + x = 2^e (1 + f). Needs x > -1, finite.
LogReduced log1p_reduce(Builder&, Val x);
/// Returns log(2^exponent (x.hi + x.lo)) for x.hi positive, normal and finite; the exponent is an integer.
Val log_of_pair(Builder&, Pair x, Val exponent);
/// Returns log2 |x| in two parts, good to 2^-33 (f32) or 2^-63 (f64) relative. 0 gives hi = -inf, inf and NaN
/// themselves (lo is NaN).
Pair log2_pair(Builder&, Val x);
/// Returns x^y of |x|^y: with the sign of x, and for the pairs that are special.
Val pow_finish(Builder&, Val x, Val y, Val magnitude);

}  // namespace lazy::vecmath
