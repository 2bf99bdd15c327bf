#include "jit/loop/lower.hpp"

#include <array>

#include "jit/graph/layout.hpp"
#include "jit/plan/places.hpp"
#include "support/error.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {
namespace {

using loop::Code;
using loop::Instr;
using loop::kNoValue;
using loop::LoopKernel;
using loop::Stride;
using loop::ValueId;

/// How a layout's extents map to kernel dimensions, by position among those that are not 1.
struct DimMap {
  int8_t of[loop::kMaxAxes];
  DimMap() { std::fill(std::begin(of), std::end(of), Binding::kAbsent); }
};

class Lowering {
 public:
  Lowering(const Trace& t, const Fusion& f, const LowerOptions& o, Program& p, std::vector<LoopKernel>& out)
      : t_(t), f_(f), options_(o), p_(p), out_(out) {}

  void run() {
    const size_t n = t_.values.size();
    slot_.assign(n, -1);
    wanted_.assign(n, 0);
    last_read_.assign(n, -1);
    collect_results();
    // From the last kernel to the first: by then it is known which values later kernels read from memory.
    for (int g = static_cast<int>(f_.groups.size()) - 1; g >= 0; --g) lower_group(g);
    std::reverse(p_.steps.begin(), p_.steps.end());
    std::reverse(out_.begin(), out_.end());
    number_guards();
    plan_memory();
  }

 private:
  // ---- values
  // --------------------------------------------------------------------------------------------------------
  const Value& at(uint32_t v) const { return t_.values[v]; }
  const Shape& shape(uint32_t v) const { return t_.shape(v); }
  bool in_memory(uint32_t v) const { return at(v).op == Op::leaf || f_.materialised[v]; }

  int slot_of(uint32_t v) {
    if (slot_[v] < 0) {
      slot_[v] = static_cast<int>(p_.slots.size());
      Slot s;
      s.node = at(v).node;
      s.dtype = at(v).dtype;
      p_.slots.push_back(s);
      slot_value_.push_back(v);
    }
    wanted_[v] = 1;
    return slot_[v];
  }

  void collect_results() {
    for (uint32_t v = 0; v < t_.frame->values.size(); ++v) {
      if (!t_.frame->is_output(v)) continue;
      Result r;
      r.node = v;
      uint32_t from = t_.same_as[v];
      std::vector<uint32_t> views;
      while (!in_memory(from)) {  // a view of something that exists: its memory is shared
        views.push_back(from);
        from = at(from).operand[0];
      }
      uint32_t path = 0;
      for (uint32_t w : views) path = extend(path, w, false);
      r.path = path;
      if (at(from).op == Op::leaf) {
        r.leaf = from;
        if (reshapes(path)) guard_leaf(from);
        last_read_[from] = kForever;
      } else {
        r.slot = slot_of(from);
        p_.slots[static_cast<size_t>(r.slot)].kept = true;
      }
      p_.results.push_back(r);
    }
  }

  // ---- paths
  // ---------------------------------------------------------------------------------------------------------
  uint32_t extend(uint32_t path, uint32_t v, bool align) {
    const uint64_t key = (static_cast<uint64_t>(path) << 32 | at(v).node) * 2 + align;
    const auto [id, fresh] = path_ids_.try_emplace(key, static_cast<uint32_t>(p_.paths.size()));
    if (fresh) p_.paths.push_back({path, at(v).node, align});
    return id;
  }
  /// The path by which view `w`, read along `path`, reads its operand. Identity steps next to the kernel
  /// vanish.
  uint32_t through_view(uint32_t w, uint32_t path) {
    return path == 0 && is_identity_view(t_, w) ? 0 : extend(path, w, false);
  }
  /// Values read along one path have the same extents, so broadcasting to any of them of one form is the same
  /// index map: a tensor that a hundred ops broadcast is loaded once.
  template <class Region>
  uint32_t to_operand(Region& r, uint32_t o, uint32_t user, uint32_t path) {
    const Value &from = at(o), &to = at(user);
    if (path == 0 ? same_index(t_, o, user) : from.rank == to.rank && from.ones == to.ones) return path;
    const uint64_t form = static_cast<uint64_t>(path) << 32 | static_cast<uint64_t>(to.rank) << 16 | to.ones;
    const auto [aligned, fresh] = r.aligned.try_emplace(form, 0);
    if (fresh) aligned = extend(path, user, true);
    return aligned;
  }

  Places places(uint32_t path, uint32_t v, int64_t only_dim = -1) const {
    return places_along(p_, *t_.frame, path, shape(v), AtReshape::packed, only_dim);
  }

