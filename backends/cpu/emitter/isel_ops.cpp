// Selects each pointwise op by a short function, and lists them in a table.
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/emitter/isel.hpp"
#include "backends/vector/vecmath/forms.hpp"
#include "support/lock.hpp"

namespace lazy::cpu_backend {
using vir::Builder;
using vir::Pred;
using vir::Rounding;
using vir::Type;
using vir::Val;
namespace {

using S = const Selecting&;

Val infinity(Builder& b, Val like) { return b.num(like, std::numeric_limits<double>::infinity()); }

Val cast(S s) { return emit_cast(s.b, s.operand, s.type, s.x); }

Val negative(S s) {
  if (is_float(s.type)) return s.b.neg(s.x);
  return normalise(s.b, s.type, s.b.isub(s.b.integer(s.x, 0), s.x));
}
Val abs(S s) {
  if (is_float(s.type)) return s.b.abs(s.x);
  if (is_unsigned_int(s.type)) return s.x;
  return normalise(s.b, s.type, s.b.imax(s.x, s.b.isub(s.b.integer(s.x, 0), s.x)));
}
Val sign(S s) {
  Builder& b = s.b;
  if (is_float(s.type)) {
    const Val zero = b.num(s.x, 0);
    const Val signed_one = b.or_(b.and_(s.x, b.sign_bit(s.x)), b.num(s.x, 1));
    const Val nan_or_zero = b.add(s.x, zero);  // -0 + 0 is +0
    return b.select(b.cmp(Pred::ne, s.x, zero), b.select(b.isnan(s.x), s.x, signed_one), nan_or_zero);
  }
  const Val zero = b.integer(s.x, 0), one = b.integer(s.x, 1);
  if (is_unsigned_int(s.type)) return b.select(b.ne(s.x, zero), one, zero);
  return b.imin(b.imax(s.x, b.integer(s.x, -1)), one);
}
Val bitwise_invert(S s) {
  if (is_bool(s.type)) return s.b.not_(s.x);
  return normalise(s.b, s.type, s.b.xor_(s.x, s.b.integer(s.x, -1)));
}
template <Rounding R>
Val rounding(S s) {
  return is_float(s.type) ? s.b.round(s.x, R) : s.x;
}
Val isnan(S s) { return is_float(s.operand) ? s.b.isnan(s.x) : s.b.truth(false); }
Val isinf(S s) { return is_float(s.operand) ? s.b.eq(s.b.abs(s.x), infinity(s.b, s.x)) : s.b.truth(false); }
Val isfinite(S s) { return is_float(s.operand) ? s.b.lt(s.b.abs(s.x), infinity(s.b, s.x)) : s.b.truth(true); }
Val signbit(S s) {
  if (is_unsigned_int(s.operand)) return s.b.truth(false);
  const Val i = is_float(s.operand) ? s.b.bitcast(s.b.int_of(s.x), s.x) : s.x;
  return s.b.lt(i, s.b.integer(i, 0));
}
Val sqrt(S s) { return s.b.sqrt(s.x); }

Val math1(S s) { return vecmath::unary(s.op, s.accuracy)(s.b, s.x); }
Val math2(S s) { return vecmath::binary(s.op, s.accuracy)(s.b, s.x, s.y); }

Val add(S s) { return is_float(s.type) ? s.b.add(s.x, s.y) : normalise(s.b, s.type, s.b.iadd(s.x, s.y)); }
Val subtract(S s) {
  return is_float(s.type) ? s.b.sub(s.x, s.y) : normalise(s.b, s.type, s.b.isub(s.x, s.y));
}
Val multiply(S s) {
  return is_float(s.type) ? s.b.mul(s.x, s.y) : normalise(s.b, s.type, s.b.imul(s.x, s.y));
}
Val divide(S s) { return s.b.div(s.x, s.y); }
Val fma(S s) { return s.b.fma(s.x, s.y, s.z); }
Val copysign(S s) { return s.b.copysign(s.x, s.y); }

Val bitwise_and(S s) { return s.b.and_(s.x, s.y); }
Val bitwise_or(S s) { return s.b.or_(s.x, s.y); }
Val bitwise_xor(S s) { return s.b.xor_(s.x, s.y); }

// Counts compare as unsigned, so that negative ones are past every width.
Val left_shift(S s) {
  Builder& b = s.b;
  return normalise(b, s.type, b.shlv(s.x, s.y));
}
Val right_shift(S s) {
  Builder& b = s.b;
  return is_unsigned_int(s.type) ? b.shrv(s.x, s.y) : b.sarv(s.x, s.y);
}

template <Pred P>
Val comparison(S s) {
  return emit_compare(s.b, s.operand, P, s.x, s.y);
}
Val where(S s) { return s.b.select(s.x, s.y, s.z); }

using Table = std::array<EmitFn, jit::kOpCount>;
Table make_table() {
  using jit::Op;
  Table t{};
  const auto set = [&](Op op, EmitFn f) { t[static_cast<size_t>(op)] = f; };
#define LAZY_ROW(op) set(Op::op, op)
  LAZY_ROW(cast);
  LAZY_ROW(negative);
  LAZY_ROW(abs);
  LAZY_ROW(sign);
  LAZY_ROW(bitwise_invert);
  LAZY_ROW(isnan);
  LAZY_ROW(isinf);
  LAZY_ROW(isfinite);
  LAZY_ROW(signbit);
  LAZY_ROW(sqrt);
  LAZY_ROW(add);
  LAZY_ROW(subtract);
  LAZY_ROW(multiply);
  LAZY_ROW(divide);
  LAZY_ROW(copysign);
  LAZY_ROW(fma);
  LAZY_ROW(bitwise_and);
  LAZY_ROW(bitwise_or);
  LAZY_ROW(bitwise_xor);
  LAZY_ROW(left_shift);
  LAZY_ROW(right_shift);
  LAZY_ROW(where);
#undef LAZY_ROW
  set(Op::philox0, emit_philox0);
  set(Op::philox1, emit_philox1);
  set(Op::ceil, rounding<Rounding::ceil>);
  set(Op::floor, rounding<Rounding::floor>);
  set(Op::trunc, rounding<Rounding::trunc>);
  set(Op::round, rounding<Rounding::even>);
#define LAZY_RECIPE(op) set(Op::op, math1);
#define LAZY_RECIPE2(op, recipe) set(Op::op, math2);
#include "backends/vector/vecmath/forms.def"
  set(Op::floor_divide, emit_floor_divide);
  set(Op::remainder, emit_remainder);
  set(Op::power, emit_power);
  set(Op::maximum, emit_maximum);
  set(Op::minimum, emit_minimum);
  set(Op::equal, comparison<Pred::eq>);
  set(Op::not_equal, comparison<Pred::ne>);
  set(Op::less, comparison<Pred::lt>);
  set(Op::less_equal, comparison<Pred::le>);
  set(Op::greater, comparison<Pred::gt>);
  set(Op::greater_equal, comparison<Pred::ge>);
  return t;
}

}  // namespace

EmitFn emission(jit::Op op) {
  static constinit Once<const Table> table;
  return table.get(make_table)[static_cast<size_t>(op)];
}

Val normalise(Builder& b, DType t, Val v) {
  switch (t) {
    case DType::int8: return b.sar(b.shl(v, 24), 24);
    case DType::int16: return b.sar(b.shl(v, 16), 16);
    case DType::uint8: return b.and_(v, b.i32(0xff));
    case DType::uint16: return b.and_(v, b.i32(0xffff));
    default: return v;
  }
}

// Returns the maximum. Either order of x86's min and max gives a different operand of two equal numbers
// (zeros of either sign, too): the signs of both results together decide. A NaN makes a sum NaN.
Val emit_maximum(S s) {
  Builder& b = s.b;
  if (!is_float(s.type)) return is_unsigned_int(s.type) ? b.umax(s.x, s.y) : b.imax(s.x, s.y);
  const Val ordered = b.and_(b.max(s.x, s.y), b.max(s.y, s.x));
  return b.select(b.cmp(Pred::unord, s.x, s.y), b.add(s.x, s.y), ordered);
}
Val emit_minimum(S s) {
  Builder& b = s.b;
  if (!is_float(s.type)) return is_unsigned_int(s.type) ? b.umin(s.x, s.y) : b.imin(s.x, s.y);
  const Val ordered = b.or_(b.min(s.x, s.y), b.min(s.y, s.x));
  return b.select(b.cmp(Pred::unord, s.x, s.y), b.add(s.x, s.y), ordered);
}

Val emit_compare(Builder& b, DType t, Pred p, Val x, Val y) {
  if (is_bool(t)) {
    switch (p) {
      case Pred::eq: return b.not_(b.xor_(x, y));
      case Pred::ne: return b.xor_(x, y);
      case Pred::lt: return b.andn(x, y);
      case Pred::gt: return b.andn(y, x);
      case Pred::le: return b.not_(b.andn(y, x));
      default: return b.not_(b.andn(x, y));
    }
  }
  if (is_unsigned_int(t) && size_of(t) >= 4) {
    switch (p) {
      case Pred::lt: p = Pred::ult; break;
      case Pred::le: p = Pred::ule; break;
      case Pred::gt: p = Pred::ugt; break;
      case Pred::ge: p = Pred::uge; break;
      default: break;
    }
  }
  return b.cmp(p, x, y);
}

}  // namespace lazy::cpu_backend
