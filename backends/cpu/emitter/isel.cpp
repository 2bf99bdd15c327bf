#include "backends/cpu/emitter/isel.hpp"

#include <cmath>
#include <limits>

#include "support/error.hpp"

namespace lazy::cpu_backend {
using jit::loop::Code;
using jit::loop::Form;
using jit::loop::Instr;
using jit::loop::kNoValue;
using jit::loop::LoopKernel;
using jit::loop::Reduction;
using vir::Builder;
using vir::Type;
using vir::Val;
namespace {

bool is_arg(jit::Op op) { return op == jit::Op::argmax || op == jit::Op::argmin; }

/// True for a running maximum or minimum of floats. It accumulates integers of the floats' order, in which
/// NaN is the extreme: so only one short instruction waits for the one before.
bool is_running_extreme(const Reduction& r) {
  return is_float(r.type) && (r.op == jit::Op::cummax || r.op == jit::Op::cummin);
}

/// Returns the type of an accumulator: any and all accumulate 0 and 1.
Type accumulator_type(const Reduction& r) {
  if (is_running_extreme(r)) return r.type == DType::float64 ? Type::i64 : Type::i32;
  return is_bool(r.type) ? Type::i32 : lane_type(r.type);
}

uint64_t bits_of(Type t, double v) {
  return t == Type::f32 ? std::bit_cast<uint32_t>(static_cast<float>(v)) : std::bit_cast<uint64_t>(v);
}

/// Returns the identity: x op identity is x, whatever x.
uint64_t identity_of(const Reduction& r) {
  const Type t = accumulator_type(r);
  const bool f = is_float(r.type) && !is_running_extreme(r), u = is_unsigned_int(r.type);
  const int bits = static_cast<int>(size_of(r.type)) * 8;
  const auto number = [&](int64_t v) {
    return vir::is64(t) ? static_cast<uint64_t>(v) : static_cast<uint32_t>(v);
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (jit::reduction_of(r.op)) {
    case jit::Op::sum: return f ? bits_of(t, -0.0) : 0;
    case jit::Op::prod: return f ? bits_of(t, 1) : 1;
    case jit::Op::all: return 1;
    case jit::Op::max:
    case jit::Op::argmax:
      return f ? bits_of(t, -inf) : u ? 0 : number(static_cast<int64_t>(~uint64_t{0} << (bits - 1)));
    case jit::Op::min:
    case jit::Op::argmin:
      return f   ? bits_of(t, inf)
             : u ? number(bits == 64 ? -1 : (int64_t{1} << bits) - 1)
                 : number(static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1));
    default: return 0;
  }
}

/// Returns an integer of a float's order: -0 before 0, NaN the extreme that a running maximum or minimum
/// seeks.
Val ordered(Builder& b, Val x, jit::Op op) {
  const Type t = b.int_of(x);
  const int bits = vir::is64(t) ? 64 : 32;
  const Val i = b.bitcast(t, x), all = b.integer(i, -1);
  const Val key = b.xor_(i, b.shr(b.sar(i, bits - 1), 1));
  return b.select(b.isnan(x), op == jit::Op::cummax ? b.shr(all, 1) : b.shl(all, bits - 1), key);
}

/// Returns the float of such an integer.
Val float_of(Builder& b, Val key) {
  const bool wide = vir::is64(key.type);
  return b.bitcast(wide ? Type::f64 : Type::f32, b.xor_(key, b.shr(b.sar(key, wide ? 63 : 31), 1)));
}

/// Is the index of an argmax accumulator that nothing was offered to.
constexpr uint64_t kNoIndex = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

/// Builds a template.
class Selector {
 public:
  Selector(const LoopKernel& k, Isa isa)
      : k_(k),
        values_(k.body.size()),
        accumulators_(accumulators_of(k)),
        running_(k.reductions.size()),
        shown_(k.reductions.size()) {
    b_.cheap_select = isa >= Isa::avx512;
    uses_.assign(k.body.size(), 0);
    wide_uses_.assign(k.body.size(), 0);
    for (const Instr& i : k.body)
      for (auto v : {i.a, i.b, i.c})
        if (v != kNoValue) ++uses_[v], wide_uses_[v] |= !is_narrow(i);
    const auto accumulated = [&](auto v) { ++uses_[v], wide_uses_[v] = 1; };
    for (const Reduction& r : k.reductions) accumulated(r.value);
    if (k.form == Form::contract)
      accumulated(k.contraction.left.value), accumulated(k.contraction.right.value);
    for (const auto& s : k.stores) {
      wide_uses_[s.value] = 1;
      if (s.at < k.body.size()) wide_uses_[s.at] = 1;
    }
    if (is_indexed(k)) same_ = same_along(k, k.rank - 1);
  }