  // ---- one kernel
  // ----------------------------------------------------------------------------------------------------
  struct Operand {
    Binding binding;
    uint32_t value = kNone;  // trace value in memory
    // If packed: per kernel dimension 0 (absent) or 1 + place in the packed source; the source's count of
    // such places.
    std::array<int8_t, loop::kMaxAxes> place{};
    int places = 0;
    bool packed = false;  // strides follow from the extents
  };
  /// Body or epilogue: expressions evaluated over one index map.
  struct Region {
    std::vector<Instr> code;
    FlatMap<ValueId> memo;      // by value and path
    FlatMap<uint32_t> aligned;  // path and form of a shape -> the path that broadcasts to it
    DimMap dims;
    bool epilogue = false;
  };
  struct Building {
    int group = 0;
    Step step;
    LoopKernel kernel;
    std::vector<Operand> operands;
    FlatMap<uint16_t> operand_ids;
    FlatMap<uint16_t> scalar_ids;
    std::vector<uint32_t> reduced;  // values of the kernel's reductions
    FlatMap<uint16_t> reduction_ids;
    size_t body_stores = 0;  // of a reduce: so many stores, the first, are of the body
    int dims = 0;
    int sequential_dim = -1;
    uint32_t fixed_dims =
        0;  // bit d: dimension d must not merge with its neighbours (an index along it is used)
    Region body, epilogue;
  };

  static ValueId push(Region& r, Instr i) {
    r.code.push_back(i);
    return static_cast<ValueId>(r.code.size() - 1);
  }
  static ValueId cast(Region& r, ValueId v, DType to) {
    if (r.code[v].type == to) return v;
    return push(r, {Code::op, Op::cast, to, 0, v});
  }
  ValueId rounded(Region& r, ValueId v, DType half) { return cast(r, cast(r, v, half), DType::float32); }

  uint16_t operand(Building& b, const Region& r, uint32_t v, uint32_t path, bool output) {
    const uint64_t key = (static_cast<uint64_t>(v) << 32 | path) * 4 + r.epilogue * 2 + output;
    const auto [id, fresh] = b.operand_ids.try_emplace(key, static_cast<uint16_t>(b.operands.size()));
    if (!fresh) return id;
    Operand o;
    o.value = v;
    o.binding.node = at(v).node;
    o.binding.path = path;
    o.binding.dtype = at(v).dtype;
    o.binding.output = output;
    std::copy(std::begin(r.dims.of), std::end(r.dims.of), o.binding.dim_of);
    const bool leaf = at(v).op == Op::leaf;
    if (leaf) last_read_[v] = std::max(last_read_[v], b.group);
    else o.binding.slot = slot_of(v), last_read_[v] = std::max(last_read_[v], b.group);
    const Places m = places(path, v);
    o.packed = m.whole && (!leaf || (t_.node(v).contiguous && !options_.strict_layout));
    if (o.packed) {
      o.places = m.source;
      for (int d = 0; d < loop::kMaxAxes; ++d)
        if (r.dims.of[d] >= 0) o.place[static_cast<size_t>(d)] = static_cast<int8_t>(m.of[r.dims.of[d]]);
      if (leaf) guard_leaf(v);
    } else if (leaf && reshapes(path)) {
      guard_leaf(v);
    }
    o.binding.packed = o.packed;
    b.operands.push_back(std::move(o));
    return id;
  }
  // Whether a path goes through a reshape that only packed memory can be read by.
  bool reshapes(uint32_t path) const {
    for (uint32_t p = path; p; p = p_.paths[p].parent) {
      const Node& n = *t_.frame->values[p_.paths[p].node];
      if (!p_.paths[p].align && n.op == Op::reshape && !is_unit_reshape(n)) return true;
    }
    return false;
  }
  void guard_leaf(uint32_t v) {
    if (guarded_.size() < t_.values.size()) guarded_.resize(t_.values.size(), 0);
    if (guarded_[v]++) return;
    p_.guards.push_back({Guard::Kind::contiguous, at(v).node, 0, 0, 0, 1});
  }

  uint16_t scalar(Building& b, uint32_t v) {
    const auto [id, fresh] = b.scalar_ids.try_emplace(v, static_cast<uint16_t>(b.step.scalars.size()));
    if (fresh) b.step.scalars.push_back(argument_of(v));
    return id;
  }
  ScalarArgument argument_of(uint32_t v) const {
    ScalarArgument s;
    if (v != kNone) {
      s.node = at(v).node;
      s.from = at(v).dtype;
      s.type = compute_type(s.from);
    } else {
      s.from = s.type = DType::int64;  // index along an extent of 1
    }
    return s;
  }

  ValueId load(Building& b, Region& r, uint32_t v, uint32_t path) {
    const ValueId x = push(r, {Code::load, {}, at(v).dtype, operand(b, r, v, path, false)});
    return cast(r, x, compute_type(at(v).dtype));
  }
  ValueId index_along(Building& b, Region& r, uint32_t v, uint32_t path) {
    const Places m = places(path, v, t_.node(v).axes[0]);
    for (int d = 0; d < b.dims; ++d) {
      const int place = r.dims.of[d];
      if (place >= 0 && m.of[place]) {
        b.fixed_dims |= 1u << d;
        return push(
            r,
            {Code::iota, {}, DType::int64, static_cast<uint16_t>(d)});  // a dimension; axes are known later
      }
    }
    return push(r, {Code::scalar, {}, DType::int64, scalar(b, kNone)});
  }

