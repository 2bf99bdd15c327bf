// Computes functions of each element. Operands broadcast as in NumPy (ShapeError otherwise), promote as
// promotion.hpp says (DtypeError otherwise), and may be scalars.
//
// Functions marked [float] compute bools and integers in the default dtype. The others keep the promoted
// dtype; comparisons and predicates give bool.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/ops/alias.hpp"

namespace lazy {

// Arithmetic. Integers wrap. On two bools, add and maximum are `or`, multiply and minimum are `and`; the rest
// throws.

Tensor add(Arg a, Arg b);
Tensor subtract(Arg a, Arg b);
Tensor multiply(Arg a, Arg b);
Tensor divide(Arg a, Arg b);        // [float] true division
Tensor floor_divide(Arg a, Arg b);  // rounds towards -inf; an integer divided by 0 is 0
Tensor remainder(Arg a, Arg b);     // has the divisor's sign; an integer modulo 0 is 0
Tensor pow(Arg a, Arg b);  // integers wrap; a negative integer exponent gives the power truncated towards 0
Tensor maximum(Arg a, Arg b);  // NaN if either is
Tensor minimum(Arg a, Arg b);
Tensor atan2(Arg y, Arg x);      // [float]
Tensor hypot(Arg a, Arg b);      // [float]
Tensor copysign(Arg a, Arg b);   // [float]
Tensor logaddexp(Arg a, Arg b);  // [float] log(exp(a) + exp(b)) without overflow
/// Returns minimum(maximum(x, low), high); `none` leaves an end open.
Tensor clip(Arg x, Arg low, Arg high);
Tensor clip(Arg x, NoneType, Arg high);
Tensor clip(Arg x, Arg low, NoneType);

Tensor negative(Arg x);  // unsigned wraps; bool throws
Tensor positive(Arg x);
Tensor abs(Arg x);
Tensor sign(Arg x);  // -1, 0, 1; NaN stays NaN; bool throws
Tensor square(Arg x);
Tensor reciprocal(Arg x);  // [float]
Tensor relu(Arg x);        // maximum(x, 0)
Tensor ceil(Arg x);        // integers and bools: unchanged; likewise floor, trunc, round
Tensor floor(Arg x);
Tensor trunc(Arg x);
Tensor round(Arg x);  // half to even

// [float]

Tensor sqrt(Arg x);
Tensor rsqrt(Arg x);  // 1 / sqrt(x)
Tensor exp(Arg x);
Tensor expm1(Arg x);
Tensor log(Arg x);
Tensor log1p(Arg x);
Tensor log2(Arg x);
Tensor log10(Arg x);
Tensor sin(Arg x);
Tensor cos(Arg x);
Tensor tan(Arg x);
Tensor sinh(Arg x);
Tensor cosh(Arg x);
Tensor tanh(Arg x);
Tensor asin(Arg x);
Tensor acos(Arg x);
Tensor atan(Arg x);
Tensor asinh(Arg x);
Tensor acosh(Arg x);
Tensor atanh(Arg x);
Tensor erf(Arg x);
Tensor erfc(Arg x);
Tensor sigmoid(Arg x);  // 1 / (1 + e^-x)
Tensor gelu(Arg x);     // x/2 (1 + erf(x / sqrt 2))

// Predicates and comparisons: bool.

Tensor isnan(Arg x);
Tensor isinf(Arg x);
Tensor isfinite(Arg x);
Tensor signbit(Arg x);  // integers: x < 0
Tensor equal(Arg a, Arg b);
Tensor not_equal(Arg a, Arg b);
Tensor less(Arg a, Arg b);
Tensor less_equal(Arg a, Arg b);
Tensor greater(Arg a, Arg b);
Tensor greater_equal(Arg a, Arg b);
Tensor logical_and(Arg a, Arg b);  // of any dtype: is != 0
Tensor logical_or(Arg a, Arg b);
Tensor logical_xor(Arg a, Arg b);
Tensor logical_not(Arg x);
/// Returns a where the condition (!= 0) holds, b elsewhere. All three broadcast; a and b promote. DtypeError
/// for a condition of floating-point or complex numbers: a comparison makes one.
Tensor where(Arg condition, Arg a, Arg b);
/// Returns a * b + c rounded once. All three broadcast and promote; floating point (integers become the
/// default dtype).
Tensor fma(Arg a, Arg b, Arg c);

// Integers and bools only.

Tensor bitwise_and(Arg a, Arg b);
Tensor bitwise_or(Arg a, Arg b);
Tensor bitwise_xor(Arg a, Arg b);
Tensor bitwise_invert(Arg x);
Tensor bitwise_left_shift(Arg a, Arg b);   // by the width or more, or by less than 0: 0
Tensor bitwise_right_shift(Arg a, Arg b);  // arithmetic; past the width all sign bits

// Operators. && and || are not overloaded: they could not short-circuit.

inline Tensor operator+(Arg a, Arg b) { return add(std::move(a), std::move(b)); }
inline Tensor operator-(Arg a, Arg b) { return subtract(std::move(a), std::move(b)); }
inline Tensor operator*(Arg a, Arg b) { return multiply(std::move(a), std::move(b)); }
inline Tensor operator/(Arg a, Arg b) { return divide(std::move(a), std::move(b)); }
inline Tensor operator%(Arg a, Arg b) { return remainder(std::move(a), std::move(b)); }
inline Tensor operator&(Arg a, Arg b) { return bitwise_and(std::move(a), std::move(b)); }
inline Tensor operator|(Arg a, Arg b) { return bitwise_or(std::move(a), std::move(b)); }
inline Tensor operator^(Arg a, Arg b) { return bitwise_xor(std::move(a), std::move(b)); }
inline Tensor operator<<(Arg a, Arg b) { return bitwise_left_shift(std::move(a), std::move(b)); }
inline Tensor operator>>(Arg a, Arg b) { return bitwise_right_shift(std::move(a), std::move(b)); }
inline Tensor operator==(Arg a, Arg b) { return equal(std::move(a), std::move(b)); }
inline Tensor operator!=(Arg a, Arg b) { return not_equal(std::move(a), std::move(b)); }
inline Tensor operator<(Arg a, Arg b) { return less(std::move(a), std::move(b)); }
inline Tensor operator<=(Arg a, Arg b) { return less_equal(std::move(a), std::move(b)); }
inline Tensor operator>(Arg a, Arg b) { return greater(std::move(a), std::move(b)); }
inline Tensor operator>=(Arg a, Arg b) { return greater_equal(std::move(a), std::move(b)); }
inline Tensor operator-(Arg x) { return negative(std::move(x)); }
inline Tensor operator+(Arg x) { return positive(std::move(x)); }
inline Tensor operator~(Arg x) { return bitwise_invert(std::move(x)); }
/// Takes a Tensor itself: as an Arg it would compete with the conversion to bool. Its line is that of `x`.
Tensor operator!(const Tensor& x);

// Other spellings: NumPy's and torch's.

LAZY_ALIAS1(absolute, abs)
LAZY_ALIAS1(neg, negative)
LAZY_ALIAS1(arcsin, asin)
LAZY_ALIAS1(arccos, acos)
LAZY_ALIAS1(arctan, atan)
LAZY_ALIAS1(arcsinh, asinh)
LAZY_ALIAS1(arccosh, acosh)
LAZY_ALIAS1(arctanh, atanh)
LAZY_ALIAS1(rint, round)
LAZY_ALIAS1(fix, trunc)
LAZY_ALIAS1(invert, bitwise_invert)
LAZY_ALIAS1(bitwise_not, bitwise_invert)
LAZY_ALIAS2(sub, subtract)
LAZY_ALIAS2(mul, multiply)
LAZY_ALIAS2(true_divide, divide)
LAZY_ALIAS2(mod, remainder)
LAZY_ALIAS2(power, pow)
LAZY_ALIAS2(arctan2, atan2)
LAZY_ALIAS2(left_shift, bitwise_left_shift)
LAZY_ALIAS2(right_shift, bitwise_right_shift)
LAZY_ALIAS2(eq, equal)
LAZY_ALIAS2(ne, not_equal)
LAZY_ALIAS2(lt, less)
LAZY_ALIAS2(le, less_equal)
LAZY_ALIAS2(gt, greater)
LAZY_ALIAS2(ge, greater_equal)
inline Tensor clamp(Arg x, Arg low, Arg high) {
  const detail::Spelled as("clip", "clamp");
  return clip(std::move(x), std::move(low), std::move(high));
}
}  // namespace lazy