  void body(size_t first, size_t last) {
    size_t rolled_loop = 0;
    for (size_t i = first; i < last; ++i) {
      if (rolled_loop < k_.rolled_loops.size() && i == k_.rolled_loops[rolled_loop].first) {
        b_.push({kRolledLoop, Type::f32, rolled_loop});
        in_rolled_loop_ = true;
      }
      values_[i] = one(i);
      if (in_rolled_loop_ && i + 1 == k_.rolled_loops[rolled_loop].last) {
        for (size_t c = k_.rolled_loops[rolled_loop].first; k_.body[c].code == Code::carried; ++c)
          out_.carried.push_back({values_[c].id, values_[k_.body[c].b].id});
        b_.push({kRepeatEnd, Type::f32, rolled_loop++});
        in_rolled_loop_ = false;
      }
    }
  }
  Val value(uint16_t v) const { return values_[v]; }

  /// Adds the stores of the values that instructions from `first` to before `last` compute.
  void stores(size_t first, size_t last) {
    for (const auto& s : k_.stores)
      if (s.value >= first && s.value < last) out_.stores.push_back({s.operand, values_[s.value].id});
  }

  void updates(bool masked) {
    if (k_.form == Form::contract) out_.updates.push_back({0, product_added().id});
    for (size_t r = 0; r < k_.reductions.size(); ++r) {
      const std::vector<Val> acc = inputs(r);
      const std::vector<Val> next = updated(k_.reductions[r], acc);
      const Val tail = masked ? b_.input(Type::mask, Slot{Slot::Kind::tail}.pack()) : Val{};
      for (size_t i = 0; i < acc.size(); ++i)
        out_.updates.push_back({static_cast<uint16_t>(first_accumulator(r) + i),
                                (masked ? b_.select(tail, next[i], acc[i]) : next[i]).id});
    }
  }
  void running_updates() {
    for (size_t r = 0; r < k_.reductions.size(); ++r)
      running(r), out_.updates.push_back({static_cast<uint16_t>(first_accumulator(r)), running_[r].id});
  }

  Template finish() {
    out_.code = std::move(b_.code);
    out_.indexed = !same_.empty();
    return std::move(out_);
  }

 private:
  size_t first_accumulator(size_t reduction) const {
    size_t i = 0;
    while (accumulators_[i].reduction != reduction) ++i;
    return i;
  }
  std::vector<Val> inputs(size_t reduction) {
    std::vector<Val> v;
    for (size_t i = 0; i < accumulators_.size(); ++i)
      if (accumulators_[i].reduction == reduction)
        v.push_back(b_.input(accumulators_[i].type, Slot{Slot::Kind::acc, static_cast<uint16_t>(i)}.pack()));
    return v;
  }

  std::vector<Val> updated(const Reduction& r, const std::vector<Val>& acc) {
    const Val v = values_[r.value];
    switch (r.op) {
      case jit::Op::argmax:
      case jit::Op::argmin: {
        // Indices ascend, so only a strictly better value replaces, or the first NaN.
        const Val index =
            b_.input(Type::i64, Slot{Slot::Kind::iota, static_cast<uint16_t>(k_.sequential)}.pack());
        const bool most = r.op == jit::Op::argmax;
        const Val better =
            is_float(r.type)  // what is no NaN gives way to what is not as bad, which a NaN isn't
                ? b_.andn(b_.cmp(most ? vir::Pred::le : vir::Pred::ge, v, acc[0]),
                          b_.cmp(vir::Pred::ord, acc[0], acc[0]))
                : emit_compare(b_, r.type, most ? vir::Pred::gt : vir::Pred::lt, v, acc[0]);
        return {b_.select(better, v, acc[0]), b_.select(better, index, acc[1])};
      }
      default: return combine(b_, r, acc, {is_bool(r.type) ? b_.mask_to_int(Type::i32, v) : v});
    }
  }

