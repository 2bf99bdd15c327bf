// Checks the rules of a well-formed kernel. Each message names the kernel's part and the rule.
#include <algorithm>

#include "jit/core/rules.hpp"
#include "jit/ir/contraction.hpp"
#include "support/error.hpp"

namespace lazy::jit::loop {
namespace {

class Checker {
 public:
  explicit Checker(const LoopKernel& k) : k_(k) {}

  void run() {
    form();
    for (size_t i = 0; i < k_.operands.size(); ++i) operand(i);
    scalar_type_.assign(k_.scalars, kDTypeCount);
    rolled_loops();
    for (size_t i = 0; i < k_.body.size(); ++i) instruction(i);
    for (size_t i = 0; i < k_.reductions.size(); ++i) reduction(i);
    if (k_.form == Form::contract) contraction(k_.contraction);
    stores();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw CompileError("loop kernel" + (k_.name.empty() ? "" : " " + k_.name) + ": " + what + "\n" +
                       print(k_));
  }
  void require(bool ok, const char* what) const {
    if (!ok) fail(what);
  }
  /// Does the same with a text that what() makes: that takes longer than to check.
  template <class What>
  void require(bool ok, const What& what) const {
    if (!ok) [[unlikely]]
      fail(what());
  }
  static std::string value(size_t i) { return "%" + std::to_string(i); }
  static std::string n(size_t i) { return std::to_string(i); }
  bool in_epilogue(size_t i) const { return i >= k_.epilogue; }

  void form() const {
    // Printing needs these to hold, so they come first and stay terse.
    if (k_.form > Form::contract) throw CompileError("loop kernel: unknown form");
    if (k_.rank < 1 || k_.rank > kMaxAxes)
      throw CompileError("loop kernel: rank " + n(k_.rank) + " is not in [1, " + n(kMaxAxes) + "]");
    for (const Operand& o : k_.operands) {
      if (static_cast<int>(o.dtype) >= kDTypeCount)
        throw CompileError("loop kernel: an operand has an unknown dtype");
      for (Stride s : o.stride)
        if (s > Stride::any) throw CompileError("loop kernel: an operand has an unknown stride class");
    }
    for (const Instr& i : k_.body)
      if (static_cast<int>(i.type) >= kDTypeCount || i.code > Code::carried ||
          (i.code == Code::op && static_cast<int>(i.op) >= kOpCount))
        throw CompileError("loop kernel: an instruction has an unknown code, op or dtype");
    for (const Store& t : k_.stores)
      if (static_cast<int>(t.combine) >= kOpCount)
        throw CompileError("loop kernel: a store by an unknown op");
    for (const Reduction& r : k_.reductions)
      if (static_cast<int>(r.type) >= kDTypeCount || static_cast<int>(r.op) >= kOpCount)
        throw CompileError("loop kernel: a reduction has an unknown op or dtype");
    if (static_cast<int>(k_.contraction.type) >= kDTypeCount)
      throw CompileError("loop kernel: a contraction has an unknown dtype");

    require(k_.body.size() < kNoValue,
            [&] { return n(k_.body.size()) + " instructions do not fit 16-bit value ids"; });
    require(k_.epilogue <= k_.body.size(),
            [&] { return "the epilogue starts at " + n(k_.epilogue) + ", past the end of the body"; });
    switch (k_.form) {
      case Form::map:
        require(k_.sequential == -1, "a map has no sequential axis");
        require(k_.reductions.empty(), "a map has no reductions");
        break;
      case Form::reduce:
        require(k_.sequential >= 0 && k_.sequential < k_.rank,
                "the reduced axis is not an axis of the kernel");
        require(!k_.reductions.empty(), "a reduce has at least one reduction");
        break;
      case Form::scan:
        require(k_.sequential >= 0 && k_.sequential < k_.rank - 1,
                "the scanned axis must be an axis before the last one");
        require(!k_.reductions.empty(), "a scan has at least one running sum");
        break;
      case Form::scatter:
        require(k_.sequential >= 0 && k_.sequential < k_.rank,
                "the scattered axis is not an axis of the kernel");
        require(k_.reductions.empty() && k_.stores.size() == 1, "a scatter has one store and no reductions");
        break;
      case Form::contract:
        require(k_.sequential >= 0 && k_.sequential < k_.rank - 1,
                "the depth axis must be an axis before the last one");
        require(k_.reductions.empty(), "a contract has a contraction and no reductions");
        break;
    }
    require(k_.has_epilogue() || k_.epilogue == k_.body.size(),
            "only a reduce or a contract has an epilogue");
  }

