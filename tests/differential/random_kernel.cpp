#include "tests/differential/random_kernel.hpp"

#include <algorithm>

#include "tests/common/kernel_builder.hpp"
#include "tests/differential/random_source.hpp"

namespace lazy::test {
namespace {

bool extent_ok(const std::vector<int64_t>& e, int64_t budget) {
  int64_t n = 1;
  for (int64_t x : e) {
    if (x > budget / n) return false;  // before it can overflow
    n *= std::max<int64_t>(x, 1);
  }
  return true;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : s_(seed), seed_(seed) {}

  Case make() {
    shape();
    KernelBuilder b(form_, static_cast<int>(extents_.size()), sequential_);
    b_ = &b;
    if (form_ == Form::contract) {
      contraction();
    } else {
      const int n = static_cast<int>(s_.percent(80) ? s_.between(1, 12) : s_.between(12, 60));
      add_value(load(random_type()));
      for (int i = 0; i < n; ++i) step();
      if (form_ == Form::map && s_.percent(35))
        for (int64_t r = s_.percent(75) ? 1 : 2; r > 0; --r) {
          rolled_loop();
          for (int64_t i = s_.below(4); i > 0; --i) step();
        }
    }
    if (form_ == Form::reduce) {
      reductions();
      body_stores();
    }
    if (b.k.has_epilogue()) epilogue();
    if (form_ == Form::scan) running_sums();
    if (form_ == Form::scatter) scatter();
    else stores();
    Case c;
    c.kernel = b.done();
    c.extents = extents_;
    for (size_t i = 0; i < extents_.size(); ++i)
      c.origins.push_back(s_.percent(30) ? s_.between(-5, 1000000) : 0);
    c.scalars = scalars_;
    c.plans = plans_;
    c.seed = seed_;
    return without_dead_code(c);
  }

 private:
  struct Known {
    ValueId id;
    DType type;
    bool nan_sign;  // true if the sign of a NaN is defined: nothing has been computed from it
  };

  // ---- the box ----
  void shape() {
    const int64_t kind = s_.below(100);
    int rank = static_cast<int>(s_.percent(95) ? s_.between(1, 4) : s_.between(5, 7));
    if (kind < 28) {
      form_ = Form::map;
    } else if (kind < 35) {
      form_ = Form::scatter;
      sequential_ = static_cast<int>(s_.below(rank));
    } else if (kind < 55) {  // inner
      form_ = Form::reduce;
      sequential_ = rank - 1;
    } else if (kind < 75) {  // outer
      form_ = Form::reduce;
      rank = std::max(rank, 2);
      sequential_ = static_cast<int>(s_.below(rank - 1));
    } else if (kind < 85) {
      form_ = Form::scan;
      rank = std::max(rank, 2);
      sequential_ = static_cast<int>(s_.below(rank - 1));
    } else {
      form_ = Form::contract;
      rank = static_cast<int>(s_.percent(60) ? 3 : s_.between(2, 4));
      sequential_ = s_.percent(50) ? 0 : rank - 2;
    }
    const int64_t sizes[] = {1,   2,   3,   4,    5,    7,    8,    9,    13,   15,    16,    17,   23,
                             31,  32,  33,  47,   63,   64,   65,   100,  127,  128,   129,   255,  256,
                             257, 300, 511, 1000, 1023, 1024, 1025, 2500, 4099, 16384, 16385, 40000};
    const int64_t p = s_.below(100), budget = p < 70 ? 4000 : p < 94 ? 45000 : 400000;
    do {
      extents_.clear();
      for (int i = 0; i < rank; ++i)
        extents_.push_back(sizes[s_.below(s_.percent(50) ? 12 : static_cast<int64_t>(std::size(sizes)))]);
    } while (!extent_ok(extents_, budget));
    // A big budget means many elements: one axis takes what is left of it, up to a size that stays quick.
    if (p >= 94 && s_.percent(60)) {
      int64_t& e = extents_[static_cast<size_t>(s_.below(rank))];
      int64_t others = 1;
      for (int64_t x : extents_) others *= x;
      e = std::max<int64_t>(e, std::min<int64_t>(budget / (others / e), 200000));
    }
    if (s_.percent(4)) extents_[static_cast<size_t>(s_.below(rank))] = 0;
    values_ = s_.percent(50)
                  ? std::vector<Values>{Values::small, Values::range, Values::special, Values::bits}
                  : std::vector<Values>{Values::small, Values::range};
  }

  // ---- memory ----
  std::vector<int64_t> packed(DType t, const std::vector<bool>& moves, bool plain) {
    const int rank = static_cast<int>(extents_.size());
    std::vector<int> order(rank);
    for (int i = 0; i < rank; ++i) order[i] = i;
    if (!plain && s_.percent(30))
      for (int i = rank - 1; i > 0; --i) std::swap(order[i], order[s_.below(i + 1)]);
    std::vector<int64_t> strides(rank, 0);
    int64_t step = static_cast<int64_t>(size_of(t));
    for (int i = rank - 1; i >= 0; --i) {
      const int axis = order[i];
      if (!moves[axis]) continue;
      if (!plain && s_.percent(15)) step *= s_.between(2, 3);
      if (!plain && s_.percent(5)) step += s_.between(1, 7);  // not even a multiple of the element
      strides[axis] = !plain && s_.percent(10) ? -step : step;
      step *= std::max<int64_t>(extents_[axis], 1);
    }
    return strides;
  }

  int operand(DType t, bool output, std::vector<bool> moves) {
    const int rank = static_cast<int>(extents_.size());
    OperandPlan plan;
    plan.strides = packed(t, moves, s_.percent(40));
    std::vector<Stride> classes(rank);
    for (int i = 0; i < rank; ++i) {
      if (!moves[i]) classes[i] = Stride::zero;
      else if (plan.strides[i] == static_cast<int64_t>(size_of(t)) && s_.percent(85))
        classes[i] = Stride::unit;
      else classes[i] = Stride::any;
      // Where there is only one index, the stride is never used: it may be anything.
      if (classes[i] == Stride::any && extents_[i] == 1 && s_.percent(50))
        plan.strides[i] = s_.between(-100000, 100000);
    }
    plan.values = s_.pick(values_);
    plan.tag = static_cast<uint32_t>(plans_.size());
    plan.at_end = s_.percent(70);
    if (s_.percent(40))
      plan.shift =
          s_.percent(60) ? static_cast<int>(size_of(t) * s_.below(9)) : static_cast<int>(s_.below(64));
    plans_.push_back(plan);
    const int o = b_->operand(t, output, classes);
    b_->k.operands[o].wide = s_.percent(10);
    return o;
  }

  ValueId load(DType t) {
    std::vector<bool> moves(extents_.size());
    const bool broadcast = s_.percent(40);
    for (size_t i = 0; i < moves.size(); ++i) moves[i] = !(broadcast && s_.percent(40));
    if (in_epilogue_) moves[sequential_] = false;
    return b_->load(operand(t, false, moves));
  }

  /// Carries some of the pool through a few iterations of a few steps.
  void rolled_loop() {
    const int64_t trips = s_.percent(20) ? 1 : s_.between(2, 9);
    scalars_.push_back(static_cast<uint64_t>(trips));
    const ValueId count = b_->scalar(DType::int64);
    std::vector<DType> stepped;
    for (int64_t i = s_.below(3); i > 0; --i) {
      const DType t = random_type();
      if (size_of(t) >= 4) stepped.push_back(t);
    }
    const size_t outside = pool_.size();
    b_->begin_rolled_loop(count, static_cast<int>(stepped.size()));
    std::vector<ValueId> carried;
    for (int64_t i = s_.between(1, 3); i > 0; --i) {
      carried.push_back(b_->carried(s_.percent(50) ? pool_[outside - 1].id
                                                   : pool_[s_.below(static_cast<int64_t>(outside))].id));
      add_value(carried.back(), false);
    }
    const ValueId first = static_cast<ValueId>(b_->k.body.size());
    in_rolled_loop_ = true;
    for (const DType t : stepped) add_value(b_->scalar(t));
    for (int64_t t = 0; t < trips; ++t)
      for (const DType s : stepped)
        scalars_.push_back(random_value(s, s_.pick(values_), seed_, 1000 + scalars_.size()));
    b_->k.scalars = static_cast<uint16_t>(scalars_.size());
    for (int64_t i = s_.percent(80) ? s_.between(1, 8) : s_.between(8, 40); i > 0; --i) step();
    for (const ValueId c : carried) {
      const DType t = b_->k.body[c].type;
      ValueId next = value(t);
      if (next < first && (b_->k.body[next].code != Code::carried || s_.percent(50))) {
        next = b_->cast(t, next);
        add_value(next, false);
      }
      b_->next(c, next);
    }
    in_rolled_loop_ = false;
    b_->end_rolled_loop();
    std::erase_if(pool_, [&](const Known& k) { return b_->k.body[k.id].code == Code::carried; });
  }

  ValueId scalar(DType t) {
    scalars_.push_back(random_value(t, s_.pick(values_), seed_, 1000 + scalars_.size()));
    return b_->scalar(t);
  }

  // ---- values ----
  DType random_type() {
    const int64_t p = s_.below(100);
    if (p < 35) return DType::float32;
    if (p < 47) return DType::float64;
    return static_cast<DType>(s_.below(kDTypeCount));
  }

  void add_value(ValueId v, bool nan_sign = true) { pool_.push_back({v, b_->k.body[v].type, nan_sign}); }

  const Known& known(ValueId v) const {
    return *std::find_if(pool_.begin(), pool_.end(), [&](const Known& k) { return k.id == v; });
  }

  /// Returns a value of type `t`: an existing or a new one.
  ValueId value(DType t, bool nan_sign = false) {
    std::vector<ValueId> fit;
    for (const Known& k : pool_)
      if (k.type == t && (k.nan_sign || !nan_sign)) fit.push_back(k.id);
    if (!fit.empty() && s_.percent(80)) return s_.percent(40) ? fit.back() : s_.pick(fit);
    ValueId v;
    bool keeps_sign = true;
    const int64_t p = s_.below(100);
    if ((p < 30 || in_rolled_loop_) && !pool_.empty() && !nan_sign) {
      const Known from = s_.pick(pool_);
      v = b_->cast(t, from.id);
      keeps_sign = from.nan_sign;
    } else if (p < 45 && scalars_.size() < 4) {
      v = scalar(t);
    } else if (plans_.size() < 8 || pool_.empty() || nan_sign) {
      v = load(t);
    } else {
      const Known from = s_.pick(pool_);
      v = b_->cast(t, from.id);
      keeps_sign = from.nan_sign;
    }
    add_value(v, keeps_sign);
    return v;
  }

  static bool keeps_nan_sign(Op op) {
    switch (op) {
      case Op::negative:
      case Op::abs:
      case Op::ceil:
      case Op::floor:
      case Op::trunc:
      case Op::round:
      case Op::where: return true;
      default: return false;
    }
  }

  void step() {
    static const std::vector<Op> pointwise = [] {
      std::vector<Op> v;
      for (int i = 0; i < jit::kOpCount; ++i)
        if (jit::kind_of(static_cast<Op>(i)) == jit::OpKind::pointwise) v.push_back(static_cast<Op>(i));
      return v;
    }();
    if (s_.percent(5) && !in_rolled_loop_) return add_value(load_at(random_type()));
    if (s_.percent(4) && !in_rolled_loop_) {
      int axis = static_cast<int>(s_.below(static_cast<int64_t>(extents_.size())));
      if (!in_epilogue_ || axis != sequential_) return add_value(b_->iota(axis));
    }
    const Op op = s_.pick(pointwise);
    if (in_rolled_loop_ && (op == Op::signbit || op == Op::copysign)) return;  // they may need a new load
    if (op == Op::cast) {
      const Known from = s_.pick(pool_);
      return add_value(b_->cast(random_type(), from.id), from.nan_sign);
    }
    std::vector<DType> types;
    for (const Known& k : pool_)
      if (accepts(op, k.type)) types.push_back(k.type);
    if (types.empty() || s_.percent(15)) {
      types.clear();
      for (int t = 0; t < kDTypeCount; ++t)
        if (accepts(op, static_cast<DType>(t))) types.push_back(static_cast<DType>(t));
    }
    const DType t = s_.pick(types);
    const int arity = jit::row_of(op).arity;
    ValueId v[3] = {kNoValue, kNoValue, kNoValue};
    bool nan_sign = true;
    for (int i = 0; i < arity; ++i) {
      const bool condition = op == Op::where && i == 0;
      v[i] = value(condition ? DType::bool_ : t, op == Op::signbit || (op == Op::copysign && i == 1));
      if (!condition) nan_sign = nan_sign && known(v[i]).nan_sign;
    }
    if (op == Op::copysign) return add_value(b_->op(op, v[0], v[1]), true);
    const ValueId made = b_->op(op, v[0], v[1], v[2]);
    b_->k.body[made].accuracy = jit::form_of(op, t, static_cast<jit::Accuracy>(s_.below(3)));
    add_value(made, !is_float(t) || (nan_sign && keeps_nan_sign(op)));
  }

  // ---- computed indices ----
  /// Returns what operand `o` is to be read or written at: so many elements on, along `axis`.
  ValueId offset_in(int o, int axis) {
    OperandPlan& plan = plans_[static_cast<size_t>(o)];
    Operand& operand = b_->k.operands[static_cast<size_t>(o)];
    operand.stride[axis] = Stride::zero;
    plan.indexed = axis;
    scalars_.insert(scalars_.end(), 2, 0);
    const ValueId n = b_->scalar(DType::int64), stride = b_->scalar(DType::int64);
    plan.extent_scalar = b_->k.body[n].imm;
    plan.stride_scalar = b_->k.body[stride].imm;
    const Known from = s_.pick(pool_);
    ValueId i = from.id;
    if (from.type != DType::int64) i = b_->cast(DType::int64, i);
    i = b_->op(Op::remainder, i, n);
    const bool unit = plan.strides[static_cast<size_t>(axis)] == static_cast<int64_t>(size_of(operand.dtype));
    return unit && s_.percent(70) ? i : b_->op(Op::multiply, i, stride);
  }

  ValueId load_at(DType t) {
    if (pool_.empty()) return load(t);
    const int rank = static_cast<int>(extents_.size());
    const int axis = static_cast<int>(s_.below(rank));
    std::vector<bool> moves(static_cast<size_t>(rank));
    for (size_t i = 0; i < moves.size(); ++i) moves[i] = !s_.percent(30);
    if (in_epilogue_) moves[static_cast<size_t>(sequential_)] = false;
    moves[static_cast<size_t>(axis)] = true;
    const int o = whole_operand(t, false, moves, axis);
    const ValueId at = offset_in(o, axis);
    return b_->load_at(o, at);
  }

  /// Adds an operand whose elements along `axis` are a multiple of the element size apart.
  int whole_operand(DType t, bool output, const std::vector<bool>& moves, int axis) {
    const int o = operand(t, output, moves);
    int64_t& step = plans_[static_cast<size_t>(o)].strides[static_cast<size_t>(axis)];
    if (extents_[static_cast<size_t>(axis)] <= 1) step = static_cast<int64_t>(size_of(t));
    if (step % static_cast<int64_t>(size_of(t)) == 0 && !(output && step < 0)) return o;
    plans_[static_cast<size_t>(o)].strides = packed(t, moves, true);
    for (Stride& s : b_->k.operands[static_cast<size_t>(o)].stride)
      if (s == Stride::unit) s = Stride::any;
    return o;
  }

  void scatter() {
    const Known stored = s_.pick(pool_);
    ValueId v = stored.id;
    if (s_.percent(30)) v = b_->cast(random_type(), v);
    const DType t = b_->k.body[v].type;
    const int o = whole_operand(t, true, std::vector<bool>(extents_.size(), true), sequential_);
    ValueId at = offset_in(o, sequential_);
    if (s_.percent(30)) {  // some go nowhere
      const ValueId keep = value(DType::bool_);
      scalars_.push_back(~uint64_t{0});
      at = b_->op(Op::where, keep, at, b_->scalar(DType::int64));
    }
    static const std::vector<Op> combines = {Op::cast, Op::add, Op::multiply, Op::minimum, Op::maximum};
    Op by = s_.pick(combines);
    if (by != Op::cast && !accepts(by, compute_type(t))) by = Op::cast;
    b_->k.stores.push_back({static_cast<uint16_t>(o), v, at, by});
  }

  // ---- reductions ----
  void reductions() {
    static const std::vector<Op> ops = {Op::sum, Op::sum, Op::prod,   Op::max,   Op::min,
                                        Op::any, Op::all, Op::argmax, Op::argmin};
    const int n = static_cast<int>(s_.percent(60) ? 1 : s_.between(2, 3));
    for (int i = 0; i < n; ++i) {
      const Op op = s_.pick(ops);
      DType t = s_.percent(60) ? s_.pick(pool_).type : random_type();
      if (!accepts(op, t)) t = op == Op::any || op == Op::all ? DType::bool_ : DType::float32;
      b_->reduce(op, value(t));
    }
  }

  void contraction() {
    static const std::vector<DType> types = {DType::float32, DType::float32, DType::float32, DType::float64,
                                             DType::int32,   DType::int64,   DType::int8,    DType::uint16};
    const DType t = s_.pick(types);
    const int rank = static_cast<int>(extents_.size()), k = sequential_;
    // Axes but k, in order: batch..., m, n. The left factor does not move along n, the right one along m.
    const int n = rank - 1, m = k == rank - 2 ? rank - 3 : rank - 2;
    const auto factor = [&](int still) {
      std::vector<bool> moves(rank, true);
      if (still >= 0) moves[still] = false;
      if (rank == 4 && s_.percent(30)) moves[k == 0 ? 1 : 0] = false;
      const DType stored =
          is_float(t) && s_.percent(20) ? (s_.percent(50) ? DType::float16 : DType::bfloat16) : t;
      ValueId v = b_->load(operand(stored, false, moves));
      if (stored != t) v = b_->cast(t, v);
      add_value(v);
      if (s_.percent(15)) {
        v = b_->op(s_.percent(50) ? Op::negative : Op::abs, v);
        add_value(v);
      }
      return v;
    };
    const ValueId a = factor(n), b = factor(m);
    b_->contract(a, b);
  }

  void epilogue() {
    b_->begin_epilogue();
    in_epilogue_ = true;
    pool_.clear();
    const size_t results = form_ == Form::contract ? 1 : b_->k.reductions.size();
    for (size_t i = 0; i < results; ++i) {
      const ValueId v = b_->result(static_cast<int>(i));
      add_value(v, !is_float(b_->k.body[v].type));
    }
    const int n = static_cast<int>(s_.percent(50) ? 0 : s_.between(1, 8));
    for (int i = 0; i < n; ++i) step();
  }

  void running_sums() {
    const int n = static_cast<int>(s_.percent(70) ? 1 : 2);
    for (int i = 0; i < n; ++i) {
      DType t = s_.pick(pool_).type;
      if (!accepts(Op::cumsum, t)) t = s_.percent(60) ? DType::float32 : DType::int64;
      const Op ops[] = {Op::cumsum, Op::cumprod, Op::cummax, Op::cummin};
      const ValueId v = b_->result(b_->reduce(ops[s_.below(4)], value(t)));
      add_value(v, !is_float(t));
      for (int64_t k = s_.below(3); k > 0; --k) step();
    }
  }

  // ---- outputs ---- Stores some of the body's values, for a reduction along the last axis.
  void body_stores() {
    if (form_ != Form::reduce || sequential_ != static_cast<int>(extents_.size()) - 1 || s_.percent(60))
      return;
    for (int64_t n = s_.between(1, 2); n > 0; --n) {
      ValueId v = s_.pick(pool_).id;
      if (s_.percent(15)) v = b_->cast(random_type(), v);
      const int o = operand(b_->k.body[v].type, true, std::vector<bool>(extents_.size(), true));
      b_->k.stores.push_back({static_cast<uint16_t>(o), v});
    }
  }

  void stores() {
    const int n = static_cast<int>(s_.percent(60) ? 1 : s_.between(2, 4));
    for (int i = 0; i < n; ++i) {
      const Known k = i == 0 ? pool_.back() : s_.pick(pool_);
      ValueId v = k.id;
      if (s_.percent(15)) v = b_->cast(random_type(), v);
      const DType t = b_->k.body[v].type;
      if (overwrite(t, v)) continue;
      std::vector<bool> moves(extents_.size(), true);
      for (size_t a = 0; a < moves.size(); ++a)
        if (extents_[a] == 1 && s_.percent(30)) moves[a] = false;
      if (b_->k.has_epilogue()) moves[sequential_] = false;
      const int o = operand(t, true, moves);
      b_->k.stores.push_back({static_cast<uint16_t>(o), v});
    }
  }

  /// Stores into the memory of an input that has this type and a separate element for each index.
  bool overwrite(DType t, ValueId v) {
    if (b_->k.has_epilogue() || !s_.percent(15)) return false;
    for (size_t i = 0; i < plans_.size(); ++i) {
      const Operand& o = b_->k.operands[i];
      const bool taken = std::any_of(plans_.begin(), plans_.end(), [&](const OperandPlan& p) {
        return p.overwrites == static_cast<int>(i);
      });
      bool own = true;
      for (size_t a = 0; a < extents_.size(); ++a)
        own = own && (o.stride[a] != Stride::zero || extents_[a] == 1);
      if (o.output || o.dtype != t || taken || !own) continue;
      OperandPlan p = plans_[i];
      p.tag = static_cast<uint32_t>(plans_.size());
      p.overwrites = static_cast<int>(i);
      plans_.push_back(p);
      Operand copy = o;
      copy.output = true;
      b_->k.operands.push_back(copy);
      b_->k.stores.push_back({static_cast<uint16_t>(b_->k.operands.size() - 1), v});
      return true;
    }
    return false;
  }

  Source s_;
  const uint64_t seed_;
  KernelBuilder* b_ = nullptr;
  Form form_ = Form::map;
  int sequential_ = -1;
  bool in_epilogue_ = false, in_rolled_loop_ = false;
  std::vector<int64_t> extents_;
  std::vector<Values> values_;
  std::vector<Known> pool_;  // values of the section that is being made
  std::vector<OperandPlan> plans_;
  std::vector<uint64_t> scalars_;
};

}  // namespace

Case random_case(uint64_t seed) { return Generator(seed).make(); }

std::string describe(const Case& c) {
  std::string s = print(c.kernel);
  const auto list = [](const auto& v) {
    std::string r = "[";
    for (size_t i = 0; i < v.size(); ++i) r += (i ? ", " : "") + std::to_string(v[i]);
    return r + "]";
  };
  s += "  extents " + list(c.extents) + " origins " + list(c.origins) + " scalars " + list(c.scalars) + "\n";
  constexpr const char* kinds[] = {"small", "range", "special", "bits"};
  for (size_t i = 0; i < c.plans.size(); ++i) {
    const OperandPlan& p = c.plans[i];
    s += "  operand " + std::to_string(i) + ": strides " + list(p.strides) +
         (p.at_end ? " at end" : " at start") + " shift " + std::to_string(p.shift) + " values " +
         kinds[static_cast<int>(p.values)] + " tag " + std::to_string(p.tag);
    if (p.indexed >= 0) s += " at indices of axis " + std::to_string(p.indexed);
    if (p.overwrites >= 0) s += " overwrites " + std::to_string(p.overwrites);
    s += "\n";
  }
  return s;
}

}  // namespace lazy::test