  /// Returns the contraction's sum with one more product in it.
  Val product_added() {
    const jit::loop::Contraction& c = k_.contraction;
    const Val left = values_[c.left.value], right = values_[c.right.value], sum = inputs(0)[0];
    return is_float(c.type) ? b_.fma(left, right, sum) : b_.iadd(b_.imul(left, right), sum);
  }

  /// Returns what a scan shows at this index, and sets what its accumulator becomes.
  Val running(size_t r) {
    if (running_[r].id == ~0u) {
      const Reduction& red = k_.reductions[r];
      const Val value = values_[red.value];
      const bool extreme = is_running_extreme(red);
      running_[r] = combine(b_, red, inputs(r), {extreme ? ordered(b_, value, red.op) : value})[0];
      running_[r] = normalise(b_, red.type, running_[r]);
      shown_[r] = extreme ? float_of(b_, running_[r]) : running_[r];
    }
    return shown_[r];
  }

  /// True for an index of which only 32 bits are used: it needs no lanes of 64, which would halve the number
  /// of all others.
  bool is_narrow(const Instr& in) const {
    return in.code == Code::op && in.op == jit::Op::cast &&
           (in.type == DType::int32 || in.type == DType::uint32) && k_.body[in.a].code == Code::iota;
  }

  Val one(size_t i) {
    const Instr& in = k_.body[i];
    switch (in.code) {
      case Code::load: return b_.input(lane_type(in.type), Slot{Slot::Kind::load, in.imm}.pack());
      case Code::scalar:
        if (!wide_uses_[i]) return {};  // as the address of a check's flag, which needs no lanes
        return b_.input(lane_type(in.type),
                        Slot{in_rolled_loop_ ? Slot::Kind::stepped : Slot::Kind::scalar, in.imm}.pack());
      case Code::load_at: {
        const BlockOp op = same_[in.a] ? kLoadRow : kLoadAt;
        return b_.push({op, lane_type(in.type), Slot{Slot::Kind::load, in.imm}.pack(), values_[in.a].id});
      }
      case Code::check: return b_.push({kCheck, Type::mask, in.imm, values_[in.a].id});
      case Code::carried: {
        const Val from = values_[in.a];
        return b_.push({kCarried, from.type, i, from.id});
      }
      case Code::iota:
        return !wide_uses_[i] ? Val{} : b_.input(Type::i64, Slot{Slot::Kind::iota, in.imm}.pack());
      case Code::result: {
        if (k_.form == Form::scan) return running(in.imm);
        if (k_.form == Form::contract)
          return normalise(b_, in.type, b_.input(lane_type(in.type), Slot{Slot::Kind::result, 0}.pack()));
        const Reduction& r = k_.reductions[in.imm];
        const Type t = is_arg(r.op) ? Type::i64 : accumulator_type(r);
        const Val v = b_.input(t, Slot{Slot::Kind::result, in.imm}.pack());
        if (is_arg(r.op)) {  // nothing was better than what accumulators start with: so all elements equal it
          const Val first =
              b_.input(Type::i64, Slot{Slot::Kind::iota, static_cast<uint16_t>(k_.sequential)}.pack());
          return b_.select(b_.eq(v, b_.i64(static_cast<int64_t>(kNoIndex))), first, v);
        }
        return is_bool(r.type) ? b_.ne(v, b_.i32(0)) : normalise(b_, r.type, v);
      }
      case Code::op: break;
    }
    const auto operand = [&](uint16_t v) { return v == kNoValue ? Val{} : values_[v]; };
    const EmitFn emit = emission(in.op);
    if (!emit) throw CompileError(std::string("no vector code for op ") + jit::name_of(in.op));
    const DType from = k_.body[in.op == jit::Op::where ? in.b : in.a].type;
    if (is_narrow(in)) return b_.input(Type::i32, Slot{Slot::Kind::iota, k_.body[in.a].imm}.pack());
    // The store rounds a float16 by itself.
    if (in.op == jit::Op::cast && in.type == DType::float16 && uses_[i] == 0 && from == DType::float32)
      return operand(in.a);
    return emit({b_, in.type, from, operand(in.a), operand(in.b), operand(in.c), in.op, in.accuracy});
  }

