// Defines vector IR: the straight-line SSA code between the loop IR and machine instructions.
//
// A value is one vector of W lanes (W is chosen per kernel: so many lanes of its widest type fill a register,
// narrower types use a part of one; lane i always belongs to the same loop index). Instruction selection
// (isel) and vector math build it, passes hoist and interleave it, the register allocator and the encoder
// turn it into AVX2+FMA or AVX-512. An instruction computes the same on every level, to the bit. `interpret`
// (vir_interpret.hpp) defines it in plain C++.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace lazy::vir {

/// Lists lane types. 8-, 16- and 32-bit integers and unsigned ones use i32 lanes, 64-bit ones i64. A mask
/// lane is true or false.
enum class Type : uint8_t { f32, f64, i32, i64, mask };
constexpr bool is64(Type t) { return t == Type::f64 || t == Type::i64; }

enum class Op : uint8_t {
  constant,  // imm: the bits of one lane, the same in each (mask: 0 or 1)
  input,  // imm: a slot. Whatever surrounds the straight-line code defines it (loads, scalars, accumulators,
          // ...)
  // floating point, IEEE, round to nearest even, denormals kept
  add,
  sub,
  mul,
  div,  // imm 1 promises: 2^-42 <= |b| < 2^42, and 2^-84 <= |a| < 2^84 or a is +0; or one of them is NaN
  sqrt,
  fma,   // a*b + c, one rounding
  fnma,  // c - a*b, one rounding
  fms,   // a*b - c, one rounding
  min,
  max,      // x86: if either is NaN, or both are zeros, the result is b. So min(limit, x) keeps a NaN in x
  round,    // imm: Rounding
  scalef,   // a * 2^floor(b); b finite, |b| < 2^20; one rounding, denormal results right, overflow gives inf;
            // a NaN in a stays one, whatever b. imm 1 promises: b is NaN or an integer, |b| <= 200 (f32),
            // 1200 (f64); a is NaN, or 1/128 <= |a| < 4, or b is 0
  getexp,   // floor(log2 |a|) as a float, denormals too; 0 -> -inf, inf -> inf, NaN -> NaN. imm 1 promises: a
            // is positive and normal, or NaN (result then unspecified); imm 2: of a negative a the result is
            // unspecified
  getmant,  // a's significand scaled to [0.75, 1.5), denormals too; 0 and inf give 1, NaN unspecified.
            // imm 0: sign dropped; imm 1: a < 0 gives NaN, -0 gives 1 (AVX-512: sign control 1 and 3)
  // any type, bitwise; masks too
  and_,
  or_,
  xor_,
  andn,  // ~a & b
  // integers, wrapping
  iadd,
  isub,
  imul,
  imin,
  imax,
  umin,
  umax,
  shl,
  shr,
  sar,  // by imm (0 <= imm < width); shr is logical
  shlv,
  shrv,
  sarv,  // by b, lane by lane; b is unsigned: the width or more gives 0 (sarv: all sign bits)
  // comparisons -> mask; imm: Pred. Operand types: any but mask
  cmp,
  select,  // a (mask) ? b : c, of b's type; b and c may be masks
  // conversions
  bitcast,  // between types of one lane width
  f32_to_f64,
  f64_to_f32,
  i32_to_f32,
  f32_to_i32,  // to integer: towards zero; out of range or NaN gives the x86 "integer indefinite" (only the
               // sign bit)
  i32_to_f64,
  f64_to_i32,
  i64_to_f64,
  f64_to_i64,
  i64_to_f32,
  f32_to_i64,
  sext,         // i32 -> i64
  zext,         // i32 -> i64
  narrow,       // i64 -> i32, low half
  mask_to_int,  // mask -> 0 or 1 in i32 or i64 (the instruction's type)
  // rare lanes: those of mask a where true take helper `imm` applied to the lanes of b (and c), the others
  // keep d. Nothing is called when no lane is set. With an all-true constant mask: a plain call.
  patch,
  foreign,  // no operation of vir's: see OpCode
};

/// Says what an instruction does: an operation of Op, or one that only those know who build and read the
/// code, from an enumeration of their own.
class OpCode {
 public:
  constexpr OpCode(Op op = {}) : number_(static_cast<uint8_t>(op)) {}
  template <class Own>
  requires std::is_enum_v<Own>
  constexpr OpCode(Own own) : number_(static_cast<uint8_t>(kFirstForeign + static_cast<uint8_t>(own))) {}
  static constexpr OpCode from_number(uint8_t number) {
    OpCode op;
    op.number_ = number;
    return op;
  }

