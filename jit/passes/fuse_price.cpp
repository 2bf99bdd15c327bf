// Finds values that cost more to compute again than a pass over memory, and values that read too much of it.
#include "jit/passes/fuse_materialise.hpp"

namespace lazy::jit {
namespace {

// A pass over memory, a store and a load, costs as much as so many additions.
constexpr uint32_t kReloadCost = 14;
// The same for a value that a row's reduction computes anyway: it is read back from the cache.
constexpr uint32_t kRowReloadCost = 5;
// A value that is broadcast, and costs more, is computed once for each of its indices, not for its reader's.
// The limit is below kReloadCost, since there are fewer of these.
constexpr uint32_t kBroadcastCost = 4;
// Costs count up to this: chains of sums of themselves, which grow as powers of two, don't overflow.
constexpr uint32_t kMaxCost = 1u << 20;
// A value seen through more views than this is computed first: index maps are worked out again at each run.
constexpr uint32_t kMaxViews = 6;
// A value that is computed from more than this in memory has a part of itself computed first. What it reads
// exists that long, so a running sum over many steps lets no more than this of them live.
constexpr size_t kMostBeneath = 32;

class Pricing {
 public:
  Pricing(FusionDraft& d, const KernelAssignment& kernels, const std::vector<ValueUse>& uses)
      : d_(d), kernels_(kernels), uses_(uses), prices_(d.facts.size()), counted_(d.facts.size(), kNone) {}
  void run() {
    for (uint32_t v : d_.order)
      if (d_.facts[v].needed) visit(v);
  }

 private:
  /// Holds the memory that a value is computed from where it is inlined.
  struct Beneath {
    uint32_t result = kNone;  // result of a product or reduction, read at the same index as the value
    bool more = false;        // and others
  };
  /// Says what inlining a value takes or, where it has memory, reading it.
  struct Price {
    uint32_t cost = 0;   // in additions, at most kMaxCost
    uint32_t views = 0;  // that move indices, one after the other
    Beneath beneath;
    bool after_reduction = false;  // it is computed from a reduction's result
  };

  void visit(uint32_t v) {
    const Value& x = d_.at(v);
    const OpKind k = d_.kind(v);
    if (k == OpKind::input || is_source(x.op)) {
      prices_[v].cost = x.op != Op::iota;  // an index is at hand
      return;
    }
    Price& p = prices_[v];
    p.cost = is_computed(k) ? cost_of(x.op) : 0;
    for (int i = 0; i < x.arity; ++i) add_operand(p, v, i);
    if (k != OpKind::call) limit_reads(v);  // which reads complete values, one after the other
    if (k == OpKind::reduce) p.after_reduction = true;
    if (is_computed(k) && !d_.materialised(v) && !d_.is_inside_loop(v) && is_dear(v))
      d_.facts[v].materialised = true;
    d_.facts[v].making = p.cost;
    if (d_.materialised(v)) p = {1, 0, {}, p.after_reduction};
  }

  /// Adds what operand i takes to what `v` takes. An operand that is dear to compute for each index of `v`
  /// gets memory.
  void add_operand(Price& p, uint32_t v, int i) {
    const uint32_t o = d_.at(v).operand[i];
    Price& from = prices_[o];
    if (is_computed(d_.kind(o)) && !d_.materialised(o) && broadcasts_up(o, v) &&
        (from.after_reduction || (d_.at(o).extents > 0 && from.cost > kBroadcastCost))) {
      d_.facts[o].materialised = true;
      from.cost = 1;
    }
    // So does one that is only reshaped in between, if it is made of inputs: a bias of channels, which may
    // stay.
    if (const uint32_t s = reshaped(o);
        s != o && is_computed(d_.kind(s)) && !d_.materialised(s) && !from.after_reduction &&
        broadcasts_up(o, v) && d_.at(s).extents > 0 && from.cost > kBroadcastCost && is_of_inputs(s)) {
      d_.facts[s].materialised = true;
      from.cost = 1;
    }
    p.cost = std::min(kMaxCost, p.cost + from.cost);
    p.views = std::max(p.views, from.views + d_.is_moving_view(v));
    p.after_reduction |= from.after_reduction;
    add_beneath(p.beneath, v, i);
  }

  /// Returns what a value is a reshape of that has no memory; itself if it is none.
  uint32_t reshaped(uint32_t v) const {
    while (d_.at(v).op == Op::reshape && !d_.materialised(v)) v = d_.at(v).operand[0];
    return v;
  }

  /// True if pointwise ops make the value of a few inputs and constants.
  bool is_of_inputs(uint32_t v) const {
    constexpr int kMostOps = 64;
    open_.assign(1, v);
    for (int ops = 0; !open_.empty(); ++ops) {
      const uint32_t w = open_.back();
      open_.pop_back();
      const OpKind k = d_.kind(w);
      if (k == OpKind::input || k == OpKind::constant) continue;
      if ((k != OpKind::pointwise && k != OpKind::view) || ops == kMostOps) return false;
      for (int i = 0; i < d_.at(w).arity; ++i) open_.push_back(d_.at(w).operand[i]);
    }
    return true;
  }

