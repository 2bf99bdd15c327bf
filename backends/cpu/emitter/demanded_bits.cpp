#include "backends/cpu/emitter/demanded_bits.hpp"

#include <bit>

namespace lazy::cpu_backend {
using vir::Inst;
using vir::Op;
using vir::Type;
namespace {

constexpr uint32_t kAll = ~uint32_t{0};

/// Returns a mask of all bits up to the highest of these: a sum's bits depend on those below.
constexpr uint32_t up_to(uint32_t bits) { return bits == 0 ? 0 : kAll >> std::countl_zero(bits); }

uint32_t bits_stored(DType t) {
  switch (t) {
    case DType::int8:
    case DType::uint8: return 0xff;
    case DType::int16:
    case DType::uint16: return 0xffff;
    default: return kAll;
  }
}

/// Returns the bits that may be 1.
uint32_t ones(const Template& t, uint32_t v) {
  return t.code[v].op == Op::constant ? static_cast<uint32_t>(t.code[v].imm) : kAll;
}

/// Returns by value which of its bits somebody looks at (of values that are no i32: all).
std::vector<uint32_t> demanded_bits(const Template& t, const jit::loop::LoopKernel& k) {
  std::vector<uint32_t> bits(t.code.size(), 0);
  for (const auto& s : t.stores) bits[s.value] |= bits_stored(k.operands[s.operand].dtype);
  for (const auto& u : t.updates) bits[u.value] = kAll;
  for (const auto& c : t.carried) bits[c.next] = kAll;
  for (size_t v = t.code.size(); v-- > 0;) {
    const Inst& in = t.code[v];
    const uint32_t d = bits[v];
    const auto imm = static_cast<int>(in.imm);
    const Op op = in.type == Type::i32 ? Op(in.op) : Op::foreign;
    switch (op) {
      case Op::iadd:
      case Op::isub:
      case Op::imul: bits[in.a] |= up_to(d), bits[in.b] |= up_to(d); break;
      case Op::and_: bits[in.a] |= d & ones(t, in.b), bits[in.b] |= d & ones(t, in.a); break;
      case Op::or_:
      case Op::xor_: bits[in.a] |= d, bits[in.b] |= d; break;
      case Op::shl: bits[in.a] |= d >> imm; break;
      case Op::shr: bits[in.a] |= d << imm; break;
      case Op::sar: bits[in.a] |= d << imm | (d >> (31 - imm) ? 1u << 31 : 0); break;
      case Op::select: bits[in.a] = kAll, bits[in.b] |= d, bits[in.c] |= d; break;
      default: each_operand(in, [&](uint32_t u) { bits[u] = kAll; });
    }
  }
  return bits;
}

/// Returns the operand that has the demanded bits already; else the line itself.
uint32_t same_bits(const Template& t, uint32_t v, uint32_t demanded) {
  const Inst& in = t.code[v];
  if (in.type != Type::i32) return v;
  if (in.op == Op::and_) {
    const auto keeps = [&](uint32_t mask) {
      return t.code[mask].op == Op::constant && (demanded & ~ones(t, mask)) == 0;
    };
    return keeps(in.b) ? in.a : keeps(in.a) ? in.b : v;
  }
  if (in.op != Op::sar) return v;
  const Inst& up = t.code[in.a];
  const bool extends = up.op == Op::shl && up.imm == in.imm && demanded <= kAll >> in.imm;
  return extends ? up.a : v;
}

}  // namespace

void drop_unneeded_bits(Template& t, const jit::loop::LoopKernel& k) {
  const std::vector<uint32_t> demanded = demanded_bits(t, k);
  std::vector<uint32_t> to(t.code.size());
  for (uint32_t v = 0; v < t.code.size(); ++v) {
    Inst& in = t.code[v];
    const int arity = block_arity(in.op);
    if (arity > 0) in.a = to[in.a];
    if (arity > 1) in.b = to[in.b];
    if (arity > 2) in.c = to[in.c];
    if (arity > 3) in.d = to[in.d];
    if (in.op == Op::imul && in.type == Type::i32 && demanded[v] <= 0xffff) in.op = kMulLow16;
    to[v] = same_bits(t, v, demanded[v]);
  }
  for (auto& s : t.stores) s.value = to[s.value];
  for (auto& u : t.updates) u.value = to[u.value];
  for (auto& c : t.carried) c.next = to[c.next];
}

}  // namespace lazy::cpu_backend
