#include "backends/cpu/emitter/legalize.hpp"

#include "backends/cpu/emitter/legalize_avx2.hpp"

namespace lazy::cpu_backend {
using vir::Builder;
using vir::Inst;
using vir::Op;
using vir::Pred;
using vir::Type;
using vir::Val;
namespace {

/// Rewrites for AVX-512: in place but for selects of masks, which become three instructions. A comparison
/// that one mask is combined with is made under that mask.
class For512 {
 public:
  void run(Template& t) {
    to_.resize(t.code.size());
    out_.reserve(t.code.size() + 8);
    std::vector<uint8_t> uses(t.code.size(), 0);  // none, one, more
    const auto use = [&](uint32_t v) { uses[v] = static_cast<uint8_t>(uses[v] + (uses[v] < 2)); };
    for (const Inst& in : t.code) each_operand(in, use);
    for (const auto& s : t.stores) use(s.value);
    for (const auto& u : t.updates) use(u.value);
    for (const auto& c : t.carried) use(c.next);
    uint32_t part_begins = 0;  // in out_: the lines from here on are in or out of the same repeat
    for (uint32_t i = 0; i < t.code.size(); ++i) {
      Inst in = t.code[i];
      if (in.op == kRolledLoop || in.op == kRepeatEnd) part_begins = static_cast<uint32_t>(out_.size());
      const int arity = block_arity(in.op);
      const Type operand = arity > 0 ? t.code[in.a].type : Type::f32;
      if (in.op == Op::bitcast) {
        to_[i] = to_[in.a];
        continue;
      }
      if (arity > 0) in.a = to_[in.a];
      if (arity > 1) in.b = to_[in.b];
      if (arity > 2) in.c = to_[in.c];
      if (arity > 3) in.d = to_[in.d];
      if (in.op == Op::cmp) in.compared = operand;
      if (in.op == Op::select && in.type == Type::mask) {
        const uint32_t yes = push({Op::and_, Type::mask, 0, in.a, in.b}),
                       no = push({Op::andn, Type::mask, 0, in.a, in.c});
        to_[i] = push({Op::or_, Type::mask, 0, yes, no});
        continue;
      }
      if (in.type == Type::mask && (in.op == Op::and_ || in.op == Op::andn) && uses[t.code[i].a] == 1 &&
          in.a >= part_begins && out_[in.a].op == Op::cmp) {
        const Inst compare = out_[in.a];  // what is left of it is dead
        Inst both{kMaskedCompare, Type::mask, compare.imm, in.b, compare.a, compare.b};
        both.compared = compare.compared;
        if (in.op == Op::andn) both.imm += kNegated;
        to_[i] = push(both);
        continue;
      }
      if (in.op == Op::add) {
        const auto added = [&](uint32_t to, uint32_t chosen) {
          return uses[chosen] == 1 && to_[chosen] >= part_begins && is_chosen_or_zero(out_[to_[chosen]]) &&
                 adds_nothing_with_zero(t, to);
        };
        const Inst whole = t.code[i];
        const bool second = added(whole.a, whole.b);
        if (second || added(whole.b, whole.a)) {
          const uint32_t to = second ? in.a : in.b;
          const Inst choice = out_[second ? in.b : in.a];  // what is left of it is dead
          to_[i] = push({kMasked, in.type, in.op.number(), choice.a, to, choice.b, to});
          continue;
        }
      }
      if (in.op == Op::select && uses[t.code[i].b] == 1 && in.b >= part_begins &&
          out_[in.b].type == in.type && maskable(out_[in.b])) {
        const Inst yes = out_[in.b];  // what is left of it is dead
        to_[i] = push({kMasked, in.type, yes.op.number(), in.a, yes.a, yes.b, in.c});
        continue;
      }
      if ((in.op == Op::and_ || in.op == Op::or_) && in.type != Type::mask) {
        const Inst &x = out_[in.a], &y = out_[in.b];
        const Op each = in.op == Op::and_ ? Op::max : Op::min;
        if (x.op == each && y.op == each && x.a == y.b && x.b == y.a)
          in = {each == Op::max ? kRangeMax : kRangeMin, in.type, 0, x.a, x.b};
      }
      to_[i] = push(in);
    }
    t.code = std::move(out_);
    for (auto& s : t.stores) s.value = to_[s.value];
    for (auto& u : t.updates) u.value = to_[u.value];
    for (auto& c : t.carried) c = {to_[c.value], to_[c.next]};
  }

