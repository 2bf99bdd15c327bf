// Declares blocks: straight-line vector code with its surroundings named. A block's inputs (vir::Op::input)
// are slots; besides the operations of vir.hpp it has those of BlockOp.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "backends/vector/vir.hpp"
#include "support/recycled.hpp"

namespace lazy::cpu_backend {

/// Lists the operations that only blocks and templates have.
enum class BlockOp : uint8_t {
  kStore,      // imm: slot (load) of the operand written; a: value
  kAssign,     // imm: variable; a: value
  kAdvance,    // moves the operands' pointers one step along the sequential axis
  kUpperHalf,  // lane l of the result is lane l + imm/2 of a (l < imm/2)
  // AVX-512, of complete vectors: the lower (imm: 0) or upper (1) half of a, then that of b; the same of each
  // half of a, then of each half of b.
  kHalves,
  kQuarters,
  kTranspose,  // AVX-512, of complete vectors: lane l of quarter q comes to 4 l + q
  kMulLow32,   // i64: product of the low, unsigned halves of a and b. i32: products of even lanes, unsigned,
               // each of two lanes: the low half in the even one
  kMulLow16,   // i32: products whose low 16 bits are right
  // i32: two neighbouring lanes, an even one and the next, shifted as one number of 64 bits by imm.
  kShiftPairRight,
  kShiftPairLeft,
  kSpread,    // every lane of the result is lane 0 of a
  kRangeMax,  // AVX-512: of ordered operands the larger; -0 < +0
  kRangeMin,  // AVX-512: of ordered operands the smaller; -0 < +0
  kMasked,    // AVX-512: a ? b op c : d; imm: number of op, a binary one
  // Templates only: a rolled loop's first and last line (imm: which), and one of its carried values (imm:
  // which of the template's; a: what it starts as).
  kRolledLoop,
  kRepeatEnd,
  kCarried,
  kCopy,  // a, in a separate register
  // Loads at a computed index. imm: slot (load) of the operand; a: i64, elements on from each lane's element.
  kLoadAt,
  kLoadRow,        // the same, but lane 0's index counts for all lanes
  kMaskedCompare,  // AVX-512, of masks: a and b compared with c; imm: Pred, plus kNegated for its opposite
  // AVX-512: b / c where a, which is rare in all lanes, is true; elsewhere d, which a division gives there.
  kRareDivide,
  kCheck  // imm: scalar argument, the address of a flag that is set if a lane of a is true
};
using enum BlockOp;

/// Added to a predicate in Inst::imm: true where it is false.
inline constexpr uint64_t kNegated = 64;

constexpr bool is_indexed_load(vir::OpCode op) { return op == kLoadAt || op == kLoadRow; }
constexpr bool has_effect(vir::OpCode op) {
  return op == kStore || op == kAssign || op == kAdvance || op == kCheck;
}
constexpr int arity_of(BlockOp op) {
  switch (op) {
    case kAdvance:
    case kRolledLoop:
    case kRepeatEnd: return 0;
    case kStore:
    case kAssign:
    case kUpperHalf:
    case kTranspose:
    case kSpread:
    case kCarried:
    case kCopy:
    case kShiftPairRight:
    case kShiftPairLeft:
    case kLoadAt:
    case kLoadRow:
    case kCheck: return 1;
    case kHalves:
    case kQuarters:
    case kMulLow32:
    case kMulLow16:
    case kRangeMax:
    case kRangeMin: return 2;
    case kMaskedCompare: return 3;
    case kMasked:
    case kRareDivide: return 4;
  }
  return 0;
}
namespace detail {
constexpr std::array<uint8_t, 256> arities() {
  std::array<uint8_t, 256> t{};
  for (size_t i = 0; i < t.size(); ++i) {
    const auto op = vir::OpCode::from_number(static_cast<uint8_t>(i));
    t[i] = static_cast<uint8_t>(op.is_foreign() ? arity_of(op.as<BlockOp>()) : vir::arity_of(op));
  }
  return t;
}
inline constexpr std::array<uint8_t, 256> kArities = arities();  // by OpCode::number
}  // namespace detail
constexpr int block_arity(vir::OpCode op) { return detail::kArities[op.number()]; }
/// Returns the largest number of vector registers that an instruction of `code` takes at once because it
/// reads no operand from memory; 0 if there is no such instruction.
inline int most_at_once(const std::vector<vir::Inst>& code) {
  int most = 0;
  for (const vir::Inst& in : code)
    if (in.op == vir::Op::patch || in.op == kRareDivide) most = block_arity(in.op) + 1;  // and its result
  return most;
}
/// Calls f with each operand's id.
template <class F>
inline void each_operand(const vir::Inst& in, F&& f) {
  switch (block_arity(in.op)) {
    case 4:
      f(in.a);
      f(in.b);
      f(in.c);
      f(in.d);
      break;
    case 3:
      f(in.a);
      f(in.b);
      f(in.c);
      break;
    case 2:
      f(in.a);
      f(in.b);
      break;
    case 1: f(in.a); break;
    default: break;
  }
}

/// Names an input. It is packed into Inst::imm.
struct Slot {
  enum class Kind : uint8_t {
    load,     // operand `index`, at tile row `row`, vector `vec`
    scalar,   // scalar argument `index`
    iota,     // index along axis `index`
    tail,     // mask: lanes inside the box
    result,   // templates only: result `index` of the reductions
    acc,      // templates only: accumulator `index`
    stepped,  // scalar argument `index`, counted from the current iteration's
    variable  // blocks only: variable `index` (Variables)
  };
  Kind kind{};
  uint16_t index = 0;
  uint8_t row = 0, vec = 0, step = 0;

  constexpr uint64_t pack() const {
    return static_cast<uint64_t>(kind) | uint64_t{index} << 8 | uint64_t{row} << 24 | uint64_t{vec} << 32 |
           uint64_t{step} << 40;
  }
  static constexpr Slot unpack(uint64_t v) {
    return {static_cast<Kind>(v & 0xff), static_cast<uint16_t>(v >> 8), static_cast<uint8_t>(v >> 24),
            static_cast<uint8_t>(v >> 32), static_cast<uint8_t>(v >> 40)};
  }
};

using Block = Recycled<vir::Inst>;

}  // namespace lazy::cpu_backend