  // What `v`, read along `path`, is in this kernel without looking at operands; kNoValue if it must be
  // computed from them.
  ValueId terminal(Building& b, Region& r, uint32_t v, uint32_t path) {
    const Value& x = at(v);
    if (x.op == Op::leaf) return load(b, r, v, path);
    if (x.op == Op::constant) {
      const DType type = compute_type(x.dtype);
      return push(r, {Code::scalar, {}, type, scalar(b, v)});
    }
    const bool here = f_.kernel_of[v] == b.group && path == 0;
    const OpKind k = kind_of(x.op);
    if (k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract) {
      if (!here) return load(b, r, v, path);
      const ValueId result = push(r, {Code::result, {}, result_type(v), reduction(b, v)});
      return is_half(x.dtype) && options_.exact_casts ? rounded(r, result, x.dtype) : result;
    }
    if (f_.materialised[v] && !here) return load(b, r, v, path);
    if (x.op == Op::iota) return index_along(b, r, v, path);
    return kNoValue;
  }
  DType result_type(uint32_t v) const {
    const Op op = at(v).op;
    return op == Op::argmax || op == Op::argmin ? DType::int64 : compute_type(at(v).dtype);
  }
  uint16_t reduction(Building& b, uint32_t v) {
    const auto [id, fresh] = b.reduction_ids.try_emplace(v, static_cast<uint16_t>(b.reduced.size()));
    if (fresh) b.reduced.push_back(v);
    return id;
  }

  static uint64_t key(uint32_t v, uint32_t path) { return static_cast<uint64_t>(v) << 32 | path; }

  // Operand i of `v`, a value of a repeat's first iteration, is the same in each iteration.
  bool is_fixed(const TraceRepeat& r, uint32_t v, int i) const {
    return at(v).operand[i] == at(v + r.period).operand[i];
  }
  bool is_computed(uint32_t v) const { return f_.needed[v] && kind_of(at(v).op) == OpKind::pointwise; }
  /// f(value of the first iteration, its operand from before the repeat, whether that is the same each time)
  template <class F>
  void each_from_before(const TraceRepeat& r, F&& f) const {
    for (uint32_t v = r.first + r.period; v-- > r.first;) {
      if (!is_computed(v)) continue;
      for (int i = at(v).arity - 1; i >= 0; --i)
        if (const uint32_t o = at(v).operand[i]; o < r.first) f(v, o, is_fixed(r, v, i));
    }
  }

  // One iteration's code, repeated. What it takes from before has been evaluated.
  void lower_repeat(Building& b, Region& r, const TraceRepeat& repeat, uint32_t path) {
    const uint32_t first = repeat.first, period = repeat.period;
    ScalarArgument trips;
    trips.from = trips.type = DType::int64;
    trips.value = repeat.trips;
    const auto trips_at = static_cast<uint16_t>(b.step.scalars.size());
    b.step.scalars.push_back(trips);
    const auto scalars_at = static_cast<uint16_t>(b.step.scalars.size());
    uint16_t scalars = 0;
    for (uint32_t trip = 0; trip < repeat.trips; ++trip)
      for (uint32_t v = first; v < first + period; ++v) {
        if (at(v).op != Op::constant || !f_.needed[v]) continue;
        b.step.scalars.push_back(argument_of(v + trip * period));
        scalars = static_cast<uint16_t>(scalars + (trip == 0));
      }

    const auto begin = static_cast<uint16_t>(r.code.size());
    FlatMap<ValueId> carried;  // by the value before the repeat
    each_from_before(repeat, [&](uint32_t, uint32_t o, bool fixed) {
      if (fixed || carried.contains(o)) return;
      const ValueId from = *r.memo.find(key(o, path));
      carried.try_emplace(o, push(r, {Code::carried, {}, r.code[from].type, 0, from}));
    });
    std::vector<ValueId> made(period, kNoValue);
    uint16_t scalar = scalars_at;
    for (uint32_t v = first; v < first + period; ++v) {
      const Value& x = at(v);
      if (x.op == Op::constant && f_.needed[v])
        made[v - first] = push(r, {Code::scalar, {}, compute_type(x.dtype), scalar++});
      if (!is_computed(v)) continue;
      ValueId args[3] = {kNoValue, kNoValue, kNoValue};
      for (int i = 0; i < x.arity; ++i) {
        const uint32_t o = x.operand[i];
        if (o >= first) args[i] = made[o - first];
        else if (is_fixed(repeat, v, i)) args[i] = *r.memo.find(key(o, to_operand(r, o, v, path)));
        else args[i] = *carried.find(o);
      }
      ValueId y = compute(r, x, args);
      // Nothing to compute: what is seen from outside or carried must yet be of the repeat itself.
      if (y < begin || r.code[y].code == Code::carried)
        y = push(r, {Code::op, Op::cast, r.code[y].type, 0, y});
      made[v - first] = y;
    }
    for (uint32_t o = first - std::min(first, period); o < first; ++o)
      if (const ValueId* c = carried.find(o)) r.code[*c].b = made[o + period - first];
    for (uint32_t v = first; v < first + period; ++v)
      if (made[v - first] != kNoValue)
        r.memo.try_emplace(key(v - first + repeat.last(), path), made[v - first]);
    b.kernel.repeats.push_back({begin, static_cast<uint16_t>(r.code.size()), trips_at, scalars});
  }

