// Which values get memory: what must exist, and what costs more to compute again than a pass over memory.
#include "jit/passes/fuser.hpp"

namespace lazy::jit {
namespace {

// Rough cost of an op in cheap vector instructions; a pass of memory (a store and a load) counts kReloadCost.
constexpr uint32_t kReloadCost = 8;
// What a row's reduction computes anyway and is needed again after it is read back from the cache for less.
constexpr uint32_t kRowReloadCost = 5;
constexpr uint32_t kMaxCost = 1u << 20;
// A kernel's body is cut after so many ops: compile time stays linear and code sane.
constexpr uint32_t kMaxBody = 3000;
// A value seen through more views than this is computed first: index maps are worked out again at each run.
constexpr uint32_t kMaxViews = 6;
// A value that is computed from more than this in memory has a part of itself computed first. What it reads
// exists that long, so a running sum over many steps keeps no more than this of them alive.
constexpr size_t kMostBeneath = 32;

}  // namespace

void Fuser::choose_materialised() {
  for (uint32_t v : order_) {
    if (!needed_[v]) continue;
    const OpKind k = kind(v);
    if (always_materialised(k)) f_.materialised[v] = 1;
    if (at(v).output && t_.same_as[v] == v && (is_computed(k) || k == OpKind::call || is_source(at(v).op)))
      f_.materialised[v] = 1;
  }
  for (uint32_t v : transposed_) f_.materialised[v] = needed_[v];
  mark_operands_that_must_exist();
  cut_long_kernels();
  making_.assign(t_.values.size(), 0);
  reads_.assign(t_.values.size(), OperandSets::kEmpty);
  const std::vector<Need> need = assign_kernels();
  const Uses uses = find_uses();
  materialise_results_of_repeats(uses.home);
  materialise_what_costs_more_to_repeat(uses, need);
  // Should a value inside of a rolled loop be wanted in memory after all, it is no rolled loop.
  const auto& mat = f_.materialised;
  std::erase_if(f_.rolled_loops, [&](const TraceLoop& r) {
    return std::any_of(mat.begin() + r.first, mat.begin() + r.last(), [](uint8_t m) { return m != 0; });
  });
  // Outputs that are views of something that exists share its memory; the others are computed like
  // pointwise values.
  for (uint32_t v : order_)
    if (needed_[v] && at(v).output && t_.same_as[v] == v && kind(v) == OpKind::view)
      f_.materialised[v] = mat[v] || !is_alias(v);  // what an update starts from must exist itself
}

// Numbers ops in order, and cuts that order into chunks: a kernel is of one chunk.
void Fuser::cut_long_kernels() {
  uint32_t ops = 0;
  chunk_.assign(t_.values.size(), 0);
  for (uint32_t v : order_) {
    if (!needed_[v]) continue;
    chunk_[v] = ops / kMaxBody;
    ops += is_computed(kind(v)) && is_code(v);
  }
}

// From the last value to the first, with the kernels that there would be if nothing more got memory.
Fuser::Uses Fuser::find_uses() const {
  const size_t n = t_.values.size();
  const auto& mat = f_.materialised;
  Uses u{std::vector<uint8_t>(n, 0), std::vector<uint32_t>(n, kUnset), std::vector<uint32_t>(n, 0)};
  const auto groups = static_cast<uint32_t>(f_.groups.size());
  for (size_t i = order_.size(); i-- > 0;) {
    const uint32_t v = order_[i];
    if (!needed_[v]) continue;
    const OpKind k = kind(v);
    uint32_t mine = u.home[v];
    const bool exists = mat[v] || (at(v).output && k == OpKind::view);
    if (exists && (is_computed(k) || k == OpKind::reduce || is_source(at(v).op)))
      mine = static_cast<uint32_t>(f_.kernel_of[v]);
    else if (exists || k == OpKind::call || (k == OpKind::view && !is_identity_view(t_, v)))
      mine = groups + v;  // other index maps: as if it were a kernel of its own
    for (int j = 0; j < at(v).arity; ++j) {
      const uint32_t o = at(v).operand[j];
      uint32_t h = mine;
      if (k == OpKind::pointwise && !same_index(t_, o, v))
        h = kMany - 1 - mine % 1024;  // broadcast: another index map
      const bool same = reads_in_place(v, j);
      if (k == OpKind::reduce && is_last_axis(o, t_.node(v).axes[0])) u.used[o] |= kInRow | kDirectly;
      else if (!same) u.used[o] |= kMoved | kDirectly;
      else if (!mat[v]) u.used[o] |= u.used[v] & (kInRow | kMoved);
      if (u.home[o] == kUnset) u.home[o] = h;
      else if (u.home[o] != h) u.home[o] = kMany;
      u.last_chunk[o] = std::max(u.last_chunk[o], chunk_[v]);
    }
  }
  return u;
}

void Fuser::materialise_what_costs_more_to_repeat(const Uses& uses, const std::vector<Need>& need) {
  const size_t n = t_.values.size();
  auto& mat = f_.materialised;
  std::vector<uint32_t> cost(n, 0), views(n, 0);
  std::vector<uint8_t> after_reduction(n, 0);
  std::vector<Beneath> beneath(n);
  making_.assign(n, 0);
  for (uint32_t v : order_) {
    if (!needed_[v]) continue;
    const Value& x = at(v);
    const OpKind k = kind(v);
    if (k == OpKind::input || is_source(x.op)) {
      cost[v] = x.op != Op::iota;  // an index is at hand
      continue;
    }
    uint32_t c = is_computed(k) ? cost_of(x.op) : 0;
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t o = x.operand[i];
      if (is_computed(kind(o)) && !mat[o] && broadcasts_up(o, v) &&
          (after_reduction[o] || (at(o).extents > 0 && cost[o] > 4))) {
        mat[o] = 1;
        cost[o] = 1;
      }
      c = std::min(kMaxCost, c + cost[o]);
      views[v] = std::max(views[v], views[o] + (k == OpKind::view && !is_identity_view(t_, v)));
      after_reduction[v] |= after_reduction[o];
      add_beneath(beneath, v, i);
    }
    if (k != OpKind::call) limit_reads(v);  // which reads whole values, one after the other
    cost[v] = c;
    if (k == OpKind::reduce) after_reduction[v] = 1;
    if (is_computed(k) && !mat[v] && !is_inside(v)) {
      const bool row = (uses.used[v] & (kInRow | kMoved)) == kInRow && at(v).extents > 1;
      const bool many = uses.home[v] == kMany;
      const bool dear = c > (row ? kRowReloadCost : kReloadCost) ||
                        (!(uses.used[v] & kInRow) && replaces_a_result(beneath[v], uses, need[v]));
      if ((many && dear) || uses.last_chunk[v] != chunk_[v] || views[v] > kMaxViews) mat[v] = 1;
    }
    making_[v] = c;
    if (mat[v]) {
      cost[v] = 1;
      views[v] = 0;
      beneath[v] = {};
    }
  }
}