 private:
  /// True for a choice between a value and +0: adding it is adding the value under a mask.
  bool is_chosen_or_zero(const Inst& in) const {
    return in.op == Op::select && out_[in.c].op == Op::constant && out_[in.c].imm == 0;
  }
  /// True if a value plus +0 has its bits: it is neither -0 nor a signaling NaN. A sum is -0 only if both
  /// sides are, and never signaling; what a repeat carries is known by its first value and its next one.
  static bool adds_nothing_with_zero(const Template& t, uint32_t v, int depth = 4) {
    const Inst& in = t.code[v];
    if (depth == 0) return false;
    if (in.op == Op::constant) return is_positive(in);
    if (in.op == Op::add) return never_minus_zero(t, in.a) || never_minus_zero(t, in.b);
    if (in.op != kCarried || !adds_nothing_with_zero(t, in.a, depth - 1)) return false;
    for (const auto& c : t.carried)
      if (c.value == v) return adds_nothing_with_zero(t, c.next, depth - 1);
    return false;
  }
  /// True for positive constants, and choices between two.
  static bool never_minus_zero(const Template& t, uint32_t v) {
    const Inst& in = t.code[v];
    if (in.op == Op::select) return never_minus_zero(t, in.b) && never_minus_zero(t, in.c);
    return in.op == Op::constant && is_positive(in);
  }
  static bool is_positive(const Inst& constant) {
    if (constant.type == Type::f32) return constant.imm <= 0x7f800000;
    return constant.type == Type::f64 && constant.imm <= 0x7ffull << 52;
  }

  /// True for an instruction that can be executed under a mask: one of the binary ones.
  static bool maskable(const Inst& in) {
    switch (in.op) {
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
      case Op::min:
      case Op::max:
      case Op::iadd:
      case Op::isub:
      case Op::imul:
      case Op::imin:
      case Op::imax:
      case Op::umin:
      case Op::umax: return true;
      case Op::and_:
      case Op::or_:
      case Op::xor_: return in.type != Type::mask;
      default: return in.op == kRangeMax || in.op == kRangeMin;
    }
  }

  uint32_t push(const Inst& in) {
    out_.push_back(in);
    return static_cast<uint32_t>(out_.size() - 1);
  }
  std::vector<uint32_t> to_;
  std::vector<Inst> out_;
};

class For256 {
 public:
  void run(Template& t) {
    to_.resize(t.code.size());
    auto carried = t.carried.begin();
    for (uint32_t i = 0; i < t.code.size(); ++i) {
      if (t.code[i].op == kRepeatEnd)  // before it: a mask may have to change its width
        for (; carried != t.carried.end() && carried->value < i; ++carried)
          *carried = {to_[carried->value].id, next_of(t, *carried)};
      to_[i] = one(t, t.code[i]);
    }
    for (auto& s : t.stores)
      s.value = t.code[s.value].type == Type::mask ? mask(to_[s.value], false).id : to_[s.value].id;
    for (auto& u : t.updates) u.value = to_[u.value].id;
    t.code = std::move(b_.code);
    erase_bitcasts(t);
  }

 private:
  /// Returns a mask at the wanted lane width.
  Val mask(Val m, bool wide) {
    if (vir::is64(m.type) == wide) return m;
    const Inst& in = b_.code[m.id];
    if (in.op == Op::constant) return wide ? b_.i64(in.imm ? -1 : 0) : b_.i32(in.imm ? -1 : 0);
    if (in.op == Op::input && Slot::unpack(in.imm).kind == Slot::Kind::tail)
      return b_.input(wide ? Type::i64 : Type::i32, in.imm);
    return wide ? b_.convert(Op::sext, Type::i64, m) : b_.convert(Op::narrow, Type::i32, m);
  }