  // The value of `v` at the kernel's index seen through `path`: a depth-first walk with a stack of its own.
  ValueId evaluate(Building& b, Region& r, uint32_t root, uint32_t root_path) {
    struct Visit {
      uint32_t v, path;
    };
    std::vector<Visit> stack{{root, root_path}};
    while (!stack.empty()) {
      const auto [v, path] = stack.back();
      if (r.memo.contains(key(v, path))) {
        stack.pop_back();
        continue;
      }
      const ValueId done = terminal(b, r, v, path);
      if (done != kNoValue) {
        r.memo.try_emplace(key(v, path), done);
        stack.pop_back();
        continue;
      }
      if (const TraceRepeat* repeat = repeat_of(f_, v)) {
        const size_t before = stack.size();
        each_from_before(*repeat, [&](uint32_t user, uint32_t o, bool fixed) {
          const uint32_t p = fixed ? to_operand(r, o, user, path) : path;
          if (!r.memo.contains(key(o, p))) stack.push_back({o, p});
        });
        if (stack.size() == before) lower_repeat(b, r, *repeat, path);
        continue;
      }
      const Value& x = at(v);
      const bool view = kind_of(x.op) == OpKind::view;
      ValueId args[3] = {kNoValue, kNoValue, kNoValue};
      bool complete = true;
      for (int i = x.arity - 1; i >= 0; --i) {  // the first operand is pushed last, so evaluated first
        const uint32_t o = x.operand[i];
        const uint32_t p = view ? through_view(v, path) : to_operand(r, o, v, path);
        if (const ValueId* known = r.memo.find(key(o, p))) {
          args[i] = *known;
        } else {
          complete = false;
          stack.push_back({o, p});
        }
      }
      if (!complete) continue;
      stack.pop_back();
      r.memo.try_emplace(key(v, path), view ? args[0] : compute(r, x, args));
    }
    return *r.memo.find(key(root, root_path));
  }
  ValueId compute(Region& r, const Value& x, const ValueId* args) {
    if (x.op == Op::cast) {
      const ValueId y = cast(r, args[0], x.dtype);  // an explicit cast to a 16-bit float rounds
      return cast(r, y, compute_type(x.dtype));
    }
    const ValueId y = push(r, {Code::op, x.op, compute_type(x.dtype), 0, args[0], args[1], args[2]});
    return is_half(x.dtype) && options_.exact_casts ? rounded(r, y, x.dtype) : y;
  }

  void store(Building& b, Region& r, uint32_t v, ValueId value) {
    const ValueId out = cast(r, value, at(v).dtype);
    b.kernel.stores.push_back({operand(b, r, v, 0, true), out});
  }
  bool is_stored(uint32_t v) const { return wanted_[v]; }

  // ---- kernel dimensions
  // ---------------------------------------------------------------------------------------------
  void add_dim(Building& b, uint32_t v, int dim) {
    KernelDim d;
    if (v != kNone) d.node = at(v).node, d.dim = dim;
    b.step.dims.push_back(d);
    ++b.dims;
  }

  void lower_group(int g) {
    const Group& group = f_.groups[static_cast<size_t>(g)];
    if (std::none_of(group.roots.begin(), group.roots.end(), [&](uint32_t v) { return is_stored(v); }))
      return;  // dead
    Building b;
    b.group = g;
    b.epilogue.epilogue = true;
    switch (group.kind) {
      case Group::Kind::map: lower_map(b, group); break;
      case Group::Kind::reduce: lower_reduce(b, group); break;
      case Group::Kind::scan: lower_scan(b, group); break;
      case Group::Kind::contract: lower_contract(b, group); break;
      case Group::Kind::update: lower_update(b, group); break;
    }
    finish(b, group);
  }

  void map_dims(Building& b, uint32_t space) {
    const Shape& s = shape(space);
    for (int i = 0; i < s.size(); ++i)
      if (s[i] != 1) {
        b.body.dims.of[b.dims] = static_cast<int8_t>(b.dims);
        add_dim(b, space, i);
      }
    if (b.dims == 0) add_dim(b, kNone, 0);
  }

