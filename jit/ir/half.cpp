#include "jit/ir/half.hpp"

#include <algorithm>
#include <optional>

namespace lazy::jit::loop {
namespace {

/// Describes an index along an axis, plus a number.
struct Index {
  int8_t axis = -1;
  int8_t sign = 0;
  uint16_t scalar = 0;
};

bool is_op(const Instr& in, Op op) { return in.code == Code::op && in.op == op; }
/// True for types in which an index doesn't wrap (a run with extents that would is not shortened).
bool counts(DType t) { return t == DType::int32 || t == DType::int64; }

std::optional<Index> index_of(const LoopKernel& k, ValueId v) {
  const Instr& in = k.body[v];
  if (in.code == Code::iota) return Index{static_cast<int8_t>(in.imm), 0, 0};
  if (is_op(in, Op::cast) && counts(in.type)) return index_of(k, in.a);
  if (!is_op(in, Op::add) && !is_op(in, Op::subtract)) return {};
  const bool adds = in.op == Op::add;
  for (const auto& [x, y] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
    if (k.body[y].code != Code::scalar || !counts(k.body[y].type) || (!adds && y != in.b)) continue;
    std::optional<Index> i = index_of(k, x);
    if (!i || i->sign != 0) return {};
    i->sign = adds ? 1 : -1;
    i->scalar = k.body[y].imm;
    return i;
  }
  return {};
}

/// Holds the halves in which a comparison is false, and in which it is true.
struct Compared {
  Half no, yes;
};
std::optional<Compared> compared(const LoopKernel& k, const Instr& in) {
  if (in.code != Code::op) return {};
  const bool swapped = in.op == Op::greater || in.op == Op::greater_equal;
  const bool strict = in.op == Op::less || in.op == Op::greater;
  if (!swapped && !strict && in.op != Op::less_equal) return {};
  if (!counts(k.body[in.a].type)) return {};
  const auto x = index_of(k, swapped ? in.b : in.a), y = index_of(k, swapped ? in.a : in.b);
  if (!x || !y || x->axis == y->axis || (x->sign != 0 && y->sign != 0)) return {};
  // x <= y is false where x is past y, true where y is more than -1 past x.
  Compared c{{x->axis, y->axis, 0, 0, strict ? -1 : 0}, {y->axis, x->axis, 0, 0, strict ? 0 : -1}};
  const Index& with = x->sign != 0 ? *x : *y;
  if (with.sign != 0) {
    const auto sign = static_cast<int8_t>(x->sign != 0 ? -with.sign : with.sign);
    c.no.sign = sign, c.yes.sign = static_cast<int8_t>(-sign);
    c.no.scalar = c.yes.scalar = with.scalar;
  }
  return c;
}

class Evaluation {
 public:
  Evaluation(const LoopKernel& k, const Part& p, const std::vector<uint8_t>& zero_operands, KnownPart& out)
      : k_(k),
        half_(std::get_if<Half>(&p)),
        mask_(std::get_if<Masked>(&p)),
        zero_(zero_operands),
        out_(out) {}

  void run() {
    out_.values.assign(k_.body.size(), Known::unknown);
    out_.scalars.assign(k_.body.size(), 0);
    for (ValueId v = 0; v < k_.body.size(); ++v) value(v);
    if (half_ ? k_.sequential == half_->a || k_.sequential == half_->b : k_.sequential == mask_->axis)
      out_.neutral =
          k_.form == Form::contract ? sums_nothing() : k_.form == Form::reduce && reduces_nothing();
  }

 private:
  void set(ValueId v, ValueId as) {
    out_.values[v] = out_.values[as];
    out_.scalars[v] = out_.scalars[as];
  }
  Known at(ValueId v) const { return out_.values[v]; }