  void operand(size_t i) const {
    const Operand& o = k_.operands[i];
    if (!o.output || !k_.has_epilogue()) return;
    for (const Store& t : k_.stores)
      if (t.operand == i) {
        const bool moves = o.stride[k_.sequential] != Stride::zero;
        require(!in_epilogue(t.value) || !moves,
                [&] { return "output " + n(i) + " moves along the reduced axis"; });
        require(in_epilogue(t.value) || moves, [&] {
          return "output " + n(i) + " gets a value of the body but stays in place along the reduced axis";
        });
      }
  }

  /// Returns the rolled loop that instruction i is of, or null.
  const RolledLoop* rolled_loop_of(size_t i) const {
    for (const RolledLoop& r : k_.rolled_loops)
      if (i >= r.first && i < r.last) return &r;
    return nullptr;
  }

  void rolled_loops() {
    require(k_.rolled_loops.empty() || k_.form == Form::map, "only a map repeats instructions");
    size_t end = 0;
    for (const RolledLoop& r : k_.rolled_loops) {
      require(r.first >= end && r.first < r.last && r.last <= k_.body.size(), [&] {
        return "a rolled loop of " + value(r.first) + " to " + value(r.last) + " is out of place";
      });
      end = r.last;
      require(r.trips < k_.scalars, [&] {
        return "a rolled loop's number of iterations is scalar " + n(r.trips) + " of " + n(k_.scalars);
      });
      scalar_type_[r.trips] = static_cast<int>(DType::int64);
      bool head = true;
      for (size_t i = r.first; i < r.last; ++i) {
        const Instr& s = k_.body[i];
        head &= s.code == Code::carried;
        require(head || s.code == Code::op || s.code == Code::scalar, [&] {
          return value(i) + " in a rolled loop is neither a carried value at its head, an op nor a scalar";
        });
        require(s.code != Code::scalar || size_of(s.type) >= 4,
                [&] { return value(i) + " in a rolled loop is a scalar of less than 4 bytes"; });
      }
    }
  }

  void carried(size_t i, const Instr& s) const {
    const RolledLoop* r = rolled_loop_of(i);
    require(r, [&] { return value(i) + " is carried, but not in a rolled loop"; });
    require(s.a < r->first,
            [&] { return value(i) + " does not begin with a value from before its rolled loop"; });
    visible(i, s.a);
    require(s.b >= r->first && s.b < r->last,
            [&] { return value(i) + " does not go on with a value of its rolled loop"; });
    require(s.c == kNoValue, [&] { return value(i) + " has a third operand"; });
    require(k_.body[s.a].type == s.type && k_.body[s.b].type == s.type,
            [&] { return value(i) + " changes its type"; });
  }

  /// Checks that a carried value is seen in its rolled loop only.
  void visible(size_t i, ValueId v) const {
    require(k_.body[v].code != Code::carried || rolled_loop_of(i) == rolled_loop_of(v),
            [&] { return value(i) + " uses " + value(v) + ", which is carried in another place"; });
  }

  void argument(size_t i, ValueId v) const {
    require(v < i, [&] { return value(i) + " uses %" + n(v) + ", which is not an earlier instruction"; });
    visible(i, v);
    require(!in_epilogue(i) || in_epilogue(v),
            [&] { return value(i) + " in the epilogue uses " + value(v) + " of the body"; });
  }