  void lower_map(Building& b, const Group& group) {
    map_dims(b, group.space);
    std::vector<std::pair<uint32_t, ValueId>> made;
    for (uint32_t v : group.roots)
      if (is_stored(v)) made.emplace_back(v, evaluate(b, b.body, v, 0));
    for (auto [v, value] : made) store(b, b.body, v, value);
    b.kernel.form = loop::Form::map;
  }

  void lower_reduce(Building& b, const Group& group) {
    const Shape& s = shape(group.space);
    for (int i = 0, kept = 0, all = 0; i < s.size(); ++i) {
      if (s[i] == 1) continue;
      b.body.dims.of[b.dims] = static_cast<int8_t>(all++);
      if (i == group.axis) b.sequential_dim = b.dims;
      else b.epilogue.dims.of[b.dims] = static_cast<int8_t>(kept++);
      add_dim(b, group.space, i);
    }
    b.kernel.form = loop::Form::reduce;
    std::vector<std::pair<uint32_t, ValueId>> each, made;
    for (uint32_t v : group.roots) {
      if (!is_stored(v)) continue;
      const bool in_body = same_index(t_, v, group.space);
      (in_body ? each : made).emplace_back(v, evaluate(b, in_body ? b.body : b.epilogue, v, 0));
    }
    for (auto [v, value] : each) store(b, b.body, v, value);
    b.body_stores = b.kernel.stores.size();
    for (auto [v, value] : made) store(b, b.epilogue, v, value);
    add_reductions(b, [&](uint32_t v) { return at(v).operand[0]; });
  }
  template <class Operand0>
  void add_reductions(Building& b, Operand0 operand0) {
    for (uint32_t v : b.reduced) {
      loop::Reduction red;
      red.op = at(v).op;
      red.value = evaluate(b, b.body, operand0(v), 0);
      red.type = b.body.code[red.value].type;
      b.kernel.reductions.push_back(red);
    }
  }

  // The scanned axis comes before the last of the others, which carries the vector.
  void lower_scan(Building& b, const Group& group) {
    const Shape& s = shape(group.space);
    std::vector<int> order, place;
    for (int i = 0, all = 0; i < s.size(); ++i) {
      if (s[i] == 1) continue;
      if (i != group.axis) order.push_back(i), place.push_back(all);
      else b.sequential_dim = all;
      ++all;
    }
    const int scan_place = b.sequential_dim;
    const auto last = order.empty() ? 0 : order.size() - 1;
    for (size_t k = 0; k < last; ++k) {
      b.body.dims.of[b.dims] = static_cast<int8_t>(place[k]);
      add_dim(b, group.space, order[k]);
    }
    b.sequential_dim = b.dims;
    b.body.dims.of[b.dims] = static_cast<int8_t>(scan_place);
    add_dim(b, group.space, group.axis);
    if (order.empty()) {
      add_dim(b, kNone, 0);
    } else {
      b.body.dims.of[b.dims] = static_cast<int8_t>(place[last]);
      add_dim(b, group.space, order[last]);
    }
    b.kernel.form = loop::Form::scan;
    const uint32_t v = group.roots[0];
    const ValueId in = evaluate(b, b.body, at(v).operand[0], 0);
    loop::Reduction red{Op::cumsum, b.body.code[in].type, in};
    b.kernel.reductions.push_back(red);
    store(b, b.body, v, push(b.body, {Code::result, {}, red.type, 0}));
  }

  // (k, batch..., m, n): k is summed; m and n stay dimensions even where their extent is 1, in which case it
  // is m that has it. So the lanes, along n, have work wherever there is any, and m merges with the batch
  // where the right side is the same for all of it.
  void lower_contract(Building& b, const Group& group) {
    const uint32_t v = group.roots[0];
    const Shape& s = shape(v);
    const int rank = s.size();
    const bool column = s[rank - 1] == 1 && s[rank - 2] != 1;
    const uint32_t lhs = at(v).operand[0], rhs = at(v).operand[1];
    const Shape &sl = shape(lhs), &sr = shape(rhs);
    const auto place_in = [](const Shape& x, int i) {  // among the extents other than 1, or absent
      if (i < 0 || x[i] == 1) return Binding::kAbsent;
      int8_t p = 0;
      for (int j = 0; j < i; ++j) p = static_cast<int8_t>(p + (x[j] != 1));
      return p;
    };
    Region left, right;
    b.sequential_dim = b.dims;
    left.dims.of[b.dims] = place_in(sl, sl.size() - 1);
    right.dims.of[b.dims] = place_in(sr, sr.size() - 2);
    add_dim(b, lhs, sl.size() - 1);
    for (int i = 0; i < rank - 2; ++i) {
      if (s[i] == 1) continue;
      left.dims.of[b.dims] = place_in(sl, i - (rank - sl.size()));
      right.dims.of[b.dims] = place_in(sr, i - (rank - sr.size()));
      b.epilogue.dims.of[b.dims] = place_in(s, i);
      add_dim(b, v, i);
    }
    const auto row = [&] {
      left.dims.of[b.dims] = place_in(sl, sl.size() - 2);
      b.epilogue.dims.of[b.dims] = place_in(s, rank - 2);
      add_dim(b, v, rank - 2);
    };
    if (!column) row();
    right.dims.of[b.dims] = place_in(sr, sr.size() - 1);
    b.epilogue.dims.of[b.dims] = place_in(s, rank - 1);
    add_dim(b, v, rank - 1);
    if (column) row();
    b.fixed_dims = 1u << (b.dims - 1);  // n

    b.kernel.form = loop::Form::reduce;
    // What follows the product at the same index is computed from its accumulators.
    std::vector<std::pair<uint32_t, ValueId>> made;
    for (uint32_t root : group.roots)
      if (is_stored(root)) made.emplace_back(root, evaluate(b, b.epilogue, root, 0));
    for (auto [root, value] : made) store(b, b.epilogue, root, value);
    loop::Reduction red;
    red.op = Op::matmul;
    // The two sides have index maps of their own, so each is evaluated apart and appended to the body.
    side_ = 1;
    red.value = side(b, left, lhs);
    side_ = 2;
    red.value2 = side(b, right, rhs);
    red.type = b.body.code[red.value].type;
    b.kernel.reductions.push_back(red);
  }
  int side_ = 0;
  ValueId side(Building& b, Region& r, uint32_t v) {
    r.code.swap(b.body.code);  // one numbering; the memo is the side's own
    b.operand_ids.clear();     // and so are its operands
    const ValueId value = evaluate(b, r, v, 0);
    r.code.swap(b.body.code);
    return value;
  }