// Finds what `v` reads from memory; where that is too much, an operand gets memory.
void Fuser::limit_reads(uint32_t v) {
  const Value& x = at(v);
  for (;;) {
    reads_[v] = OperandSets::kEmpty;
    uint32_t largest = kNone;
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t o = x.operand[i], set = reads_by(v, o);
      reads_[v] = sets_.unite(reads_[v], set);
      if (is_computed(kind(o)) && !f_.materialised[o] && !is_inside(o) && sets_.size(set) > 1 &&
          (largest == kNone || sets_.size(set) > sets_.size(reads_[largest])))
        largest = o;
    }
    if (largest == kNone || is_inside(v) || sets_.size(reads_[v]) <= kMostBeneath) return;
    f_.materialised[largest] = 1;
  }
}

// Returns what `v` reads by its operand `o`.
uint32_t Fuser::reads_by(uint32_t v, uint32_t o) {
  if (is_source(at(o).op)) return OperandSets::kEmpty;
  if (!exists(o)) return reads_[o];
  const bool elsewhere = kind(v) == OpKind::view && !is_identity_view(t_, v);  // another part of it
  return sets_.only(elsewhere ? v : o);
}

// Notes what `v` reads from memory by its operand i.
void Fuser::add_beneath(std::vector<Beneath>& beneath, uint32_t v, int i) const {
  const uint32_t o = at(v).operand[i];
  Beneath& b = beneath[v];
  Beneath in = beneath[o];
  if (exists(o)) {
    in = {};
    if (kind(o) == OpKind::contract || kind(o) == OpKind::reduce) in.result = o;
    else in.more = at(o).extents > 0;
  }
  if (!reads_in_place(v, i) && in.result != kNone) in = {kNone, true};
  b.more |= in.more || (b.result != kNone && in.result != kNone && b.result != in.result);
  if (b.result == kNone) b.result = in.result;
}

/// True for a value that the kernel of a product or reduction can store in place of the result itself, so
/// that who else needs it reads one value, not that result and more.
bool Fuser::replaces_a_result(const Beneath& b, const Uses& uses, const Need& need) const {
  if (b.result == kNone || !b.more || at(b.result).output) return false;
  if (uses.used[b.result] & (kDirectly | kInRow)) return false;
  return need.same == f_.kernel_of[b.result];
}

