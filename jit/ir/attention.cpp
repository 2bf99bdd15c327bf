#include "jit/ir/attention.hpp"

#include <algorithm>

namespace lazy::jit::loop {
namespace {

bool is_16_bit_cast(const LoopKernel& k, const Instr& in) {
  const auto is_short = [](DType t) { return is_half(t) || t == DType::float32; };
  return in.code == Code::op && in.op == Op::cast && is_short(in.type) && is_short(k.body[in.a].type);
}
/// Returns a value without the roundings to and from 16 bits around it.
ValueId bare(const LoopKernel& k, ValueId v) {
  while (is_16_bit_cast(k, k.body[v])) v = k.body[v].a;
  return v;
}
bool is_op(const LoopKernel& k, ValueId v, Op op) { return k.body[v].code == Code::op && k.body[v].op == op; }

class Recogniser {
 public:
  explicit Recogniser(const FusedRows& r) : r_(r) {}

  bool run(Attention& a) {
    // Numbers that a row has for itself take room beside its scores: few of them are common.
    constexpr size_t kMostInner = 10;
    if (r_.members.size() != 4 && r_.members.size() != 5) return false;
    if (r_.inner.size() > kMostInner) return false;
    a.quotients = r_.members.size() == 5;
    a.last = r_.members.size() - 1;
    return scores(a) && top(a) && weights(a) && (!a.quotients || quotients(a)) && values(a);
  }

 private:
  const LoopKernel& loop(size_t member) const { return r_.members[member].kernel; }
  int16_t inner(size_t member, uint16_t operand) const { return r_.members[member].inner[operand]; }
  bool whole(int16_t value) const { return value >= 0 && r_.inner[static_cast<size_t>(value)].whole; }
  /// Returns the inner value that a bare value is a load of; -1 if it is anything else.
  int16_t loads(size_t member, ValueId v) const {
    const Instr& in = loop(member).body[bare(loop(member), v)];
    return in.code == Code::load ? inner(member, in.imm) : int16_t{-1};
  }
  /// True if the member reads none of the row's values but these.
  bool reads_only(size_t member, std::initializer_list<int16_t> values) const {
    const LoopKernel& k = loop(member);
    return std::all_of(k.body.begin(), k.body.end(), [&](const Instr& in) {
      return in.code != Code::load || inner(member, in.imm) < 0 ||
             std::find(values.begin(), values.end(), inner(member, in.imm)) != values.end();
    });
  }
  /// True if sums are float32 and the rows' axis is the one before the columns': rows are walked one axis at
  /// a time.
  static bool plain_rows(const LoopKernel& k, const Product& p) {
    const int before = p.summed_axis == k.rank - 2 ? k.rank - 3 : k.rank - 2;
    return p.row_axis >= 0 && p.row_axis == before && p.sum_type == DType::float32;
  }
  bool is_reduction(size_t member, Op op) const {
    const LoopKernel& k = loop(member);
    return k.form == Form::reduce && k.sequential == k.rank - 1 && k.reductions.size() == 1 &&
           k.reductions[0].op == op && k.reductions[0].type == DType::float32;
  }

  bool scores(Attention& a) const {
    const LoopKernel& k = loop(Attention::kScores);
    const auto p = product_of(k);
    if (!p || !plain_rows(k, *p) || k.stores.size() != 1 || !reads_only(Attention::kScores, {}) ||
        !whole(inner(Attention::kScores, k.stores[0].operand)))
      return false;
    a.scores = *p;
    a.x = inner(Attention::kScores, k.stores[0].operand);
    a.hidden = hidden_by_order(k, bare(k, k.stores[0].value), p->column_axis, p->row_axis);
    a.hidden_in = Attention::kScores;
    return true;
  }

  bool top(Attention& a) {
    constexpr size_t member = Attention::kTop;
    const LoopKernel& k = loop(member);
    if (!is_reduction(member, Op::max) || !reads_only(member, {a.x})) return false;
    a.largest = k.reductions[0].value;
    if (loads(member, a.largest) != a.x) {  // x is computed here
      a.hidden = hidden_by_order(k, bare(k, a.largest), k.rank - 1, k.rank - 2);
      a.hidden_in = member;
    }
    bool stored = false;
    a.top = -1;
    for (const Store& s : k.stores) {
      const int16_t to = inner(member, s.operand);
      if (to < 0) return false;
      if (s.value < k.epilogue) {
        if (stored || bare(k, s.value) != bare(k, a.largest)) return false;
        a.x = to;
        stored = true;
      } else if (a.top >= 0 || whole(to)) {
        return false;
      } else {
        a.top = to;
        const ValueId v = bare(k, s.value);
        const auto is_result = [&](ValueId x) { return k.body[bare(k, x)].code == Code::result; };
        const Instr& in = k.body[v];
        a.finite_top = is_op(k, v, Op::where) && is_op(k, in.a, Op::isfinite) && is_result(k.body[in.a].a) &&
                       is_result(in.b) && k.body[in.c].code == Code::scalar;
        if (!a.finite_top && !is_result(v)) return false;
      }
    }
    stored_ = stored || loads(member, a.largest) == a.x;
    return a.top >= 0;
  }

