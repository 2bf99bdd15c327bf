// Blocks: straight-line vector code with its surroundings named. A block's inputs (vir::Op::input) are slots;
// besides the operations of vir.hpp it may store to operands and assign variables.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "backends/vector/vir.hpp"
#include "support/recycled.hpp"

namespace lazy::cpu_backend {

/// Operations that only blocks know, numbered after those of vir::Op.
inline constexpr vir::Op kStore =
    static_cast<vir::Op>(200);  // imm: slot (load) of the operand written; a: value
inline constexpr vir::Op kAssign = static_cast<vir::Op>(201);  // imm: variable; a: value
inline constexpr vir::Op kAdvance =
    static_cast<vir::Op>(202);  // moves the operands' pointers one step along the sequential axis
inline constexpr vir::Op kUpperHalf =
    static_cast<vir::Op>(203);  // lane l of the result is lane l + imm/2 of a (l < imm/2)
inline constexpr vir::Op kMulLow32 =
    static_cast<vir::Op>(204);  // i64: product of the low, unsigned halves of a and b. i32: products of even
                                // lanes, unsigned, each of two lanes: the low half in the even one
inline constexpr vir::Op kSpread = static_cast<vir::Op>(205);  // every lane of the result is lane 0 of a
inline constexpr vir::Op kRangeMax =
    static_cast<vir::Op>(206);  // AVX-512: of ordered operands the larger; -0 < +0
inline constexpr vir::Op kRangeMin = static_cast<vir::Op>(207);
inline constexpr vir::Op kMasked =
    static_cast<vir::Op>(208);  // AVX-512: a ? b op c : d; imm: op, a binary one

// Templates only: a rolled loop's first and last line (imm: which), and one of its carried values (imm: which
// of the template's; a: what it starts as).
inline constexpr vir::Op kRolledLoop = static_cast<vir::Op>(209);
inline constexpr vir::Op kRepeatEnd = static_cast<vir::Op>(210);
inline constexpr vir::Op kCarried = static_cast<vir::Op>(211);
inline constexpr vir::Op kCopy = static_cast<vir::Op>(212);  // a, in a register of its own

// Loads at a computed index. imm: slot (load) of the operand; a: i64, elements on from each lane's element.
inline constexpr vir::Op kLoadAt = static_cast<vir::Op>(213);
inline constexpr vir::Op kLoadRow = static_cast<vir::Op>(214);  // ... of which lane 0 counts for all lanes
inline constexpr vir::Op kCheck = static_cast<vir::Op>(
    215);  // imm: scalar argument, the address of a flag that is set if a lane of a is true

// i32: two neighbouring lanes, an even one and the next, shifted as one number of 64 bits by imm.
inline constexpr vir::Op kShiftPairRight = static_cast<vir::Op>(216);
inline constexpr vir::Op kShiftPairLeft = static_cast<vir::Op>(217);

/// True for what is no operation of vir.hpp.
constexpr bool is_block_op(vir::Op op) { return op >= kStore; }
constexpr bool is_indexed_load(vir::Op op) { return op == kLoadAt || op == kLoadRow; }
constexpr bool has_effect(vir::Op op) {
  return op == kStore || op == kAssign || op == kAdvance || op == kCheck;
}
namespace detail {
constexpr std::array<uint8_t, 256> arities() {
  std::array<uint8_t, 256> t{};
  for (int i = 0; i < 256; ++i) {
    const auto op = static_cast<vir::Op>(i);
    if (op == kStore || op == kAssign || op == kUpperHalf || op == kSpread || op == kCarried || op == kCopy ||
        op == kShiftPairRight || op == kShiftPairLeft || is_indexed_load(op) || op == kCheck)
      t[static_cast<size_t>(i)] = 1;
    else if (op == kMulLow32 || op == kRangeMax || op == kRangeMin) t[static_cast<size_t>(i)] = 2;
    else if (op == kMasked) t[static_cast<size_t>(i)] = 4;
    else if (op == kAdvance || op == kRolledLoop || op == kRepeatEnd) t[static_cast<size_t>(i)] = 0;
    else t[static_cast<size_t>(i)] = static_cast<uint8_t>(vir::arity_of(op));
  }
  return t;
}
inline constexpr std::array<uint8_t, 256> kArities = arities();
}  // namespace detail
constexpr int block_arity(vir::Op op) { return detail::kArities[static_cast<uint8_t>(op)]; }
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

/// Names an input. Packed into Inst::imm.
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
