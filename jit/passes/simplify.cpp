#include "jit/calls/call.hpp"
#include "jit/graph/layout.hpp"
#include "jit/passes/passes.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {
namespace {

// True for the same rank and the same extents of 1. Together with the rules of the ops that makes broadcasts
// of one into the other impossible.
bool same_pattern(const Value& a, const Value& b) { return a.rank == b.rank && a.ones == b.ones; }

class Simplifier {
 public:
  explicit Simplifier(Trace& t) : t_(t) {}
  void run() {
    seen_.reserve(t_.values.size(), 4 * t_.values.size());
    first_.reserve(t_.values.size());
    for (uint32_t v = 0; v < t_.values.size(); ++v) {
      Value& x = t_.values[v];
      for (int i = 0; i < x.arity; ++i) x.operand[i] = t_.same_as[x.operand[i]];
      if (x.op == Op::input || is_source(x.op)) continue;
      uint32_t equal = x.op == Op::call ? common_call(v) : identity(x, v);
      if (equal == kNone && x.op != Op::call) equal = common(v);
      if (equal != kNone) t_.same_as[v] = equal;
    }
  }

 private:
  // Returns a value that `x` always equals, or kNone. Only rules that hold for NaN, infinities and -0 are
  // here: so no x + 0, no x - x, no 0 * x. Scalars are arguments, not part of the program: none of their
  // values is looked at.
  uint32_t identity(Value& x, uint32_t v) {
    const uint32_t a = x.operand[0], b = x.operand[1];
    const Op inner = t_.values[a].op;
    switch (x.op) {
      case Op::negative:
      case Op::bitwise_invert:
        if (inner == x.op) return t_.values[a].operand[0];
        return kNone;
      case Op::abs:  // of abs, of negative
        if (inner == Op::abs) return a;
        if (inner == Op::negative) x.operand[0] = t_.values[a].operand[0];
        return kNone;
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::round:  // of a value that is integral already
        return inner == Op::floor || inner == Op::ceil || inner == Op::trunc || inner == Op::round ? a
                                                                                                   : kNone;
      case Op::cast: return inner == Op::cast ? narrowed_back(x, t_.values[a]) : kNone;
      case Op::bitwise_and:
      case Op::bitwise_or:
      case Op::maximum:
      case Op::minimum:  // idempotent (NaN stays NaN)
        return a == b ? a : kNone;
      case Op::where:
        return x.operand[1] == x.operand[2] && same_pattern(t_.values[x.operand[1]], x) ? x.operand[1]
                                                                                        : kNone;
      case Op::permute: return inner == Op::permute && undoes(v, a) ? t_.values[a].operand[0] : kNone;
      case Op::broadcast: return same_pattern(t_.values[a], x) ? a : kNone;
      case Op::reshape: return is_unit(v) && same_pattern(t_.values[a], x) ? a : kNone;  // moves none
      case Op::sum:
      case Op::prod:
      case Op::max:
      case Op::min:
      case Op::any:
      case Op::all:
      case Op::cumsum:
      case Op::cumprod:
      case Op::cummax:
      case Op::cummin: return t_.shape(a)[axis_of(v)] == 1 ? a : kNone;
      case Op::argmax:
      case Op::argmin:
        if (t_.shape(a)[axis_of(v)] == 1) {  // the only index is 0: the index along that very axis
          x.op = Op::iota;
          x.arity = 0;
        }
        return kNone;
      default: return kNone;
    }
  }