  void instruction(size_t i) {
    const Instr& s = k_.body[i];
    if (s.code == Code::op) return op(i, s);
    if (s.code == Code::carried) return carried(i, s);
    const bool takes_one = s.code == Code::load_at || s.code == Code::check;
    require((takes_one || s.a == kNoValue) && s.b == kNoValue && s.c == kNoValue,
            [&] { return value(i) + " has operands but is not an op"; });
    if (takes_one) argument(i, s.a);
    switch (s.code) {
      case Code::check:
        require(k_.body[s.a].type == DType::bool_ && s.type == DType::bool_,
                [&] { return value(i) + " checks something else than a bool"; });
        scalar(s.imm, DType::int64, i);
        break;
      case Code::load_at:
        require(k_.body[s.a].type == DType::int64,
                [&] { return value(i) + " loads at an index that is not i64"; });
        [[fallthrough]];
      case Code::load: {
        require(s.imm < k_.operands.size(),
                [&] { return value(i) + " loads operand " + n(s.imm) + " of " + n(k_.operands.size()); });
        const Operand& o = k_.operands[s.imm];
        require(!o.output, [&] { return value(i) + " loads from an output"; });
        require(s.type == o.dtype, [&] {
          return value(i) + " is " + short_name(s.type) + " but operand " + n(s.imm) + " is " +
                 short_name(o.dtype);
        });
        if (in_epilogue(i))
          require(o.stride[k_.sequential] == Stride::zero, [&] {
            return value(i) + " in the epilogue loads an operand that moves along the reduced axis";
          });
        break;
      }
      case Code::scalar: scalar(s.imm, s.type, i); break;
      case Code::iota:
        require(s.imm < k_.rank,
                [&] { return value(i) + " is the index along axis " + n(s.imm) + " of " + n(k_.rank); });
        require(s.type == DType::int64, [&] { return value(i) + ": iota is i64"; });
        require(!in_epilogue(i) || s.imm != k_.sequential,
                [&] { return value(i) + " in the epilogue is the index along the reduced axis"; });
        break;
      case Code::result: {
        const size_t results = k_.form == Form::contract ? 1 : k_.reductions.size();
        require(s.imm < results,
                [&] { return value(i) + " reads reduction " + n(s.imm) + " of " + n(results); });
        if (k_.form == Form::scan)
          require(k_.reductions[s.imm].value < i,
                  [&] { return value(i) + " reads a running sum before its value is computed"; });
        else
          require(in_epilogue(i),
                  [&] { return value(i) + " reads a reduction's result outside of the epilogue"; });
        const DType t = result_type(k_, s.imm);
        require(s.type == t, [&] {
          return value(i) + " is " + short_name(s.type) + " but r" + n(s.imm) + " gives " + short_name(t);
        });
        break;
      }
      case Code::op:
      case Code::carried: break;
    }
  }

  void scalar(uint16_t imm, DType type, size_t i) {
    require(imm < k_.scalars, [&] { return value(i) + " reads scalar " + n(imm) + " of " + n(k_.scalars); });
    int& known = scalar_type_[imm];
    require(known == kDTypeCount || known == static_cast<int>(type),
            [&] { return "scalar " + n(imm) + " is read as two types"; });
    known = static_cast<int>(type);
  }

  void op(size_t i, const Instr& s) const {
    const OpRow& row = row_of(s.op);
    require(row.kind == OpKind::pointwise,
            [&] { return value(i) + ": " + row.name + " is not a pointwise op"; });
    const ValueId args[] = {s.a, s.b, s.c};
    for (int j = 0; j < 3; ++j) {
      if (j < row.arity) argument(i, args[j]);
      else
        require(args[j] == kNoValue,
                [&] { return value(i) + ": " + row.name + " takes " + n(row.arity) + " operands"; });
    }
    if (s.op == Op::cast) return;
    int first = 0;
    if (row.rule == DTypeRule::first_bool) {
      require(is_bool(k_.body[s.a].type),
              [&] { return value(i) + ": the condition of " + row.name + " is bool"; });
      first = 1;
    }
    const DType t = k_.body[args[first]].type;
    for (int j = first + 1; j < row.arity; ++j)
      require(k_.body[args[j]].type == t, [&] {
        return value(i) + ": operands of " + row.name + " are " + short_name(t) + " and " +
               short_name(k_.body[args[j]].type);
      });
    require(accepts(s.op, t),
            [&] { return value(i) + ": " + row.name + " is not defined on " + short_name(t); });
    require(form_of(s.op, t, s.accuracy) == s.accuracy,
            [&] { return value(i) + ": " + row.name + " of " + short_name(t) + " has no such form"; });
    const DType want = result_type(s.op, t);
    require(s.type == want, [&] {
      return value(i) + ": " + row.name + " of " + short_name(t) + " gives " + short_name(want) + ", not " +
             short_name(s.type);
    });
  }