  constexpr bool is_foreign() const { return number_ >= kFirstForeign; }
  /// Returns Op::foreign for one that is not vir's.
  constexpr operator Op() const { return is_foreign() ? Op::foreign : static_cast<Op>(number_); }
  /// Returns a foreign operation as what it is in its enumeration.
  template <class Own>
  constexpr Own as() const {
    return static_cast<Own>(number_ - kFirstForeign);
  }
  /// Returns a number that no other operation has.
  constexpr uint8_t number() const { return number_; }
  friend constexpr bool operator==(OpCode, OpCode) = default;
  friend constexpr bool operator==(OpCode a, Op b) { return a == OpCode(b); }

 private:
  static constexpr uint8_t kFirstForeign = 200;
  static_assert(static_cast<uint8_t>(Op::foreign) < kFirstForeign);
  uint8_t number_;
};

enum class Rounding : uint8_t { even, floor, ceil, trunc };
/// Compares. o: false on NaN, u: true on NaN. For integers: lt..ge signed, ult..uge unsigned.
enum class Pred : uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  unord,
  ord,
  ult,
  ule,
  ugt,
  uge
};  // floats: eq, lt, le, gt, ge are "o", ne is "u"

/// Numbers a lane helper that `patch` may call: plain C++ on memory, registered in one table (helpers.hpp).
using HelperId = uint16_t;

struct Inst {
  OpCode op;
  Type type{};
  Type compared{};  // cmp: its operands' type, set where they no longer tell it
  uint64_t imm = 0;
  uint32_t a = 0, b = 0, c = 0, d = 0;  // ids of earlier instructions; see `arity_of`

  constexpr Inst() = default;
  constexpr Inst(OpCode what, Type of, uint64_t immediate = 0, uint32_t first = 0, uint32_t second = 0,
                 uint32_t third = 0, uint32_t fourth = 0)
      : op(what), type(of), imm(immediate), a(first), b(second), c(third), d(fourth) {}
};
constexpr int arity_of(Op op) {
  switch (op) {
    case Op::constant:
    case Op::input: return 0;
    case Op::sqrt:
    case Op::round:
    case Op::getexp:
    case Op::getmant:
    case Op::shl:
    case Op::shr:
    case Op::sar:
    case Op::bitcast:
    case Op::f32_to_f64:
    case Op::f64_to_f32:
    case Op::i32_to_f32:
    case Op::f32_to_i32:
    case Op::i32_to_f64:
    case Op::f64_to_i32:
    case Op::i64_to_f64:
    case Op::f64_to_i64:
    case Op::i64_to_f32:
    case Op::f32_to_i64:
    case Op::sext:
    case Op::zext:
    case Op::narrow:
    case Op::mask_to_int: return 1;
    case Op::fma:
    case Op::fnma:
    case Op::fms:
    case Op::select: return 3;
    case Op::patch: return 4;
    default: return 2;
  }
}

struct Val {
  uint32_t id = ~0u;
  Type type{};
};

/// Appends instructions. Equal instructions are built once (value numbering), so recipes may repeat constants
/// freely.
class Builder {
 public:
  std::vector<Inst> code;
  /// True if `select` costs less than `fma`, as with mask registers: recipes may then choose between two ways
  /// to the same bits.
  bool cheap_select = true;

  Val constant(Type t, uint64_t bits) { return push({Op::constant, t, bits}); }
  Val f32(float v) { return constant(Type::f32, std::bit_cast<uint32_t>(v)); }
  Val f64(double v) { return constant(Type::f64, std::bit_cast<uint64_t>(v)); }
  Val i32(int32_t v) { return constant(Type::i32, static_cast<uint32_t>(v)); }
  Val i64(int64_t v) { return constant(Type::i64, static_cast<uint64_t>(v)); }
  /// Return a float constant of `like`'s type, or an integer constant of that width. double -> float is
  /// rounded once.
  Val num(Val like, double v) { return like.type == Type::f32 ? f32(static_cast<float>(v)) : f64(v); }
  Val integer(Val like, int64_t v) { return is64(like.type) ? i64(v) : i32(static_cast<int32_t>(v)); }
  Val truth(bool v) { return constant(Type::mask, v); }
  Val input(Type t, uint64_t slot) { return push({Op::input, t, slot}); }