  // Returns what `outer`, a cast of the cast `inner`, equals if that widened and this narrows back.
  uint32_t narrowed_back(const Value& outer, const Value& inner) const {
    const uint32_t base = inner.operand[0];
    const DType from = t_.values[base].dtype, mid = inner.dtype;
    const bool widens = (is_bool(from) && is_int(mid)) ||
                        (is_int(from) && is_int(mid) && size_of(mid) >= size_of(from)) ||
                        (from == DType::float32 && mid == DType::float64) ||
                        (is_half(from) && (mid == DType::float32 || mid == DType::float64));
    return widens && outer.dtype == from && from != mid ? base : kNone;
  }
  // True if permutation `outer` puts back what `inner` moved.
  bool undoes(uint32_t outer, uint32_t inner) const {
    const Node &second = t_.node(outer), &first = t_.node(inner);
    bool undone = true;
    for (int i = 0; i < second.axes.size(); ++i) undone &= first.axes[static_cast<int>(second.axes[i])] == i;
    return undone;
  }

  int axis_of(uint32_t v) const { return jit::axis_of(t_.node(v)); }

  // Returns an earlier value that is the same, if there is one. Nodes with separate arguments (slice
  // positions, extents) are equal only by chance of this flush: left alone.
  uint32_t common(uint32_t v) {
    const Value& x = t_.values[v];
    if (kind_of(x.op) == OpKind::update || x.op == Op::slice || x.op == Op::window ||
        (x.op == Op::cast && x.dtype == t_.values[x.operand[0]].dtype))
      return kNone;
    if ((x.op == Op::reshape && !is_unit(v)) || x.op == Op::broadcast) return kNone;
    uint32_t words[4 + kMaxRank] = {static_cast<uint32_t>(x.op) | static_cast<uint32_t>(x.dtype) << 8 |
                                        static_cast<uint32_t>(x.accuracy) << 14 |
                                        static_cast<uint32_t>(x.rank) << 16 |
                                        static_cast<uint32_t>(x.ones) << 24,
                                    x.operand[0], x.operand[1], x.operand[2]};
    size_t count = 4;
    if (kind_of(x.op) != OpKind::pointwise)
      for (int64_t a : t_.node(v).axes) words[count++] = static_cast<uint32_t>(a);
    return first_like({words, count}, v);
  }
  // Calls that say so give the same for the same.
  uint32_t common_call(uint32_t v) {
    const Value& x = t_.values[v];
    const CallSpec& spec = *t_.node(v).call;
    if (spec.definition().runs_once() || spec.definition().has(call_trait::kVaries)) return kNone;
    const auto address = reinterpret_cast<uint64_t>(&spec);
    std::vector<uint32_t> words{static_cast<uint32_t>(x.op), static_cast<uint32_t>(address),
                                static_cast<uint32_t>(address >> 32)};
    for (int i = 0; i < x.arity; ++i) words.push_back(x.operand[i]);
    return first_like(words, v);
  }
  uint32_t first_like(std::span<const uint32_t> words, uint32_t v) {
    const auto [number, fresh] = seen_.intern(words);
    if (!fresh) return first_[number];
    first_.push_back(v);
    return kNone;
  }
  bool is_unit(uint32_t v) const { return is_unit_reshape(t_.node(v)); }

  Trace& t_;
  Interner seen_;
  std::vector<uint32_t> first_;  // by number: the value that was the first of its kind
};

}  // namespace

void simplify(Trace& t) { Simplifier(t).run(); }

void contract(Trace& t) {
  std::vector<uint32_t> users(t.values.size(), 0);
  for (const Value& x : t.values)
    for (int i = 0; i < x.arity; ++i) ++users[x.operand[i]];
  for (uint32_t v = 0; v < t.values.size(); ++v) {
    Value& x = t.values[v];
    if (x.op != Op::add || !is_float(x.dtype)) continue;
    for (int side = 0; side < 2; ++side) {
      const uint32_t product = x.operand[side], other = x.operand[1 - side];
      const Value& p = t.values[product];
      if (p.op != Op::multiply || users[product] != 1 || p.output) continue;
      x.op = Op::fma;
      x.arity = 3;
      x.operand[0] = p.operand[0];
      x.operand[1] = p.operand[1];
      x.operand[2] = other;
      break;
    }
  }
}

}  // namespace lazy::jit