  void reduction(size_t i) const {
    const Reduction& r = k_.reductions[i];
    const OpKind kind = kind_of(r.op);
    const std::string name = "r" + n(i);
    if (k_.form == Form::scan)
      require(kind == OpKind::scan, [&] { return name + ": " + name_of(r.op) + " is not a scan"; });
    else require(kind == OpKind::reduce, [&] { return name + ": " + name_of(r.op) + " is not a reduction"; });
    accumulates(name, r.type, r.value);
    require(accepts(r.op, r.type),
            [&] { return name + ": " + name_of(r.op) + " is not defined on " + short_name(r.type); });
  }

  void accumulates(const std::string& name, DType type, ValueId v) const {
    require(v < k_.epilogue, [&] { return name + ": its value is not an instruction of the body"; });
    require(k_.body[v].type == type, [&] {
      return name + " accumulates " + short_name(type) + " but " + value(v) + " is " +
             short_name(k_.body[v].type);
    });
  }

  void contraction(const Contraction& c) const {
    require(accepts(Op::matmul, c.type),
            [&] { return std::string("a contraction is not defined on ") + short_name(c.type); });
    require(c.row == -1 || c.row == axis_before_columns(k_),
            "the row axis is not the last one before the columns");
    side("left", c.left, c.type, k_.rank - 1, "columns");
    side("right", c.right, c.type, c.row, "rows");
  }

  void side(const std::string& name, const Side& s, DType type, int axis, const std::string& along) const {
    accumulates(name, type, s.value);
    require(side_of(k_, s.value) == s,
            [&] { return name + ": its load and its prologue are not those of " + value(s.value); });
    require(axis < 0 || same_along(k_, axis)[s.value], [&] { return name + " moves along the " + along; });
  }

  void stores() const {
    std::vector<bool> written(k_.operands.size());
    for (const Store& t : k_.stores) {
      require(t.operand < k_.operands.size(),
              [&] { return "a store writes operand " + n(t.operand) + " of " + n(k_.operands.size()); });
      const Operand& o = k_.operands[t.operand];
      require(o.output, [&] { return "a store writes operand " + n(t.operand) + ", an input"; });
      require(!written[t.operand], [&] { return "output " + n(t.operand) + " is stored twice"; });
      written[t.operand] = true;
      require(t.value < k_.body.size(),
              [&] { return "output " + n(t.operand) + " is given a value that does not exist"; });
      require(k_.body[t.value].code != Code::carried,
              [&] { return "output " + n(t.operand) + " is given a carried value"; });
      const DType v = k_.body[t.value].type;
      require(v == o.dtype, [&] {
        return "output " + n(t.operand) + " is " + short_name(o.dtype) + " but " + value(t.value) + " is " +
               short_name(v);
      });
      require((t.at != kNoValue) == (k_.form == Form::scatter), [&] {
        return "output " + n(t.operand) + ": a scatter, and no other kernel, stores at an index";
      });
      if (k_.form == Form::scatter) scattered(t, o);
      if (k_.has_epilogue())
        require(in_epilogue(t.value) || k_.sequential == k_.rank - 1, [&] {
          return "output " + n(t.operand) + " stores " + value(t.value) + ", which is not of the epilogue";
        });
    }
    for (size_t i = 0; i < written.size(); ++i)
      require(written[i] || !k_.operands[i].output, [&] { return "output " + n(i) + " is never stored"; });
    const auto checks = [](const Instr& i) { return i.code == Code::check; };
    const bool is_checked = std::any_of(k_.body.begin(), k_.body.end(), checks);
    require(is_checked || !k_.stores.empty(), "nothing is stored or checked");
  }

  void scattered(const Store& t, const Operand& o) const {
    const std::string out = "output " + n(t.operand);
    require(t.at < k_.body.size() && k_.body[t.at].type == DType::int64,
            [&] { return out + " is stored at no i64"; });
    require(o.stride[k_.sequential] == Stride::zero, [&] { return out + " moves along the scattered axis"; });
    constexpr Op combines[] = {Op::add, Op::multiply, Op::minimum, Op::maximum};
    const bool known = std::find(std::begin(combines), std::end(combines), t.combine) != std::end(combines);
    require(t.combine == Op::cast || (known && accepts(t.combine, compute_type(o.dtype))), [&] {
      return out + " of " + short_name(o.dtype) + " does not combine by " + name_of(t.combine);
    });
  }

  const LoopKernel& k_;
  std::vector<int> scalar_type_;  // kDTypeCount: not read yet
};

}  // namespace

void check(const LoopKernel& k) { Checker(k).run(); }

}  // namespace lazy::jit::loop