  Val add(Val a, Val b) { return bin(Op::add, a, b); }
  Val sub(Val a, Val b) { return bin(Op::sub, a, b); }
  Val mul(Val a, Val b) { return bin(Op::mul, a, b); }
  Val div(Val a, Val b) { return bin(Op::div, a, b); }
  Val div_ordinary(Val a, Val b) { return push({Op::div, a.type, 1, a.id, b.id}); }
  Val sqrt(Val a) { return push({Op::sqrt, a.type, 0, a.id}); }
  Val fma(Val a, Val b, Val c) { return push({Op::fma, a.type, 0, a.id, b.id, c.id}); }
  Val fnma(Val a, Val b, Val c) { return push({Op::fnma, a.type, 0, a.id, b.id, c.id}); }
  Val fms(Val a, Val b, Val c) { return push({Op::fms, a.type, 0, a.id, b.id, c.id}); }
  Val min(Val a, Val b) { return bin(Op::min, a, b); }
  Val max(Val a, Val b) { return bin(Op::max, a, b); }
  Val round(Val a, Rounding r) { return push({Op::round, a.type, static_cast<uint64_t>(r), a.id}); }
  Val scalef(Val a, Val n) { return bin(Op::scalef, a, n); }
  Val scalef_near_one(Val a, Val n) { return push({Op::scalef, a.type, 1, a.id, n.id}); }
  Val getexp(Val a) { return push({Op::getexp, a.type, 0, a.id}); }
  Val getexp_normal(Val a) { return push({Op::getexp, a.type, 1, a.id}); }
  Val getexp_of_positive(Val a) { return push({Op::getexp, a.type, 2, a.id}); }
  Val getmant(Val a) { return push({Op::getmant, a.type, 0, a.id}); }
  Val getmant_or_nan(Val a) { return push({Op::getmant, a.type, 1, a.id}); }

  Val and_(Val a, Val b) { return bin(Op::and_, a, b); }
  Val or_(Val a, Val b) { return bin(Op::or_, a, b); }
  Val xor_(Val a, Val b) { return bin(Op::xor_, a, b); }
  Val andn(Val a, Val b) { return bin(Op::andn, a, b); }
  Val not_(Val mask) { return xor_(mask, truth(true)); }

  Val iadd(Val a, Val b) { return bin(Op::iadd, a, b); }
  Val isub(Val a, Val b) { return bin(Op::isub, a, b); }
  Val imul(Val a, Val b) { return bin(Op::imul, a, b); }
  Val imin(Val a, Val b) { return bin(Op::imin, a, b); }
  Val imax(Val a, Val b) { return bin(Op::imax, a, b); }
  Val umin(Val a, Val b) { return bin(Op::umin, a, b); }
  Val umax(Val a, Val b) { return bin(Op::umax, a, b); }
  Val shl(Val a, int n) { return push({Op::shl, a.type, static_cast<uint64_t>(n), a.id}); }
  Val shr(Val a, int n) { return push({Op::shr, a.type, static_cast<uint64_t>(n), a.id}); }
  Val sar(Val a, int n) { return push({Op::sar, a.type, static_cast<uint64_t>(n), a.id}); }
  Val shlv(Val a, Val n) { return bin(Op::shlv, a, n); }
  Val shrv(Val a, Val n) { return bin(Op::shrv, a, n); }
  Val sarv(Val a, Val n) { return bin(Op::sarv, a, n); }

  Val cmp(Pred p, Val a, Val b) { return push({Op::cmp, Type::mask, static_cast<uint64_t>(p), a.id, b.id}); }
  Val eq(Val a, Val b) { return cmp(Pred::eq, a, b); }
  Val ne(Val a, Val b) { return cmp(Pred::ne, a, b); }
  Val lt(Val a, Val b) { return cmp(Pred::lt, a, b); }
  Val le(Val a, Val b) { return cmp(Pred::le, a, b); }
  Val gt(Val a, Val b) { return cmp(Pred::gt, a, b); }
  Val ge(Val a, Val b) { return cmp(Pred::ge, a, b); }
  Val isnan(Val a) { return cmp(Pred::unord, a, a); }
  Val select(Val mask, Val yes, Val no) { return push({Op::select, yes.type, 0, mask.id, yes.id, no.id}); }

  Val bitcast(Type t, Val a) { return a.type == t ? a : push({Op::bitcast, t, 0, a.id}); }
  Val convert(Op op, Type to, Val a) { return push({op, to, 0, a.id}); }
  Val mask_to_int(Type t, Val m) { return push({Op::mask_to_int, t, 0, m.id}); }
  Val patch(HelperId h, Val mask, Val x, Val y, Val otherwise) {
    return push({Op::patch, otherwise.type, h, mask.id, x.id, y.id, otherwise.id});
  }

  // Small compositions used by many recipes.
  Type int_of(Val a) const { return is64(a.type) ? Type::i64 : Type::i32; }
  Val sign_bit(Val like) {
    return like.type == Type::f32 ? constant(Type::f32, 0x80000000u) : constant(Type::f64, 1ull << 63);
  }
  Val neg(Val a) { return xor_(a, sign_bit(a)); }
  Val abs(Val a) { return andn(sign_bit(a), a); }
  Val copysign(Val magnitude, Val sign) { return or_(abs(magnitude), and_(sign, sign_bit(sign))); }

  Val push(const Inst&);  // value numbering is done here

 private:
  Val bin(Op op, Val a, Val b) { return push({op, a.type, 0, a.id, b.id}); }
  std::vector<uint32_t> table_;  // hash table over `code`, open addressing
  void grow();
};

}  // namespace lazy::vir
