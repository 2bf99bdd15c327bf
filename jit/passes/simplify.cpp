#include <unordered_map>

#include "jit/passes/passes.hpp"
#include "support/hash.hpp"

namespace lazy::jit {
namespace {

// Same rank and same extents of 1. Together with the ops' own rules that makes broadcasts of one into the
// other impossible.
bool same_pattern(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i)
    if ((a[i] == 1) != (b[i] == 1)) return false;
  return true;
}

class Simplifier {
 public:
  explicit Simplifier(Trace& t) : t_(t) {}
  void run() {
    for (uint32_t v = 0; v < t_.values.size(); ++v) {
      Value& x = t_.values[v];
      for (int i = 0; i < x.arity; ++i) x.operand[i] = t_.same_as[x.operand[i]];
      if (x.op == Op::leaf || is_source(x.op)) continue;
      uint32_t equal = identity(x, v);
      if (equal == kNone) equal = common(v);
      if (equal != kNone) t_.same_as[v] = equal;
    }
  }

 private:
  // A value that `x` always equals, or kNone. Only rules that hold for NaN, infinities and -0 are here: so no
  // x + 0, no x - x, no 0 * x. Scalars are arguments, not part of the program: none of their values is looked
  // at.
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
      case Op::cast:  // widened and narrowed back: bool and integers
        if (inner == Op::cast) {
          const uint32_t base = t_.values[a].operand[0];
          const DType from = t_.values[base].dtype, mid = t_.values[a].dtype;
          const bool widens = (is_bool(from) && is_int(mid)) ||
                              (is_int(from) && is_int(mid) && size_of(mid) >= size_of(from)) ||
                              (from == DType::float32 && mid == DType::float64) ||
                              (is_half(from) && (mid == DType::float32 || mid == DType::float64));
          if (widens && x.dtype == from && from != mid) return base;
        }
        return kNone;
      case Op::bitwise_and:
      case Op::bitwise_or:
      case Op::maximum:
      case Op::minimum:  // idempotent (NaN stays NaN)
        return a == b ? a : kNone;
      case Op::where:
        return x.operand[1] == x.operand[2] && same_pattern(t_.shape(x.operand[1]), t_.shape(v))
                   ? x.operand[1]
                   : kNone;
      case Op::permute:
        if (inner == Op::permute) {
          const Node &outer = t_.node(v), &first = t_.node(a);
          bool undone = true;
          for (int i = 0; i < outer.axes.size(); ++i)
            undone &= first.axes[static_cast<int>(outer.axes[i])] == i;
          if (undone) return t_.values[a].operand[0];
        }
        return kNone;
      case Op::broadcast: return same_pattern(t_.shape(a), t_.shape(v)) ? a : kNone;
      case Op::sum:
      case Op::prod:
      case Op::max:
      case Op::min:
      case Op::any:
      case Op::all:
      case Op::cumsum: return t_.shape(a)[axis_of(v)] == 1 ? a : kNone;
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

  int axis_of(uint32_t v) const { return static_cast<int>(t_.node(v).axes[0]); }

  // Nodes with arguments of their own (slice positions, extents) are equal only by chance of this flush: left
  // alone.
  uint32_t common(uint32_t v) {
    const Value& x = t_.values[v];
    if (kind_of(x.op) == OpKind::update || x.op == Op::slice || x.op == Op::window ||
        (x.op == Op::cast && x.dtype == t_.values[x.operand[0]].dtype))
      return kNone;
    if ((x.op == Op::reshape && !is_unit(v)) || x.op == Op::broadcast) return kNone;
    const Node& n = t_.node(v);
    uint32_t words[16] = {static_cast<uint32_t>(x.op) | static_cast<uint32_t>(x.dtype) << 8 |
                              static_cast<uint32_t>(n.shape.size()) << 16,
                          x.operand[0], x.operand[1], x.operand[2]};
    size_t count = 4;
    for (int64_t a : n.axes) words[count++] = static_cast<uint32_t>(a);
    uint32_t ones = 0;
    for (int i = 0; i < n.shape.size(); ++i) ones |= static_cast<uint32_t>(n.shape[i] == 1) << i;
    words[count++] = ones;
    const std::string key(reinterpret_cast<const char*>(words), count * sizeof(uint32_t));
    const auto [at, fresh] = seen_.emplace(key, v);
    return fresh ? kNone : at->second;
  }
  bool is_unit(uint32_t v) const { return !t_.node(v).axes.empty(); }

  Trace& t_;
  std::unordered_map<std::string, uint32_t> seen_;
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