  // The region's values are stored into a buffer that starts as operand 0.
  void lower_update(Building& b, const Group& group) {
    const uint32_t v = group.roots[0], base = at(v).operand[0], patch = at(v).operand[1];
    map_dims(b, patch);
    b.kernel.form = loop::Form::map;
    const ValueId value = evaluate(b, b.body, patch, 0);
    const ValueId out = cast(b.body, value, at(v).dtype);
    Operand o;
    o.value = v;
    o.binding.node = at(v).node;
    o.binding.dtype = at(v).dtype;
    o.binding.output = o.binding.region = true;
    o.binding.slot = slot_of(v);
    std::copy(std::begin(b.body.dims.of), std::end(b.body.dims.of), o.binding.dim_of);
    b.kernel.stores.push_back({static_cast<uint16_t>(b.operands.size()), out});
    b.operands.push_back(std::move(o));
    b.step.has_initial = true;
    b.step.initial_from.node = at(base).node;
    b.step.initial_from.dtype = at(base).dtype;
    if (at(base).op == Op::leaf) guard_leaf(base);
    else b.step.initial_from.slot = slot_of(base);
    last_read_[base] = std::max(last_read_[base], b.group);
  }

  // ---- from dimensions to axes
  // ---------------------------------------------------------------------------------------
  void finish(Building& b, const Group& group) {
    const auto step = static_cast<uint32_t>(p_.steps.size());  // renumbered by number_guards()
    std::vector<OperandLayout> layouts(b.operands.size());
    for (size_t i = 0; i < b.operands.size(); ++i)
      if (!b.operands[i].packed) operand_layout(p_, b.step, b.operands[i].binding, *t_.frame, layouts[i]);

    // Merge neighbours that every operand walks as one.
    std::vector<uint8_t> axis(static_cast<size_t>(b.dims), 0);
    int axes = 0;
    for (int d = 0; d < b.dims; ++d) {
      axis[static_cast<size_t>(d)] = static_cast<uint8_t>(axes);
      if (d + 1 == b.dims || !mergeable(b, d, layouts)) ++axes;
      else
        for (size_t i = 0; i < b.operands.size(); ++i)
          if (!b.operands[i].packed) layout_guard(Guard::Kind::collapsible, step, i, d, 1);
    }
    LoopKernel& k = b.kernel;
    k.rank = static_cast<uint8_t>(axes);
    k.sequential =
        b.sequential_dim < 0 ? int8_t{-1} : static_cast<int8_t>(axis[static_cast<size_t>(b.sequential_dim)]);
    for (size_t i = 0; i < b.operands.size(); ++i)
      k.operands.push_back(classify(b, i, axis, axes, layouts[i], step));

    k.epilogue = static_cast<uint16_t>(b.body.code.size());
    const auto shift = static_cast<ValueId>(b.body.code.size());
    if (b.body.code.size() + b.epilogue.code.size() >= kNoValue)
      throw CompileError("a fused kernel grew past 65535 instructions");
    k.body = std::move(b.body.code);
    for (Instr i : b.epilogue.code) {
      if (i.a != kNoValue) i.a = static_cast<ValueId>(i.a + shift);
      if (i.b != kNoValue) i.b = static_cast<ValueId>(i.b + shift);
      if (i.c != kNoValue) i.c = static_cast<ValueId>(i.c + shift);
      k.body.push_back(i);
    }
    if (k.form == loop::Form::reduce)
      for (size_t i = b.body_stores; i < k.stores.size(); ++i)
        k.stores[i].value = static_cast<ValueId>(k.stores[i].value + shift);
    for (Instr& i : k.body) {
      if (i.code == Code::iota) i.imm = axis[i.imm];
      if (i.code == Code::op) ++b.step.ops;
    }
    for (const loop::Repeat& r : k.repeats)
      for (size_t i = r.first; i < r.last; ++i)
        b.step.ops += (k.body[i].code == Code::op) * (b.step.scalars[r.trips].value - 1);
    if (b.step.scalars.size() >= kNoValue)
      throw CompileError("a fused kernel grew past 65535 scalar arguments");
    k.scalars = static_cast<uint16_t>(b.step.scalars.size());
    k.name = name(group);
    b.step.axis_of = axis;
    b.step.sequential = k.sequential;
    b.step.args = loop::layout_of(k);
    for (Operand& o : b.operands) b.step.operands.push_back(o.binding);
    group_of_step_.push_back(b.group);
    p_.steps.push_back(std::move(b.step));
    out_.push_back(std::move(k));
  }