  /// Returns true where a pointwise value is read at fewer indices than its reader has: computing it there
  /// repeats work.
  bool broadcasts_up(uint32_t o, uint32_t user) const {
    return d_.kind(user) == OpKind::pointwise && d_.at(o).extents < d_.at(user).extents;
  }

  /// Returns true if `v` is better computed once.
  bool is_dear(uint32_t v) const {
    const ValueUse& use = uses_[v];
    const Price& p = prices_[v];
    if (use.last_chunk != d_.facts[v].chunk || p.views > kMaxViews) return true;
    if (!use.home.is_many()) return false;
    const bool row = use.in_row && !use.moved && d_.at(v).extents > 1;
    const uint32_t reload = row ? kRowReloadCost : kReloadCost;
    return (p.cost > reload && makes_for(v, reload) > reload) || (!use.in_row && replaces_a_result(v));
  }

  /// Returns what computing `v` from memory takes, each value once however often it is read, or something
  /// above `limit`. Price::cost counts a value for each of its readers: it is at least this.
  uint32_t makes_for(uint32_t v, uint32_t limit) const {
    uint32_t cost = 0;
    open_.assign(1, v);
    counted_[v] = v;
    while (!open_.empty() && cost <= limit) {
      const uint32_t w = open_.back();
      open_.pop_back();
      if (w != v && (d_.exists(w) || is_source(d_.at(w).op))) {
        cost += d_.at(w).op != Op::iota;
        continue;
      }
      cost += is_computed(d_.kind(w)) ? cost_of(d_.at(w).op) : 0;
      for (int i = 0; i < d_.at(w).arity; ++i) {
        const uint32_t o = d_.at(w).operand[i];
        if (counted_[o] != v) open_.push_back(o);
        counted_[o] = v;
      }
    }
    return cost;
  }

  /// Returns true for a value that the kernel of a product or reduction can store in place of the result
  /// itself, so that who else needs it reads one value, not that result and more.
  bool replaces_a_result(uint32_t v) const {
    const Beneath& b = prices_[v].beneath;
    if (b.result == kNone || !b.more || d_.at(b.result).output) return false;
    const ValueUse& result = uses_[b.result];
    if (result.reads_itself || result.in_row) return false;
    return kernels_.values[v].usable.same_index == kernels_.values[b.result].kernel;
  }

  /// Notes what `v` reads from memory by its operand i.
  void add_beneath(Beneath& b, uint32_t v, int i) const {
    const uint32_t o = d_.at(v).operand[i];
    Beneath in = prices_[o].beneath;
    if (d_.exists(o)) {
      in = {};
      if (d_.kind(o) == OpKind::contract || d_.kind(o) == OpKind::reduce) in.result = o;
      else in.more = d_.at(o).extents > 0;
    }
    if (!d_.reads_in_place(v, i) && in.result != kNone) in = {kNone, true};
    b.more |= in.more || (b.result != kNone && in.result != kNone && b.result != in.result);
    if (b.result == kNone) b.result = in.result;
  }

  /// Finds what `v` reads from memory; where that is too much, an operand gets memory.
  void limit_reads(uint32_t v) {
    const Value& x = d_.at(v);
    uint32_t& reads = d_.facts[v].reads;
    for (;;) {
      reads = OperandSets::kEmpty;
      uint32_t largest = kNone;
      for (int i = 0; i < x.arity; ++i) {
        const uint32_t o = x.operand[i], set = reads_by(v, o);
        reads = d_.sets.unite(reads, set);
        if (is_computed(d_.kind(o)) && !d_.materialised(o) && !d_.is_inside_loop(o) &&
            d_.sets.size(set) > 1 &&
            (largest == kNone || d_.sets.size(set) > d_.sets.size(d_.facts[largest].reads)))
          largest = o;
      }
      if (largest == kNone || d_.is_inside_loop(v) || d_.sets.size(reads) <= kMostBeneath) return;
      d_.facts[largest].materialised = true;
    }
  }

  /// Returns what `v` reads by its operand `o`.
  uint32_t reads_by(uint32_t v, uint32_t o) {
    if (is_source(d_.at(o).op)) return OperandSets::kEmpty;
    if (!d_.exists(o)) return d_.facts[o].reads;
    return d_.sets.only(d_.is_moving_view(v) ? v : o);  // the view: another part of it
  }

  FusionDraft& d_;
  const KernelAssignment& kernels_;
  const std::vector<ValueUse>& uses_;
  std::vector<Price> prices_;  // by value
  // Work memory of makes_for(): by value, for which one it was counted last; those to be counted.
  mutable std::vector<uint32_t> counted_, open_;
};

}  // namespace

void materialise_the_dear(FusionDraft& d, const KernelAssignment& kernels,
                          const std::vector<ValueUse>& uses) {
  Pricing(d, kernels, uses).run();
}

}  // namespace lazy::jit
