// Implements asinh, acosh by the logarithm of |x| + sqrt(x^2 +- 1) as a sum of two numbers; atanh by that of
// (1 + |x|) / (1 - |x|), as 2 atanh((u - v) / (u + v)). Separate polynomials serve near 0 (near 1 for acosh).
#include "backends/vector/vecmath/coefficients_trig.hpp"
#include "backends/vector/vecmath/polynomial.hpp"

namespace lazy::vecmath {
namespace {
using namespace coefficients;

constexpr double kAsinhCentre64 = 756. / 1024;  // kAsinh64 is in z minus this

double ln2_hi(Val x) { return pick(x, explog::kLn2Near32_hi, explog::kLn2Near64_hi); }
double ln2_lo(Val x) { return pick(x, explog::kLn2Near32_lo, explog::kLn2Near64_lo); }

/// Returns log(larger + smaller), and where `huge` log of twice `a` instead.
Val log_of_sum(Builder& b, Val larger, Val smaller, Val a, Val huge) {
  Val zero = b.num(a, 0);
  Pair sum = fast_two_sum(b, b.select(huge, a, larger), b.select(huge, zero, smaller));
  return log_of_pair(b, sum, b.select(huge, b.num(a, 1), zero));
}

}  // namespace

Val asinh(Builder& b, Val x) {
  Val a = b.abs(x);
  Val z = b.mul(x, x);
  Val p =
      x.type == Type::f32 ? horner(b, z, kAsinh32) : polynomial(b, b.sub(z, b.f64(kAsinhCentre64)), kAsinh64);
  Val near = b.fma(b.mul(a, z), p, a);
  // sqrt(x^2 + 1) is |x| long before the square overflows
  Val huge = b.gt(a, b.num(x, pick(x, 0x1p14, 0x1p30)));
  Val far =
      b.select(b.lt(a, b.num(x, kInfinity)), log_of_sum(b, b.sqrt(b.fma(x, x, b.num(x, 1))), a, a, huge), a);
  Val y = b.select(b.lt(a, b.num(x, 1.2)), near, far);
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

// Near 1, with t = x - 1, the square of the result is 2 t plus a polynomial in t; below 1 its root is NaN.
Val acosh(Builder& b, Val x) {
  Val one = b.num(x, 1);
  Val t = b.sub(x, one);
  Val near = b.sqrt(b.fma(b.mul(t, t), polynomial(b, t, pick(x, kAcosh32, kAcosh64)), b.add(t, t)));
  Val huge = b.gt(x, b.num(x, pick(x, 0x1p14, 0x1p30)));
  Val far = b.select(b.lt(x, b.num(x, kInfinity)), log_of_sum(b, x, b.sqrt(b.fms(x, x, one)), x, huge), x);
  return b.select(b.lt(t, one), near, far);
}

// Computes (1 + a) / (1 - a) with 1 - a = 2^-k m, m in [1, 2): up to 1/2 that is atanh's own argument, beyond
// it s = (1 + a - m) / (1 + a + m) and k ln(2) / 2. Both use one polynomial.
Val atanh(Builder& b, Val x) {
  const Type integer = b.int_of(x);
  Val one = b.num(x, 1), zero = b.num(x, 0);
  Val a = b.abs(x);
  Val bits = b.bitcast(integer, b.sub(one, a));
  Val fraction = b.integer(x, (int64_t{1} << mantissa_bits(x)) - 1);
  Val m = b.bitcast(x.type, b.or_(b.and_(bits, fraction), power_bits(b, x, 0)));
  Val k = b.isub(b.integer(x, exponent_bias(x)), b.shr(bits, mantissa_bits(x)));
  Val n = x.type == Type::f32 ? b.convert(vir::Op::i32_to_f32, Type::f32, k)
                              : b.convert(vir::Op::i64_to_f64, Type::f64, k);
  Val near = b.lt(a, b.num(x, 0.5));
  Val s = b.div(b.add(a, b.sub(one, m)), b.add(a, b.add(one, m)));
  s = b.select(near, a, s);
  n = b.select(near, zero, n);
  Val z = b.mul(s, s);
  Val q =
      b.fma(b.mul(s, z), polynomial(b, z, pick(x, kAtanh32, kAtanh64)), b.mul(n, b.num(x, ln2_lo(x) / 2)));
  Val y = b.fma(n, b.num(x, ln2_hi(x) / 2), b.add(s, q));
  Val nan = b.num(x, std::numeric_limits<double>::quiet_NaN());
  y = b.select(b.lt(a, one), y, b.select(b.eq(a, one), b.num(x, kInfinity), nan));
  return b.or_(y, b.and_(x, b.sign_bit(x)));
}

}  // namespace lazy::vecmath
