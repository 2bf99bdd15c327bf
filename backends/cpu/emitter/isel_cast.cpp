// Converts between element types. Floats to integers truncate and saturate, NaN gives 0; integers wrap;
// everything that ends in a float is rounded exactly once.
#include <cmath>
#include <limits>

#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {
using vir::Builder;
using vir::Op;
using vir::Pred;
using vir::Rounding;
using vir::Type;
using vir::Val;
namespace {

int bits_of(DType t) { return static_cast<int>(size_of(t)) * 8; }

Val integer_to_integer(Builder& b, DType from, DType to, Val v) {
  if (size_of(to) == 8) {
    if (size_of(from) == 8) return v;
    return b.convert(is_signed_int(from) ? Op::sext : Op::zext, Type::i64, v);
  }
  if (size_of(from) == 8) v = b.convert(Op::narrow, Type::i32, v);
  // Already in range when the source's values all are.
  const bool fits = size_of(from) < size_of(to)
                        ? is_unsigned_int(from) || is_signed_int(to) || size_of(to) == 4
                        : from == to;
  return fits ? v : normalise(b, to, v);
}

/// Converts an unsigned number. Where the top bit is set, half of it, whose last bit is sticky, is converted
/// and doubled, so that this rounds once.
Val unsigned_to_float(Builder& b, Val v, Op convert, Type to) {
  const Val one = b.integer(v, 1);
  const Val half = b.or_(b.shr(v, 1), b.and_(v, one));
  const Val halved = b.convert(convert, to, half);
  return b.select(b.lt(v, b.integer(v, 0)), b.add(halved, halved), b.convert(convert, to, v));
}

Val integer_to_f32(Builder& b, DType from, Val v) {
  switch (from) {
    case DType::uint32: return unsigned_to_float(b, v, Op::i32_to_f32, Type::f32);
    case DType::uint64: return unsigned_to_float(b, v, Op::i64_to_f32, Type::f32);
    case DType::int64: return b.convert(Op::i64_to_f32, Type::f32, v);
    default: return b.convert(Op::i32_to_f32, Type::f32, v);
  }
}
Val integer_to_f64(Builder& b, DType from, Val v) {
  switch (from) {
    case DType::uint32: return b.convert(Op::i64_to_f64, Type::f64, b.convert(Op::zext, Type::i64, v));
    case DType::uint64: return unsigned_to_float(b, v, Op::i64_to_f64, Type::f64);
    case DType::int64: return b.convert(Op::i64_to_f64, Type::f64, v);
    default: return b.convert(Op::i32_to_f64, Type::f64, v);
  }
}

/// Returns the float32 nearest to a float64, but when that is inexact the neighbour whose last bit is odd:
/// rounding this to a shorter format gives what rounding the float64 would.
Val f64_to_f32_odd(Builder& b, Val x) {
  const Val near = b.convert(Op::f64_to_f32, Type::f32, x);
  const Val back = b.convert(Op::f32_to_f64, Type::f64, near);
  const Val bits = b.bitcast(Type::i32, near);
  const Val ax = b.abs(x), aback = b.abs(back);
  const Val down = b.gt(aback, ax), up = b.lt(aback, ax);
  const Val even = b.eq(b.and_(bits, b.i32(1)), b.i32(0));
  const Val finite = b.lt(ax, b.f64(std::numeric_limits<double>::infinity()));
  // Magnitudes count up in the bits, infinity included: from it one step down is the largest finite number.
  const Val stepped = b.select(down, b.isub(bits, b.i32(1)), b.select(up, b.iadd(bits, b.i32(1)), bits));
  return b.bitcast(Type::f32, b.select(b.and_(even, finite), stepped, bits));
}

/// Rounds to the values of bfloat16, as float32.
Val round_to_bf16(Builder& b, Val x) {
  const Val bits = b.bitcast(Type::i32, x);
  const Val odd = b.and_(b.shr(bits, 16), b.i32(1));
  const Val rounded = b.iadd(bits, b.iadd(odd, b.i32(0x7fff)));
  const Val quiet = b.or_(bits, b.i32(0x00400000));
  const Val high = b.select(b.isnan(x), quiet, rounded);
  return b.bitcast(Type::f32, b.and_(high, b.i32(static_cast<int32_t>(0xffff0000u))));
}

/// Rounds to the values of float16, as float32: by adding and taking off a number whose last place is
/// float16's.
Val round_to_f16(Builder& b, Val x) {
  const Val a = b.abs(x);
  const Val exponent = b.and_(b.bitcast(Type::i32, a), b.i32(0x7f800000));
  // 1.5 * 2^(e + 13), e no less than float16's -14 : its last place is 2^(e - 10).
  const Val lifted = b.iadd(b.imax(exponent, b.i32((127 - 14) << 23)), b.i32((13 << 23) | 0x00400000));
  const Val magic = b.bitcast(Type::f32, lifted);
  const Val rounded = b.sub(b.add(a, magic), magic);
  const Val limited =
      b.select(b.ge(rounded, b.f32(65536)), b.f32(std::numeric_limits<float>::infinity()), rounded);
  const Val huge = b.ge(a, b.f32(65536));  // infinity too, for which the sum above makes no sense
  const Val magnitude = b.select(huge, b.f32(std::numeric_limits<float>::infinity()), limited);
  return b.select(b.isnan(x), b.add(x, x), b.copysign(magnitude, x));
}

Val to_half(Builder& b, DType from, DType to, Val v) {
  Val f;
  if (from == DType::float64) {
    f = f64_to_f32_odd(b, v);
  } else if (is_float(from)) {
    f = v;
  } else if (size_of(from) == 8) {
    // Beyond 2^53 the low bits become one sticky bit: exact in float64 then, and rounded once after.
    const Val sticky = b.select(b.ne(b.and_(v, b.i64(0x7ff)), b.i64(0)), b.i64(0x800), b.i64(0));
    const Val short_form = b.or_(b.and_(v, b.i64(~int64_t{0x7ff})), sticky);
    const Val limit = b.i64(int64_t{1} << 53);
    const Val large = is_unsigned_int(from) ? b.cmp(Pred::uge, v, limit)
                                            : b.or_(b.ge(v, limit), b.le(v, b.i64(-(int64_t{1} << 53))));
    f = f64_to_f32_odd(b, integer_to_f64(b, from, b.select(large, short_form, v)));
  } else if (size_of(from) == 4) {
    const Val sticky = b.select(b.ne(b.and_(v, b.i32(0xff)), b.i32(0)), b.i32(0x100), b.i32(0));
    const Val short_form = b.or_(b.and_(v, b.i32(~0xff)), sticky);
    const Val limit = b.i32(1 << 24);
    const Val large = is_unsigned_int(from) ? b.cmp(Pred::uge, v, limit)
                                            : b.or_(b.ge(v, limit), b.le(v, b.i32(-(1 << 24))));
    f = integer_to_f32(b, from, b.select(large, short_form, v));
  } else {
    f = integer_to_f32(b, from, v);
  }
  return to == DType::float16 ? round_to_f16(b, f) : round_to_bf16(b, f);
}

/// Returns `x` truncated into [low, high], both exact in x's type; NaN stays. x is the second operand of min
/// and max so that it does.
Val clamp(Builder& b, Val x, double low, double high) {
  return b.max(b.num(x, low), b.min(b.num(x, high), x));
}

Val float_to_integer(Builder& b, DType to, Val x) {
  const bool wide = x.type == Type::f64;
  const int bits = bits_of(to);
  const Val nan = b.isnan(x);
  if (bits <= 16) {
    const double low = is_signed_int(to) ? -std::ldexp(1, bits - 1) : 0;
    const double high = std::ldexp(1, is_signed_int(to) ? bits - 1 : bits) - 1;
    const Val i = b.convert(wide ? Op::f64_to_i32 : Op::f32_to_i32, Type::i32, clamp(b, x, low, high));
    return b.select(nan, b.i32(0), i);
  }
  const bool eight = bits == 64;
  const Op op = eight ? (wide ? Op::f64_to_i64 : Op::f32_to_i64) : (wide ? Op::f64_to_i32 : Op::f32_to_i32);
  const Type t = eight ? Type::i64 : Type::i32;
  const auto num = [&](int64_t v) { return eight ? b.i64(v) : b.i32(static_cast<int32_t>(v)); };
  const int64_t least = eight ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  if (is_signed_int(to)) {
    // Too small gives the least integer by itself, and so do too large and NaN.
    const Val i = b.convert(op, t, x);
    const Val too_large = b.ge(x, b.num(x, std::ldexp(1, bits - 1)));
    return b.select(too_large, num(~least), b.select(nan, num(0), i));
  }
  const Val half = b.num(x, std::ldexp(1, bits - 1));
  const Val upper = b.ge(x, half);
  const Val positive = b.max(b.num(x, 0), x);  // NaN stays
  const Val low = b.convert(op, t, b.select(upper, b.sub(positive, half), positive));
  const Val i = b.xor_(low, b.select(upper, num(least), num(0)));
  const Val too_large = b.ge(x, b.num(x, std::ldexp(1, bits)));
  return b.select(too_large, num(-1), b.select(nan, num(0), i));
}

}  // namespace

Val emit_cast(Builder& b, DType from, DType to, Val v) {
  if (from == to) return v;
  if (is_bool(to)) {
    if (is_float(from)) return b.ne(v, b.num(v, 0));
    return b.ne(v, b.integer(v, 0));
  }
  if (is_bool(from)) {
    if (is_int(to)) return b.mask_to_int(lane_type(to), v);
    return to == DType::float64 ? b.select(v, b.f64(1), b.f64(0)) : b.select(v, b.f32(1), b.f32(0));
  }
  if (is_int(from)) {
    if (is_int(to)) return integer_to_integer(b, from, to, v);
    if (to == DType::float64) return integer_to_f64(b, from, v);
    return is_half(to) ? to_half(b, from, to, v) : integer_to_f32(b, from, v);
  }
  if (is_int(to)) return float_to_integer(b, to, v);
  if (is_half(to)) return to_half(b, from, to, v);
  if (to == DType::float32) return from == DType::float64 ? b.convert(Op::f64_to_f32, Type::f32, v) : v;
  return b.convert(Op::f32_to_f64, Type::f64, v);
}

}  // namespace lazy::cpu_backend