  Val one(const Template& t, const Inst& in) {
    const int arity = block_arity(in.op);
    const Val x = arity > 0 ? to_[in.a] : Val{}, y = arity > 1 ? to_[in.b] : Val{},
              z = arity > 2 ? to_[in.c] : Val{}, w = arity > 3 ? to_[in.d] : Val{};
    const bool wide = vir::is64(in.type);
    if (in.op.is_foreign()) {
      if (in.op == kCarried || in.op == kCheck) return b_.push({in.op, x.type, in.imm, x.id});
      if (is_indexed_load(in.op))
        return b_.push({in.op, in.type == Type::mask ? Type::i32 : in.type, in.imm, x.id});
    }
    if (in.type == Type::mask) {
      switch (in.op) {
        case Op::constant: return b_.i32(in.imm ? -1 : 0);
        case Op::input: return b_.input(Type::i32, in.imm);
        case Op::cmp:
          return avx2::compare(b_, static_cast<Pred>(in.imm), retyped(x, t.code[in.a].type),
                               retyped(y, t.code[in.b].type));
        case Op::select: {
          const bool w64 = vir::is64(y.type) && vir::is64(z.type);
          const Val m = mask(x, w64);
          return b_.or_(b_.and_(m, mask(y, w64)), b_.andn(m, mask(z, w64)));
        }
        default: {
          const bool w64 = vir::is64(x.type) && vir::is64(y.type);
          const Val p = mask(x, w64), q = mask(y, w64);
          return b_.push({in.op, p.type, 0, p.id, q.id});
        }
      }
    }
    switch (in.op) {
      case Op::select: return select(mask(x, wide), y, z);
      case Op::mask_to_int: return b_.shr(mask(x, wide), wide ? 63 : 31);
      case Op::patch: return b_.push({Op::patch, in.type, in.imm, mask(x, wide).id, y.id, z.id, w.id});
      case Op::scalef: return avx2::scalef(b_, x, y, in.imm);
      case Op::getexp: return avx2::getexp(b_, x, static_cast<avx2::GetExp>(in.imm));
      case Op::getmant: return avx2::getmant(b_, x, in.imm);
      case Op::i64_to_f64: return avx2::i64_to_f64(b_, x);
      case Op::f64_to_i64: return avx2::f64_to_i64(b_, x);
      case Op::i64_to_f32: return avx2::i64_to_f32(b_, x);
      case Op::f32_to_i64: return avx2::f64_to_i64(b_, b_.convert(Op::f32_to_f64, Type::f64, x));
      default: break;
    }
    if (in.type == Type::i64) {
      switch (in.op) {
        case Op::imul: return avx2::imul_i64(b_, x, y);
        case Op::imin:
        case Op::imax:
        case Op::umin:
        case Op::umax: return avx2::minmax_i64(b_, in.op, x, y);
        case Op::sar: return avx2::sar_i64(b_, x, static_cast<int>(in.imm));
        case Op::sarv: return avx2::sarv_i64(b_, x, y);
        default: break;
      }
    }
    return b_.push({in.op, in.type, in.imm, x.id == ~0u ? 0 : x.id, y.id == ~0u ? 0 : y.id,
                    z.id == ~0u ? 0 : z.id, w.id == ~0u ? 0 : w.id});
  }
  /// Returns what `c` is in the next iteration. A mask has the width there that it starts with.
  uint32_t next_of(const Template& t, const Template::Carried& c) {
    const Val next = to_[c.next];
    return t.code[c.next].type == Type::mask ? mask(next, vir::is64(to_[c.value].type)).id : next.id;
  }
  static Val retyped(Val v, Type t) { return {v.id, t}; }
  /// Selects; 0 by logic, which takes a third of the instructions.
  Val select(Val m, Val yes, Val no) {
    const auto is_zero = [&](Val v) { return b_.code[v.id].op == Op::constant && b_.code[v.id].imm == 0; };
    const Val bits = retyped(m, yes.type);
    if (is_zero(no)) return b_.and_(bits, yes);
    return is_zero(yes) ? b_.andn(bits, no) : b_.select(m, yes, no);
  }

  static void erase_bitcasts(Template& t) {
    std::vector<uint32_t> to(t.code.size());
    std::vector<Inst> out;
    out.reserve(t.code.size());
    for (uint32_t i = 0; i < t.code.size(); ++i) {
      Inst in = t.code[i];
      if (in.op == Op::bitcast) {
        to[i] = to[in.a];
        continue;
      }
      const int arity = block_arity(in.op);
      if (arity > 0) in.a = to[in.a];
      if (arity > 1) in.b = to[in.b];
      if (arity > 2) in.c = to[in.c];
      if (arity > 3) in.d = to[in.d];
      out.push_back(in);
      to[i] = static_cast<uint32_t>(out.size() - 1);
    }
    t.code = std::move(out);
    for (auto& s : t.stores) s.value = to[s.value];
    for (auto& u : t.updates) u.value = to[u.value];
    for (auto& c : t.carried) c = {to[c.value], to[c.next]};
  }

  Builder b_;
  std::vector<Val> to_;
};

}  // namespace

void legalize(Template& t, Isa isa) {
  if (isa >= Isa::avx512) For512().run(t);
  else For256().run(t);
}

}  // namespace lazy::cpu_backend
