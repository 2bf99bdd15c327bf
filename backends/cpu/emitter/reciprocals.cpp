#include "backends/cpu/emitter/reciprocals.hpp"

namespace lazy::cpu_backend {
using jit::loop::Stride;
using vir::Builder;
using vir::Inst;
using vir::Op;
using vir::Pred;
using vir::Type;
using vir::Val;
namespace {

// Divisors from 2^-30 to 2^30 and dividends from 2^-95 to 2^96: no step below overflows, and none loses bits
// to a denormal result. Dividends are compared as integers without their sign bit, shifted left by it.
constexpr int32_t kLeastDivisor = (127 - 30) << 23, kDivisors = 60 << 23;
constexpr uint32_t kLeastDividend = uint32_t{127 - 95} << 24, kEndOfDividends = uint32_t{127 + 96} << 24;

/// Returns by value whether its lanes may differ.
std::vector<uint8_t> varying_lanes(const Template& t, const jit::loop::LoopKernel& k) {
  std::vector<uint8_t> varies(t.code.size(), 0);
  const auto axis = static_cast<size_t>(k.rank - 1);
  for (size_t v = 0; v < t.code.size(); ++v) {
    const Inst& in = t.code[v];
    if (in.op == Op::input) {
      const Slot s = Slot::unpack(in.imm);
      if (s.kind == Slot::Kind::load) varies[v] = k.operands[s.index].stride[axis] != Stride::zero;
      else if (s.kind == Slot::Kind::iota) varies[v] = s.index == axis;
      else varies[v] = s.kind != Slot::Kind::scalar;
    } else if (is_indexed_load(in.op)) {
      varies[v] = 1;
    }
    each_operand(in, [&](uint32_t u) { varies[v] |= varies[u]; });
  }
  return varies;
}

/// Holds what is computed once for a divisor b: its reciprocal, and bounds for dividends.
struct Divisor {
  Val b, reciprocal;
  Val least;  // of shifted dividends that may need a true division: 1, so that zeros never do
  Val span;   // so many of those from kLeastDividend on need none
};

/// A negative divisor changes the sign of zeros, which the steps below don't; any other than the ordinary
/// ones needs true divisions throughout.
Divisor prepare(Builder& b, Val divisor) {
  const Val bits = b.bitcast(Type::i32, divisor), zero = b.i32(0);
  const Val size = b.and_(bits, b.i32(0x7fffffff));
  const Val ordinary = b.cmp(Pred::ule, b.isub(size, b.i32(kLeastDivisor)), b.i32(kDivisors));
  const Val positive = b.and_(ordinary, b.cmp(Pred::ge, bits, zero));
  const Val span = b.i32(static_cast<int32_t>(kEndOfDividends - kLeastDividend));
  return {divisor, b.div(b.f32(1), divisor), b.select(positive, b.i32(1), zero),
          b.select(ordinary, span, zero)};
}

/// Returns a / b, rounded as the division is: q, within 1.5 units in the last place of it, plus what a - q b,
/// which is exact or all but, still adds. (With the reciprocal rounded to nearest that is right for all
/// significands of 24 bits: those quotients that are near the middle of two floats were tried, all of them.)
Val divided(Builder& b, Val a, const Divisor& d) {
  const Val q = b.mul(a, d.reciprocal), over = b.fms(q, d.b, a);
  const Val fast = b.fnma(over, d.reciprocal, q);
  const Val bits = b.bitcast(Type::i32, a), shifted = b.iadd(bits, bits);
  const Val from_least = b.isub(shifted, b.i32(static_cast<int32_t>(kLeastDividend)));
  const Val counts = b.select(b.cmp(Pred::uge, shifted, d.least), from_least, b.i32(0));
  const Val rare = b.cmp(Pred::uge, counts, d.span);
  return b.push({kRareDivide, a.type, 0, rare.id, a.id, d.b.id, fast.id});
}

}  // namespace

void divide_by_reciprocals(Template& t, const jit::loop::LoopKernel& k) {
  if (!k.rolled_loops.empty()) return;
  const std::vector<uint8_t> varies = varying_lanes(t, k);
  const auto is_one = [&](const Inst& in) {
    return in.op == Op::div && in.type == Type::f32 && varies[in.a] && !varies[in.b];
  };
  bool any = false;
  for (const Inst& in : t.code) any |= is_one(in);
  if (!any) return;
  Builder b;
  std::vector<uint32_t> to(t.code.size());
  for (size_t v = 0; v < t.code.size(); ++v) {
    Inst in = t.code[v];
    const bool rewritten = is_one(in);
    const int arity = block_arity(in.op);
    if (arity > 0) in.a = to[in.a];
    if (arity > 1) in.b = to[in.b];
    if (arity > 2) in.c = to[in.c];
    if (arity > 3) in.d = to[in.d];
    if (rewritten) to[v] = divided(b, {in.a, in.type}, prepare(b, {in.b, in.type})).id;
    else to[v] = b.push(in).id;
  }
  t.code = std::move(b.code);
  for (auto& s : t.stores) s.value = to[s.value];
}

}  // namespace lazy::cpu_backend