  void value(ValueId v) {
    const Instr& in = k_.body[v];
    if (in.code == Code::scalar) out_.values[v] = Known::scalar, out_.scalars[v] = in.imm;
    if (in.code == Code::load && zero_[in.imm]) out_.values[v] = is_bool(in.type) ? Known::no : Known::zero;
    if (in.code == Code::load && mask_ && in.imm == mask_->operand)
      out_.values[v] = mask_->value ? Known::yes : Known::no;
    if (in.code != Code::op) return;
    if (const auto c = half_ ? compared(k_, in) : std::nullopt) {
      if (c->no == *half_) out_.values[v] = Known::no;
      if (c->yes == *half_) out_.values[v] = Known::yes;
    } else if (in.op == Op::where) {
      if (at(in.a) == Known::yes) set(v, in.b);
      const bool alike = at(in.b) == at(in.c) && out_.scalars[in.b] == out_.scalars[in.c];
      if (alike) set(v, in.b);
      // A mask of ones and zeros, as tril() makes it, is taken to have its zeros here.
      if (at(in.a) == Known::no || (at(in.a) == Known::scalar && out_.is_zero(in.a))) set(v, in.c);
    } else if (in.op == Op::cast) {
      const bool floats = is_float(in.type) && is_float(k_.body[in.a].type);
      if (floats && (at(in.a) == Known::zero || at(in.a) == Known::scalar)) set(v, in.a);
    } else if (is_bool(in.type)) {
      logical(v, in);
    }
  }
  void logical(ValueId v, const Instr& in) {
    const auto either = [&](Known x) { return at(in.a) == x || at(in.b) == x; };
    if (in.op == Op::bitwise_and && either(Known::no)) out_.values[v] = Known::no;
    if (in.op == Op::bitwise_or && either(Known::yes)) out_.values[v] = Known::yes;
    if (in.op != Op::bitwise_invert) return;
    if (at(in.a) == Known::no) out_.values[v] = Known::yes;
    if (at(in.a) == Known::yes) out_.values[v] = Known::no;
  }

  /// True if the value is at no index -0, if the scalars that were noted are +0.
  bool never_negative_zero(ValueId v) const {
    const Instr& in = k_.body[v];
    if (in.code == Code::scalar)
      return std::find(out_.zeros.begin(), out_.zeros.end(), in.imm) != out_.zeros.end();
    if (is_op(in, Op::where)) return never_negative_zero(in.b) && never_negative_zero(in.c);
    return is_op(in, Op::exp);
  }

  bool reduces_nothing() {
    return std::all_of(k_.reductions.begin(), k_.reductions.end(), [&](const Reduction& r) {
      if (r.type != DType::float32 && r.type != DType::float64) return false;
      // A sum of nothing but -0 is -0, and +0 with another +0.
      if (r.op == Op::sum) return out_.is_zero(r.value) && never_negative_zero(r.value);
      if (r.op != Op::max || at(r.value) != Known::scalar) return false;
      out_.lowest.push_back(out_.scalars[r.value]);
      return true;
    });
  }

  /// True if the left side is +0.
  bool sums_nothing() {
    const Contraction& c = k_.contraction;
    if ((c.type != DType::float32 && c.type != DType::float64) || c.right.load == kNoValue) return false;
    if (!out_.is_zero(c.left.value)) return false;
    const auto is_sum = [&](ValueId v) { return v != kNoValue && k_.body[v].code == Code::result; };
    size_t plus_zero = 0, others = 0;
    for (ValueId v = k_.epilogue; v < k_.body.size(); ++v) {
      const Instr& in = k_.body[v];
      if (!is_sum(in.a) && !is_sum(in.b) && !is_sum(in.c)) continue;
      const ValueId other = is_sum(in.a) ? in.b : in.a;
      const bool adds = is_op(in, Op::add) && at(other) == Known::scalar && out_.is_zero(other);
      ++(adds ? plus_zero : others);
    }
    const auto stored = static_cast<size_t>(
        std::count_if(k_.stores.begin(), k_.stores.end(), [&](const Store& s) { return is_sum(s.value); }));
    if (others == 0 && stored == 0) out_.signs = KnownPart::Signs::none;
    if (others + plus_zero == 0 && stored == 1) out_.signs = KnownPart::Signs::stored;
    return true;
  }

  const LoopKernel& k_;
  const Half* half_;
  const Masked* mask_;
  const std::vector<uint8_t>& zero_;
  KnownPart& out_;
};

}  // namespace

bool KnownPart::is_zero(ValueId v) {
  if (values[v] == Known::scalar) zeros.push_back(scalars[v]);
  return values[v] == Known::zero || values[v] == Known::scalar;
}

std::vector<Half> halves_of(const LoopKernel& k) {
  std::vector<Half> found;
  for (const Instr& in : k.body) {
    const auto c = compared(k, in);
    if (!c) continue;
    for (const Half& h : {c->no, c->yes})
      if (std::find(found.begin(), found.end(), h) == found.end()) found.push_back(h);
  }
  return found;
}

KnownPart known_in(const LoopKernel& k, const Part& part, const std::vector<uint8_t>& zero_operands) {
  KnownPart known;
  Evaluation(k, part, zero_operands, known).run();
  return known;
}

}  // namespace lazy::jit::loop