  /// Returns the scalar argument of where(key <= row, ..., scalar) of indices along these axes; -1 if `v` is
  /// of another form.
  static int hidden_by_order(const LoopKernel& k, ValueId v, int key_axis, int row_axis) {
    if (!is_op(k, v, Op::where) || row_axis < 0) return -1;
    const Instr &where = k.body[v], &hidden = k.body[where.c];
    if (hidden.code != Code::scalar || !is_op(k, where.a, Op::less_equal)) return -1;
    const auto counts = [&](ValueId i, int axis) {
      if (is_op(k, i, Op::cast)) i = k.body[i].a;
      return k.body[i].code == Code::iota && k.body[i].imm == axis;
    };
    const Instr& order = k.body[where.a];
    return counts(order.a, key_axis) && counts(order.b, row_axis) ? hidden.imm : -1;
  }

  /// True if v of kTop and w of kWeights compute the same of the same, at the same index, provided that
  /// same_operands and same_scalars are.
  bool same(Attention& a, ValueId v, ValueId w) const {
    const LoopKernel &k = loop(Attention::kTop), &l = loop(Attention::kWeights);
    const Instr &p = k.body[v], &q = l.body[w];
    if (k.rank != l.rank || p.code != q.code || p.type != q.type) return false;
    switch (p.code) {
      case Code::load:
        if (inner(Attention::kTop, p.imm) != inner(Attention::kWeights, q.imm)) return false;
        if (inner(Attention::kTop, p.imm) < 0) a.same_operands.emplace_back(p.imm, q.imm);
        return true;
      case Code::scalar: a.same_scalars.emplace_back(p.imm, q.imm); return true;
      case Code::iota: return p.imm == q.imm;
      case Code::op: break;
      default: return false;
    }
    constexpr size_t kMost = 64;  // as values may be shared, a large tree may stand for little code
    if (p.op != q.op || a.same_operands.size() + a.same_scalars.size() > kMost) return false;
    const auto alike = [&](ValueId x, ValueId y) {
      return x == kNoValue || y == kNoValue ? x == y : same(a, x, y);
    };
    return alike(p.a, q.a) && alike(p.b, q.b) && alike(p.c, q.c);
  }

  bool weights(Attention& a) {
    constexpr size_t member = Attention::kWeights;
    const LoopKernel& k = loop(member);
    if (!is_reduction(member, Op::sum) || !reads_only(member, {a.x, a.top})) return false;
    const ValueId weight = bare(k, k.reductions[0].value);
    if (!is_op(k, weight, Op::exp)) return false;
    const ValueId difference = bare(k, k.body[weight].a);
    if (!is_op(k, difference, Op::subtract) || loads(member, k.body[difference].b) != a.top) return false;
    const ValueId x = k.body[difference].a;
    if (stored_ ? loads(member, x) != a.x : !same(a, bare(loop(Attention::kTop), a.largest), bare(k, x)))
      return false;
    weights_ = -1;
    for (const Store& s : k.stores) {
      if (s.value >= k.epilogue) continue;
      if (weights_ >= 0 || bare(k, s.value) != weight) return false;
      weights_ = inner(member, s.operand);
      if (!whole(weights_)) return false;
    }
    return weights_ >= 0;
  }

  bool quotients(Attention& a) {
    const LoopKernel& k = loop(3);
    if (k.form != Form::map || k.stores.size() != 1) return false;
    const ValueId v = bare(k, k.stores[0].value);
    if (!is_op(k, v, Op::divide) || loads(3, k.body[v].a) != weights_) return false;
    a.divisor = loads(3, k.body[v].b);
    weights_ = inner(3, k.stores[0].operand);
    return a.divisor >= 0 && !whole(a.divisor) && whole(weights_);
  }

  bool values(Attention& a) {
    const LoopKernel& k = loop(a.last);
    const auto p = product_of(k);
    if (!p || !plain_rows(k, *p) || inner(a.last, p->left) != weights_ || inner(a.last, p->right) >= 0)
      return false;
    for (const Store& s : k.stores)
      if (inner(a.last, s.operand) >= 0) return false;
    for (size_t i = k.epilogue; i < k.body.size(); ++i)
      if (k.body[i].code == Code::load && whole(inner(a.last, k.body[i].imm))) return false;
    a.values = *p;
    return true;
  }

  const FusedRows& r_;
  bool stored_ = false;   // the weights are computed from what was stored
  int16_t weights_ = -1;  // the inner value that the last product reads
};

}  // namespace

std::optional<Attention> attention_of(const FusedRows& r) {
  Attention a;
  if (!Recogniser(r).run(a)) return {};
  return a;
}

}  // namespace lazy::jit::loop
