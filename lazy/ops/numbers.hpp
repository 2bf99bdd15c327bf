// Takes numbers apart and puts them together: quotients, common divisors, exponents, neighbours. Operands
// broadcast, promote and fail as those of elementwise.hpp do. [float] as there; 16-bit floats are computed in
// float32 and rounded once.
#pragma once
#include <string>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {

// Quotients.

/// Returns a / b as divide() does, or rounded: towards -inf by "floor", as floor_divide(), towards 0 by
/// "trunc", both in the promoted dtype. Error for another mode; DtypeError for two of bool that are rounded.
Tensor div(Arg a, Arg b, const std::string& rounding_mode = "");
/// Holds the results of divmod().
struct DivMod {
  Tensor quotient;   // floor_divide(a, b)
  Tensor remainder;  // remainder(a, b), with the sign of b
};
DivMod divmod(Arg a, Arg b);
/// Returns b - alpha a; dtypes and errors as of subtract().
Tensor rsub(Arg a, Arg b, ScalarNumber alpha = 1);
/// Return the greatest common divisor and the least common multiple of magnitudes; 0 and n have n, and 0.
/// Integers (DtypeError otherwise); lcm wraps, and so does |the lowest| of a signed dtype.
Tensor gcd(Arg a, Arg b);
Tensor lcm(Arg a, Arg b);
/// Returns pow(a, b) in float64, whatever the dtypes.
Tensor float_power(Arg a, Arg b);

// [float] Parts of a number. All but round() are exact.

/// Returns round(x 10^decimals) / 10^decimals, as NumPy computes it, which may overflow; of integers and
/// bools x itself. Error unless |decimals| <= 300, or 38 below float64; DtypeError for integers and negative
/// decimals.
Tensor round(Arg x, IntegerArg decimals);
/// Returns x - trunc(x), with x's sign; of infinities 0.
Tensor frac(Arg x);
/// Holds the results of modf().
struct Modf {
  Tensor fractional;  // frac(x)
  Tensor integral;    // trunc(x)
};
Modf modf(Arg x);
/// Holds the results of frexp(): x is mantissa 2^exponent.
struct Frexp {
  Tensor mantissa;  // of magnitude in [0.5, 1); 0, infinities and NaN are their own
  Tensor exponent;  // int32; of 0, infinities and NaN it is 0
};
Frexp frexp(Arg x);
/// Returns x 2^n for integers n (DtypeError otherwise), rounded once. The dtype is x's.
Tensor ldexp(Arg x, Arg n);
/// Returns the next number of the dtype from a towards b; b if they are equal. Rump, Zimmermann, Boldo,
/// Melquiond: Computing predecessor and successor in rounding to nearest (BIT 49, 2009).
Tensor nextafter(Arg a, Arg b);
/// Returns the distance from x to the next number away from 0, with the sign of x (0 counts as positive); NaN
/// for infinities.
Tensor spacing(Arg x);

/// True for infinity, and for -infinity.
Tensor isposinf(Arg x);
Tensor isneginf(Arg x);

}  // namespace lazy