  bool mergeable(const Building& b, int d, const std::vector<OperandLayout>& layouts) const {
    if (d == b.sequential_dim || d + 1 == b.sequential_dim || (b.fixed_dims >> d & 3)) return false;
    const KernelDim& next = b.step.dims[static_cast<size_t>(d + 1)];
    for (size_t i = 0; i < b.operands.size(); ++i) {
      const Operand& o = b.operands[i];
      if (o.packed) {
        const auto& place = o.place;
        const int64_t p = place[static_cast<size_t>(d)], q = place[static_cast<size_t>(d + 1)];
        if (!((p == 0 && q == 0) || (p != 0 && q == p + 1))) return false;
      } else if (options_.strict_layout ||
                 layouts[i].stride[d] != layouts[i].stride[d + 1] * extent_of(next, *t_.frame)) {
        return false;
      }
    }
    return true;
  }

  void layout_guard(Guard::Kind kind, uint32_t step, size_t operand, int dim, int64_t value) {
    p_.guards.push_back({kind, 0, step, static_cast<uint16_t>(operand), static_cast<uint16_t>(dim), value});
    layout_guards_.push_back(p_.guards.size() - 1);
  }

  loop::Operand classify(Building& b, size_t i, const std::vector<uint8_t>& axis, int axes,
                         const OperandLayout& l, uint32_t step) {
    Operand& o = b.operands[i];
    loop::Operand out;
    out.dtype = o.binding.dtype;
    out.output = o.binding.output;
    const int last = b.dims - 1;
    bool known = true;
    if (o.packed) {
      const auto& place = o.place;
      for (int d = 0; d < b.dims; ++d) {  // the innermost dimension of a merged axis decides, and is met last
        const int64_t p = place[static_cast<size_t>(d)];
        out.stride[axis[static_cast<size_t>(d)]] = p == 0 ? Stride::zero : Stride::any;
      }
      if (place[static_cast<size_t>(last)] != 0 && place[static_cast<size_t>(last)] == o.places)
        out.stride[axes - 1] = Stride::unit;
      for (int a = 0; a < axes; ++a) known &= out.stride[a] != Stride::any;
      o.binding.known_strides = known;
      o.binding.moves = out.stride[axes - 1] == Stride::unit;
      const bool any = out.stride[axes - 1] == Stride::any;
      if (any) limit_offsets(out, i, last, packed_stride(b, o, last), step);
      return out;
    }
    for (int a = 0; a < axes; ++a) out.stride[a] = Stride::any;
    std::array<bool, loop::kMaxAxes> moves{};
    for (int d = 0; d < b.dims; ++d)
      moves[axis[static_cast<size_t>(d)]] |= o.binding.dim_of[d] != Binding::kAbsent;
    for (int a = 0; a < axes; ++a)
      if (!moves[static_cast<size_t>(a)]) out.stride[a] = Stride::zero;
    if (out.stride[axes - 1] == Stride::zero) return out;
    if (options_.strict_layout) {
      out.wide = true;
      return out;
    }
    if (l.stride[last] == 1) {
      out.stride[axes - 1] = Stride::unit;
      layout_guard(Guard::Kind::unit_stride, step, i, last, 1);
    } else if (l.stride[last] == 0 && !o.binding.output) {
      out.stride[axes - 1] = Stride::zero;
      layout_guard(Guard::Kind::broadcast, step, i, last, 0);
    } else {
      limit_offsets(out, i, last, l.stride[last], step);
    }
    return out;
  }
  int64_t packed_stride(const Building& b, const Operand& o, int d) const {
    OperandLayout l;
    operand_layout(p_, b.step, o.binding, *t_.frame, l);
    return l.stride[d];
  }
  void limit_offsets(loop::Operand& out, size_t i, int dim, int64_t stride, uint32_t step) {
    out.wide = options_.strict_layout || !fits_32bit(stride, out.dtype);
    if (!out.wide) layout_guard(Guard::Kind::stride_32bit, step, i, dim, 1);
  }