  const LoopKernel& k_;
  Builder b_;
  std::vector<Val> values_;
  std::vector<uint32_t> uses_;
  std::vector<uint8_t> wide_uses_;  // by value: it is used; of an index: as something else than an int32
  std::vector<uint8_t> same_;       // of indexed kernels, by value: the same in all lanes
  std::vector<AccumulatorInfo> accumulators_;
  std::vector<Val> running_, shown_;  // by reduction of a scan: the accumulator, and the value it stands for
  bool in_rolled_loop_ = false;
  Template out_;
};

}  // namespace

std::vector<AccumulatorInfo> accumulators_of(const LoopKernel& k) {
  std::vector<AccumulatorInfo> out;
  if (k.form == Form::contract) out.push_back({0, lane_type(k.contraction.type), 0});
  for (size_t r = 0; r < k.reductions.size(); ++r) {
    out.push_back(
        {static_cast<uint16_t>(r), accumulator_type(k.reductions[r]), identity_of(k.reductions[r])});
    if (is_arg(k.reductions[r].op)) out.push_back({static_cast<uint16_t>(r), Type::i64, kNoIndex});
  }
  return out;
}

std::vector<Val> combine(Builder& b, const Reduction& r, const std::vector<Val>& acc,
                         const std::vector<Val>& other) {
  const Val x = acc[0], y = other[0];
  if (is_running_extreme(r)) return {r.op == jit::Op::cummax ? b.imax(x, y) : b.imin(x, y)};
  const Selecting s{b, r.type, r.type, x, y, {}};
  switch (jit::reduction_of(r.op)) {
    case jit::Op::sum: return {is_float(r.type) ? b.add(x, y) : b.iadd(x, y)};
    case jit::Op::prod: return {is_float(r.type) ? b.mul(x, y) : b.imul(x, y)};
    case jit::Op::max: return {emit_maximum(s)};
    case jit::Op::min: return {emit_minimum(s)};
    case jit::Op::any: return {b.or_(x, y)};
    case jit::Op::all: return {b.and_(x, y)};
    case jit::Op::argmax:
    case jit::Op::argmin: {
      const auto better_than = r.op == jit::Op::argmax ? vir::Pred::gt : vir::Pred::lt;
      const Val earlier = b.lt(other[1], acc[1]);
      Val better = b.or_(emit_compare(b, r.type, better_than, y, x),
                         b.and_(emit_compare(b, r.type, vir::Pred::eq, y, x), earlier));
      if (is_float(r.type)) {
        const Val nan_x = b.isnan(x), nan_y = b.isnan(y);
        better = b.select(nan_x, b.and_(nan_y, earlier), b.or_(nan_y, better));
      }
      return {b.select(better, y, x), b.select(better, other[1], acc[1])};
    }
    default: throw CompileError(std::string("no way to combine partial results of ") + jit::name_of(r.op));
  }
}

Template select_body(const LoopKernel& k, Isa isa, bool masked) {
  Selector s(k, isa);
  const size_t end = k.has_epilogue() ? k.epilogue : k.body.size();
  s.body(0, end);
  if (k.has_epilogue()) s.updates(masked);
  s.stores(0, end);
  if (k.form == Form::scan) s.running_updates();
  return s.finish();
}

Template select_epilogue(const LoopKernel& k, Isa isa) {
  Selector s(k, isa);
  s.body(k.epilogue, k.body.size());
  s.stores(k.epilogue, k.body.size());
  return s.finish();
}

bool has_wide_lanes(const Template& t) {
  for (const vir::Inst& i : t.code)
    if (vir::is64(i.type)) return true;
  return false;
}

}  // namespace lazy::cpu_backend
