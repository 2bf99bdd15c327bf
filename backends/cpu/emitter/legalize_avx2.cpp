#include "backends/cpu/emitter/legalize_avx2.hpp"

#include <limits>

#include "backends/cpu/emitter/block.hpp"

namespace lazy::cpu_backend::avx2 {
using vir::Op;
using vir::Rounding;
using vir::Type;
namespace {

Type int_type(Val v) { return vir::is64(v.type) ? Type::i64 : Type::i32; }
Val raw(Builder& b, Type mask, Pred p, Val x, Val y) {
  vir::Inst in{Op::cmp, mask, static_cast<uint64_t>(p), x.id, y.id};
  in.compared = x.type;
  return b.push(in);
}
Val invert(Builder& b, Val m) { return b.xor_(m, b.integer(m, -1)); }

/// Describes the parts of a float format's word.
struct Format {
  int fraction;  // bits of the stored significand
  int bias;
  int64_t exponent_mask, one, sign;
  double lift;  // makes denormals normal
  int lift_log2;
};
Format format_of(Type t) {
  if (t == Type::f32) return {23, 127, 0x7f800000, 0x3f800000, static_cast<int32_t>(0x80000000u), 0x1p24, 24};
  return {52, 1023, 0x7ff0000000000000, 0x3ff0000000000000, std::numeric_limits<int64_t>::min(), 0x1p54, 54};
}

/// Holds x with denormals scaled up, and the i32 exponent of its leading bit. For zero, infinity and NaN both
/// are arbitrary.
struct Parts {
  Val normal, exponent;
};
Parts parts(Builder& b, Val x) {
  const Format f = format_of(x.type);
  const Type it = int_type(x);
  const Val zero_exponent =
      compare(b, Pred::eq, b.and_(b.bitcast(it, x), b.integer(x, f.exponent_mask)), b.integer(x, 0));
  const Val normal = choose(b, zero_exponent, b.mul(x, b.num(x, f.lift)), x);
  const Val magnitude = b.andn(b.integer(x, f.sign), b.bitcast(it, normal));
  Val e = b.shr(magnitude, f.fraction);
  Val lowered = b.and_(zero_exponent, b.integer(x, f.lift_log2));
  e = b.isub(e, b.iadd(lowered, b.integer(x, f.bias)));
  if (it == Type::i64) e = b.convert(Op::narrow, Type::i32, e);
  return {normal, e};
}
Val significand(Builder& b, Val normal, bool keep_sign) {
  const Format f = format_of(normal.type);
  const int64_t drop = f.exponent_mask | (keep_sign ? 0 : f.sign);
  const Val bits = b.andn(b.integer(normal, drop), b.bitcast(int_type(normal), normal));
  return b.bitcast(normal.type, b.or_(bits, b.integer(normal, f.one)));
}
Val power_of_two(Builder& b, Type t, Val exponent) {
  const Format f = format_of(t);
  Val e = b.iadd(exponent, b.i32(f.bias));
  if (t == Type::f64) e = b.convert(Op::sext, Type::i64, e);
  return b.bitcast(t, b.shl(e, f.fraction));
}

}  // namespace

Val compare(Builder& b, Pred p, Val x, Val y) {
  const Type m = int_type(x);
  if (x.type == Type::f32 || x.type == Type::f64) return raw(b, m, p, x, y);
  if (p >= Pred::ult) {
    const Val sign = b.integer(
        x, vir::is64(x.type) ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min());
    x = b.xor_(x, sign);
    y = b.xor_(y, sign);
    p = static_cast<Pred>(static_cast<int>(p) - static_cast<int>(Pred::ult) + static_cast<int>(Pred::lt));
  }
  switch (p) {
    case Pred::eq: return raw(b, m, Pred::eq, x, y);
    case Pred::ne: return invert(b, raw(b, m, Pred::eq, x, y));
    case Pred::gt: return raw(b, m, Pred::gt, x, y);
    case Pred::lt: return raw(b, m, Pred::gt, y, x);
    case Pred::le: return invert(b, raw(b, m, Pred::gt, x, y));
    default: return invert(b, raw(b, m, Pred::gt, y, x));
  }
}

Val choose(Builder& b, Val mask, Val yes, Val no) {
  return b.push({Op::select, yes.type, 0, mask.id, yes.id, no.id});
}

Val minmax_i64(Builder& b, Op op, Val x, Val y) {
  const Pred less = op == Op::imin || op == Op::imax ? Pred::lt : Pred::ult;
  const Val first = compare(b, less, x, y);
  return op == Op::imin || op == Op::umin ? choose(b, first, x, y) : choose(b, first, y, x);
}

Val imul_i64(Builder& b, Val x, Val y) {
  const auto low = [&](Val p, Val q) { return b.push({kMulLow32, Type::i64, 0, p.id, q.id}); };
  const Val cross = b.iadd(low(b.shr(x, 32), y), low(x, b.shr(y, 32)));
  return b.iadd(low(x, y), b.shl(cross, 32));
}

Val sar_i64(Builder& b, Val x, int n) {
  const Val sign = compare(b, Pred::gt, b.i64(0), x);
  return b.xor_(b.shr(b.xor_(x, sign), n), sign);
}
Val sarv_i64(Builder& b, Val x, Val n) {
  const Val sign = compare(b, Pred::gt, b.i64(0), x);
  return b.xor_(b.shrv(b.xor_(x, sign), n), sign);
}

// Scales x = m * 2^e with m in [1, 2): of the two factors that follow the first is exact and the second
// rounds once.
Val scalef(Builder& b, Val x, Val n, bool near_one) {
  if (near_one) {  // both halves of the power are normal, and so is x times the first
    const Val steps = b.convert(x.type == Type::f32 ? Op::f32_to_i32 : Op::f64_to_i32, Type::i32, n);
    const Val half = b.sar(steps, 1);
    return b.mul(b.mul(x, power_of_two(b, x.type, half)), power_of_two(b, x.type, b.isub(steps, half)));
  }
  const Format f = format_of(x.type);
  const Parts p = parts(b, x);
  const Val floor = b.round(n, Rounding::floor);
  const Val steps = b.convert(x.type == Type::f32 ? Op::f32_to_i32 : Op::f64_to_i32, Type::i32, floor);
  const int limit = x.type == Type::f32 ? 200 : 1600;
  const Val e = b.imin(b.imax(b.iadd(p.exponent, steps), b.i32(-limit)), b.i32(limit));
  const Val half = b.sar(e, 1);
  const Val once = b.mul(significand(b, p.normal, true), power_of_two(b, x.type, half));
  const Val scaled = b.mul(once, power_of_two(b, x.type, b.isub(e, half)));
  const Val magnitude = b.andn(b.integer(x, f.sign), b.bitcast(int_type(x), x));
  const Val special = b.or_(compare(b, Pred::eq, magnitude, b.integer(x, 0)),
                            compare(b, Pred::gt, magnitude, b.integer(x, f.exponent_mask - 1)));
  return choose(b, special, x, scaled);
}

Val getexp(Builder& b, Val x, GetExp what) {
  const bool normal = what == GetExp::of_normal;
  if (normal && x.type == Type::f32)
    return b.convert(Op::i32_to_f32, x.type, b.isub(b.shr(b.bitcast(Type::i32, x), 23), b.i32(127)));
  if (normal) {  // beside 2^52, whose last place is 1
    const Val beside = b.or_(b.shr(b.bitcast(Type::i64, x), 52), b.i64(0x4330000000000000));
    return b.sub(b.bitcast(Type::f64, beside), b.f64(0x1p52 + 1023));
  }
  const Format f = format_of(x.type);
  const Val e =
      b.convert(x.type == Type::f32 ? Op::i32_to_f32 : Op::i32_to_f64, x.type, parts(b, x).exponent);
  const Val magnitude = b.andn(b.integer(x, f.sign), b.bitcast(int_type(x), x));
  const double inf = std::numeric_limits<double>::infinity();
  const Val finite = choose(b, compare(b, Pred::eq, magnitude, b.integer(x, 0)), b.num(x, -inf), e);
  return choose(b, compare(b, Pred::gt, magnitude, b.integer(x, f.exponent_mask - 1)),
                what == GetExp::of_positive ? x : b.bitcast(x.type, magnitude),
                finite);  // a NaN keeps its sign
}

Val getmant(Builder& b, Val x, bool refuse_negative) {
  const Val m = significand(b, parts(b, x).normal, false);
  const Val scaled = choose(b, compare(b, Pred::ge, m, b.num(x, 1.5)), b.mul(m, b.num(x, 0.5)), m);
  if (!refuse_negative) return scaled;
  return choose(b, compare(b, Pred::lt, x, b.num(x, 0)), b.num(x, -std::numeric_limits<double>::quiet_NaN()),
                scaled);  // as the processor's instruction does
}

// Puts each half beside a power of two whose last place is the half's; the difference of the powers leaves
// exactly.
Val i64_to_f64(Builder& b, Val x) {
  const Val high = b.xor_(b.shr(x, 32), b.i64(0x4530000080000000));                // 2^84 + 2^63
  const Val low = b.or_(b.and_(x, b.i64(0xffffffff)), b.i64(0x4330000000000000));  // 2^52
  return b.add(b.sub(b.bitcast(Type::f64, high), b.f64(0x1p84 + 0x1p63 + 0x1p52)), b.bitcast(Type::f64, low));
}

Val f64_to_i64(Builder& b, Val x) {
  const Val bits = b.bitcast(Type::i64, x);
  const Val e = b.isub(b.and_(b.shr(bits, 52), b.i64(0x7ff)), b.i64(1075));
  const Val m = b.or_(b.and_(bits, b.i64(0xfffffffffffff)), b.i64(0x10000000000000));
  // A shift that is negative, so huge, leaves nothing.
  const Val magnitude = b.or_(b.shlv(m, e), b.shrv(m, b.isub(b.i64(0), e)));
  const Val sign = compare(b, Pred::gt, b.i64(0), bits);
  const Val value = b.isub(b.xor_(magnitude, sign), sign);
  const Val inside = compare(b, Pred::lt, b.abs(x), b.f64(0x1p63));
  return choose(b, inside, value, b.i64(std::numeric_limits<int64_t>::min()));
}

// Converts by way of float64. From 2^53 on the low bits become one sticky bit: exact in float64 then, and
// rounded once after.
Val i64_to_f32(Builder& b, Val x) {
  const Val zero = b.i64(0);
  const Val exact = compare(b, Pred::eq, b.and_(x, b.i64(0x7ff)), zero);
  const Val sticky = b.andn(exact, b.i64(0x800));
  const Val shorter = b.or_(b.and_(x, b.i64(~int64_t{0x7ff})), sticky);
  const Val large =
      compare(b, Pred::ugt, b.iadd(x, b.i64((int64_t{1} << 53) - 1)), b.i64((int64_t{1} << 54) - 2));
  return b.convert(Op::f64_to_f32, Type::f32, i64_to_f64(b, choose(b, large, shorter, x)));
}

}  // namespace lazy::cpu_backend::avx2