  std::string name(const Group& group) const {
    constexpr const char* kinds[] = {"map", "reduce", "scan", "contract", "update"};
    const Node& n = t_.node(group.roots.back());
    return std::string(kinds[static_cast<int>(group.kind)]) + "_" + name_of(at(group.roots.back()).op) + "_" +
           std::string(file_name(n.site)) + "_" + std::to_string(n.site.line());
  }

  void number_guards() {  // steps were made last to first
    const auto count = static_cast<uint32_t>(p_.steps.size());
    for (size_t i : layout_guards_) p_.guards[i].step = count - 1 - p_.guards[i].step;
    std::reverse(group_of_step_.begin(), group_of_step_.end());
  }

  // ---- memory
  // --------------------------------------------------------------------------------------------------------
  void plan_memory() {
    std::vector<std::vector<uint32_t>> dead(f_.groups.size());
    for (size_t v = 0; v < t_.values.size(); ++v)
      if (slot_[v] >= 0 && last_read_[v] >= 0 && !p_.slots[static_cast<size_t>(slot_[v])].kept)
        dead[static_cast<size_t>(last_read_[v])].push_back(static_cast<uint32_t>(slot_[v]));
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      Step& step = p_.steps[s];
      const int g = group_of_step_[s];
      std::vector<uint8_t> taken(step.operands.size(), 0);
      for (const Binding& b : step.operands)
        if (b.output) step.made.push_back(static_cast<uint32_t>(b.slot));
      step.dead = dead[static_cast<size_t>(g)];
      if (step.has_initial) plan_initial(step, g);
      else if (out_[s].form != loop::Form::scan) plan_donation(step, out_[s], g, taken);
    }
  }
  bool dies_in(const Binding& b, int g) const {
    if (b.slot >= 0)
      return last_read_[slot_value_[static_cast<size_t>(b.slot)]] == g &&
             !p_.slots[static_cast<size_t>(b.slot)].kept;
    return last_read_[b.node] == g;
  }
  static bool same_source(const Binding& a, const Binding& b) {
    return a.slot == b.slot && (a.slot >= 0 || a.node == b.node);
  }

  // An input read only at the index that is written, for the last time, can give its memory to the output.
  void plan_donation(Step& step, const LoopKernel& k, int g, std::vector<uint8_t>& taken) {
    for (size_t o = 0; o < step.operands.size(); ++o) {
      const Binding& out = step.operands[o];
      if (!out.output || (k.form == loop::Form::reduce && k.operands[o].stride[k.sequential] == Stride::zero))
        continue;
      for (size_t i = 0; i < step.operands.size(); ++i) {
        const Binding& in = step.operands[i];
        if (in.output || taken[i] || in.path != 0 || size_of(in.dtype) != size_of(out.dtype) ||
            !dies_in(in, g))
          continue;
        bool fits = in.packed;
        for (int a = 0; a < k.rank; ++a) fits &= k.operands[i].stride[a] == k.operands[o].stride[a];
        for (size_t j = 0; j < step.operands.size(); ++j)
          fits &= j == i || !same_source(step.operands[j], in);
        // A backend may load an element as late as its own store; another output must not have replaced it.
        for (const loop::Store& st : k.stores)
          fits &= k.body[st.value].code != Code::load || k.body[st.value].imm != i || k.stores.size() == 1;
        if (!fits) continue;
        Slot& slot = p_.slots[static_cast<size_t>(out.slot)];
        if (in.slot >= 0) slot.donor_slot = in.slot;
        else slot.donor_leaf = in.node;
        taken[i] = 1;
        break;
      }
    }
  }
  void plan_initial(Step& step, int g) {
    const Binding& in = step.initial_from;
    bool alone = dies_in(in, g);
    for (const Binding& b : step.operands) alone &= b.output || !same_source(b, in);
    if (!alone) return;
    Slot& slot = p_.slots[step.made[0]];
    if (in.slot >= 0) slot.donor_slot = in.slot;
    else slot.donor_leaf = in.node;
  }

  static constexpr int kForever = 1 << 30;
  const Trace& t_;
  const Fusion& f_;
  const LowerOptions& options_;
  Program& p_;
  std::vector<LoopKernel>& out_;
  std::vector<int> slot_;
  std::vector<uint32_t> slot_value_;
  std::vector<uint8_t> wanted_, guarded_;
  std::vector<int> last_read_;  // by value: the last group that reads it from memory
  std::vector<int> group_of_step_;
  FlatMap<uint32_t> path_ids_;
  std::vector<size_t> layout_guards_;
};

}  // namespace

void lower(const Trace& t, const Fusion& f, const LowerOptions& o, Program& p,
           std::vector<LoopKernel>& kernels) {
  Lowering(t, f, o, p, kernels).run();
}

}  // namespace lazy::jit