// Where a pointwise value is read at fewer indices than its reader has: computing it there repeats work.
bool Fuser::broadcasts_up(uint32_t o, uint32_t user) const {
  return kind(user) == OpKind::pointwise && at(o).extents < at(user).extents;
}

/// True if code is made for v: of a rolled loop only the first iteration counts.
bool Fuser::is_code(uint32_t v) const {
  const TraceLoop* r = rolled_loop_of(f_, v);
  return !r || v < r->first + r->period;
}

/// A value of a rolled loop that nothing outside reads.
bool Fuser::is_inside(uint32_t v) const {
  const TraceLoop* r = rolled_loop_of(f_, v);
  return r && v < r->last();
}

// A rolled loop is computed in one map kernel: its results are put into memory unless only that one reads
// them.
void Fuser::materialise_results_of_repeats(const std::vector<uint32_t>& home) {
  if (f_.rolled_loops.empty()) return;
  auto& mat = f_.materialised;
  std::vector<uint8_t> result(t_.values.size(), 0);
  for (uint32_t v : order_)
    for (int i = 0; needed_[v] && i < at(v).arity; ++i) {
      const uint32_t o = at(v).operand[i];
      const TraceLoop* r = rolled_loop_of(f_, o);
      if (r && r != rolled_loop_of(f_, v)) result[o] = 1;
    }
  const auto is_map = [&](uint32_t h) {
    return h < f_.groups.size() && f_.groups[h].kind == Group::Kind::map;
  };
  for (const TraceLoop& r : f_.rolled_loops) {
    uint32_t where = kUnset;
    bool alone = true;
    for (uint32_t v = r.last(); v < r.end(); ++v) {
      if (!mat[v] && !result[v]) continue;
      const uint32_t mine = mat[v] ? static_cast<uint32_t>(f_.kernel_of[v]) : home[v];
      alone &= is_map(mine) && (where == kUnset || where == mine);
      where = mine;
    }
    for (uint32_t v = r.last(); v < r.end() && !alone; ++v)
      if (result[v] && kind(v) == OpKind::pointwise) mat[v] = 1;
  }
}

bool Fuser::is_alias(uint32_t v) const {
  const uint32_t o = at(v).operand[0];
  if (at(v).op == Op::reshape && !is_unit_reshape(t_.node(v)))
    return exists(o);  // packed: see pack_reshaped_operands
  if (kind(o) == OpKind::view && !f_.materialised[o]) return is_alias(o);
  return exists(o);
}

// Operands that a kernel can only read from memory.
void Fuser::mark_operands_that_must_exist() {
  auto& mat = f_.materialised;
  std::vector<uint8_t> has_iota(t_.values.size(), 0);
  for (uint32_t v : order_) {
    if (!needed_[v]) continue;
    const Value& x = at(v);
    const OpKind k = kind(v);
    if (x.op == Op::iota) has_iota[v] = 1;
    if (k == OpKind::indexed) {
      uint32_t o = x.operand[0];
      while (!mat[o] && kind(o) == OpKind::view) o = at(o).operand[0];
      if (at(o).op != Op::input) mat[o] = 1;
      has_iota[v] |= has_iota[x.operand[1]] && !mat[x.operand[1]];
    }
    if (k == OpKind::pointwise || k == OpKind::view)
      for (int i = 0; i < x.arity; ++i) has_iota[v] |= has_iota[x.operand[i]] && !mat[x.operand[i]];
    if (k == OpKind::view) {
      uint32_t o = x.operand[0];
      const bool general = x.op == Op::reshape && !is_unit_reshape(t_.node(v));
      // A reshape reads packed memory; an index along an axis can't be sliced, cut or reshaped, only moved
      // and broadcast.
      if ((general && !flat_[o] && at(o).op != Op::input) ||
          (has_iota[o] && (general || x.op == Op::slice || x.op == Op::window))) {
        mat[o] = 1;
        has_iota[v] = 0;
      }
    }
    if (k == OpKind::contract)  // read many times each: only casts and views are done on the way
      for (int i = 0; i < 2; ++i) {
        uint32_t o = x.operand[i];
        while (!mat[o] && (kind(o) == OpKind::view || at(o).op == Op::cast) && !rolled_loop_of(f_, o))
          o = at(o).operand[0];
        if (at(o).op != Op::input) mat[o] = 1;
      }
    if (k == OpKind::update && at(x.operand[0]).op != Op::input) mat[x.operand[0]] = 1;
    for (int i = 0; k == OpKind::call && i < x.arity; ++i) {
      const uint32_t o = x.operand[i], from = packed_source(t_, mat, o);
      if (at(from).op != Op::input) mat[from] = 1;
      else if (!flat_[from]) mat[o] = 1;
    }
  }
}

}  // namespace lazy::jit
