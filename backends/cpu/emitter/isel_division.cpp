// Selects quotient and remainder that floor, and powers.
#include <cmath>

#include "backends/cpu/emitter/isel.hpp"
#include "backends/vector/helpers.hpp"
#include "backends/vector/vecmath/forms.hpp"

namespace lazy::cpu_backend {
using vir::Builder;
using vir::Helper;
using vir::Op;
using vir::Pred;
using vir::Rounding;
using vir::Type;
using vir::Val;
namespace {

vir::HelperId id(Helper h) { return static_cast<vir::HelperId>(h); }

/// Computes C's fmod. While the quotient is below 2^22 its truncation is right to one, so that the remainder
/// of it is exact and at most one divisor off; rare lanes go to the C library.
Val fmod(Builder& b, Val x, Val y) {
  const Val q = b.round(b.div(x, y), Rounding::trunc);
  const Val rest = b.select(b.eq(q, b.num(q, 0)), x, b.fnma(q, y, x));
  const Val signs = b.bitcast(b.int_of(x), b.xor_(rest, x));
  const Val wrong_side = b.lt(signs, b.integer(signs, 0));
  const Val nonzero = b.ne(rest, b.num(rest, 0));
  const Val moved = b.select(b.and_(wrong_side, nonzero), b.add(rest, b.copysign(y, x)), rest);
  const Val signed_rest = b.select(nonzero, moved, b.copysign(b.num(x, 0), x));
  const Val rare = b.ge(b.abs(q), b.num(q, 4194304.0));
  return b.patch(id(x.type == Type::f32 ? Helper::fmod_f32 : Helper::fmod_f64), rare, x, y, signed_rest);
}

struct Floored {
  Val quotient, remainder;
};
/// Divides as NumPy does: the exact remainder is moved to the divisor's sign, and an integral quotient is
/// made from it.
Floored floored(Builder& b, Val x, Val y) {
  const Val zero = b.num(x, 0), one = b.num(x, 1);
  const Val ratio = b.div(x, y);
  const Val rest = fmod(b, x, y);
  const Val by_zero = b.eq(y, zero);
  const Val quotient = b.div(b.sub(x, rest), y);
  const Val none = b.eq(rest, zero);
  const Val differs = b.and_(b.not_(none), b.xor_(b.lt(rest, zero), b.lt(y, zero)));
  const Val moved = b.select(none, b.copysign(zero, y), b.select(differs, b.add(rest, y), rest));
  const Val q = b.select(differs, b.sub(quotient, one), quotient);
  const Val whole = b.round(q, Rounding::floor);
  const Val nearest = b.select(b.gt(b.sub(q, whole), b.num(x, 0.5)), b.add(whole, one), whole);
  const Val signed_q = b.select(b.eq(q, zero), b.copysign(zero, ratio), nearest);
  return {b.select(by_zero, ratio, signed_q), b.select(by_zero, rest, moved)};
}

/// Returns the floor of the quotient of integers. They are divided as floats of at least twice as many bits:
/// the quotient is further from an integer that it doesn't reach than rounding can carry it.
Val integer_quotient(const Selecting& s) {
  Builder& b = s.b;
  const DType t = s.type;
  const Val zero = b.integer(s.x, 0);
  const Val divisor = b.select(b.eq(s.y, zero), b.integer(s.y, 1), s.y);
  const auto as = [&](DType f, Val v) { return emit_cast(b, t, f, v); };
  Val q;
  if (size_of(t) <= 2) {
    q = b.convert(Op::f32_to_i32, Type::i32,
                  b.round(b.div(as(float32, s.x), as(float32, divisor)), Rounding::floor));
  } else if (size_of(t) == 4) {
    const Val f = b.round(b.div(as(float64, s.x), as(float64, divisor)), Rounding::floor);
    // This adds 2^52 + 2^51: the low 32 bits of the sum are those of the integral value, wrapped.
    q = b.convert(Op::narrow, Type::i32, b.bitcast(Type::i64, b.add(f, b.f64(6755399441055744.0))));
  } else {
    const Val f = b.round(b.div(as(float64, s.x), as(float64, divisor)), Rounding::floor);
    const Val limit = b.i64(int64_t{1} << 53), one = b.i64(1);
    const auto too_long = [&](Val v) {
      if (is_unsigned_int(t)) return b.cmp(Pred::uge, v, limit);
      return b.cmp(Pred::ugt, b.iadd(v, b.isub(limit, one)), b.i64((int64_t{1} << 54) - 2));
    };
    const Val rare = b.or_(too_long(s.x), too_long(divisor));
    const Val fast = b.convert(Op::f64_to_i64, Type::i64, f);
    q = b.patch(id(is_unsigned_int(t) ? Helper::div_u64 : Helper::div_i64), rare, s.x, divisor, fast);
  }
  return q;
}

Val integer_power(const Selecting& s) {
  Builder& b = s.b;
  const DType t = s.type;
  if (size_of(t) == 8)
    return b.patch(id(is_unsigned_int(t) ? Helper::pow_u64 : Helper::pow_i64), b.truth(true), s.x, s.y, s.x);
  const Val one = b.i32(1), zero = b.i32(0);
  const int steps = static_cast<int>(size_of(t)) * 8 - (is_signed_int(t) ? 1 : 0);
  Val result = one, base = s.x;
  for (int i = 0; i < steps; ++i) {
    const Val bit = b.ne(b.and_(s.y, b.i32(static_cast<int32_t>(1u << i))), zero);
    result = b.select(bit, b.imul(result, base), result);
    if (i + 1 < steps) base = b.imul(base, base);
  }
  result = normalise(b, t, result);
  if (is_unsigned_int(t)) return result;
  // 1 / x^|y|: nothing is left of it unless x is 1 or -1.
  const Val minus_one = b.i32(-1);
  const Val odd = b.ne(b.and_(s.y, one), zero);
  const Val flipped = b.select(b.eq(s.x, minus_one), b.select(odd, minus_one, one), zero);
  return b.select(b.lt(s.y, zero), b.select(b.eq(s.x, one), one, flipped), result);
}

}  // namespace

Val emit_floor_divide(const Selecting& s) {
  if (is_float(s.type)) return floored(s.b, s.x, s.y).quotient;
  const Val q = normalise(s.b, s.type, integer_quotient(s));
  const Val zero = s.b.integer(s.x, 0);
  return s.b.select(s.b.eq(s.y, zero), zero, q);
}

Val emit_remainder(const Selecting& s) {
  if (is_float(s.type)) return floored(s.b, s.x, s.y).remainder;
  Builder& b = s.b;
  const Val rest = normalise(b, s.type, b.isub(s.x, b.imul(integer_quotient(s), s.y)));
  const Val zero = b.integer(s.x, 0);
  return b.select(b.eq(s.y, zero), zero, rest);
}

Val emit_power(const Selecting& s) {
  return is_float(s.type) ? vecmath::binary(s.op, s.accuracy)(s.b, s.x, s.y) : integer_power(s);
}

}  // namespace lazy::cpu_backend
