// Decides which kernel makes each value that gets memory.
#include "jit/passes/fusion_draft.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {
namespace {

// An op after a reduction along the last axis has one useful lane there: from this cost on, full vectors of
// results read back are cheaper.
constexpr uint32_t kLaneCost = 10;
// A kernel reads so many values, and stores so many, at most: more streams than this the caches and registers
// don't follow.
constexpr size_t kMostRead = 64, kMostStored = 64;
// A value joins a map kernel only so many kernels later: one that is made long before it is read takes memory
// all that time. An output has memory to the end anyway, and joins one that makes outputs however long ago it
// was: clipping, updates and averages of hundreds of parameters are one pass over each.
constexpr int kNearby = 32;

class KernelAssigner {
 public:
  KernelAssigner(FusionDraft& d, DimensionClasses& classes) : d_(d), t_(d.trace), classes_(classes) {}
  KernelAssignment run() {
    made_.values.resize(t_.values.size());
    takes_.assign(t_.values.size(), 0);
    for (uint32_t v : d_.order)
      if (d_.facts[v].needed && d_.at(v).op != Op::input) visit(v);
    return std::move(made_);
  }

 private:
  // Bits that say what computing a value takes where it is inlined: lanes of 64 bits, a rolled loop, a load
  // at a computed index.
  static constexpr uint8_t kWide = 1, kLoop = 2, kGather = 4;

  Earliest& usable(uint32_t v) { return made_.values[v].usable; }
  Group& group(int g) { return made_.groups[static_cast<size_t>(g)]; }
  const Group& group(int g) const { return made_.groups[static_cast<size_t>(g)]; }
  uint32_t& reads_of(int g) { return group_reads_[static_cast<size_t>(g)]; }

  void visit(uint32_t v) {
    const OpKind k = d_.kind(v);
    const Earliest computed = find_earliest(v);
    if (k == OpKind::call || k == OpKind::part) {
      place_in_call(v, k);
    } else if (!d_.materialised(v)) {
      usable(v) = computed;
    } else if (const int product = product_stored_permuted(v); product >= 0) {
      group(product).roots.push_back(v);
      group(product).permuted.push_back(v);
      made_.values[v] = {product, {product + 1, product + 1}};  // its index is another one than the product's
    } else if (const int into = product_stored_in_part(v); into >= 0) {
      group(into).roots.push_back(v);
      group(into).placed.push_back(v);
      reads_of(into) = d_.sets.unite(reads_of(into), d_.facts[v].reads);
      made_.values[v] = {into, {into + 1, into + 1}};
    } else {
      const int g = kernel_for(v, k, computed);
      if (k == OpKind::contract) latest(space(v, Space::result)) = g;
      group(g).roots.push_back(v);
      reads_of(g) = d_.sets.unite(reads_of(g), d_.facts[v].reads);
      made_.values[v] = {g, {g, g + 1}};
    }
  }

  /// Returns the first kernel that can compute `v`. Sets what computing it takes.
  Earliest find_earliest(uint32_t v) {
    const Value& x = d_.at(v);
    Earliest mine;
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t o = x.operand[i];
      const Earliest& from = usable(o);
      mine.same_index = std::max(mine.same_index, d_.reads_in_place(v, i) ? from.same_index : from.any_index);
      mine.any_index = std::max(mine.any_index, from.any_index);
      if (!d_.exists(o)) takes_[v] |= takes_[o];
      const bool counts_32_bits = x.op == Op::cast && (x.dtype == DType::int32 || x.dtype == DType::uint32);
      if (d_.at(o).op == Op::iota && !counts_32_bits) takes_[v] |= kWide;
    }
    // An index of which only 32 bits are used is counted in 32 bits.
    if (size_of(x.dtype) == 8 && x.op != Op::iota) takes_[v] |= kWide;
    if (d_.kind(v) == OpKind::indexed) takes_[v] |= kGather;
    if (d_.loop_of(v)) takes_[v] |= kLoop;
    return mine;
  }

  /// Returns the product's kernel that can store `v`, a permutation of what it computes, in place of a copy;
  /// -1 if there is none. Lanes run along the last dimension of both.
  int product_stored_permuted(uint32_t v) {
    if (!d_.options.host || d_.at(v).op != Op::permute || is_identity_view(t_, v)) return -1;
    const uint32_t o = d_.at(v).operand[0];
    const Shape& s = t_.shape(v);
    int last = s.size() - 1;
    while (last > 0 && s[last] == 1) --last;
    if (s[last] == 1 || !is_last_axis(t_, o, t_.node(v).axes[last])) return -1;
    const int g = latest(space(o, Space::result));
    if (g < 0 || group(g).kind != Group::Kind::contract || usable(o).same_index != g) return -1;
    return has_room(g, v) && !(takes_[o] & kLoop) && suits_epilogue(o, g) ? g : -1;
  }

  /// Returns the product's kernel that can store `v`, a part of memory that has no values yet, as an image
  /// within its padding; -1 if there is none.
  int product_stored_in_part(uint32_t v) {
    const Value& x = d_.at(v);
    if (!d_.options.host || x.op != Op::slice_update || !is_overwritten(t_.node(x.operand[0]))) return -1;
    const uint32_t o = x.operand[1];
    const int g = latest(space(o, Space::result));
    if (g < 0 || group(g).kind != Group::Kind::contract || usable(o).same_index != g) return -1;
    const uint32_t product = group(g).roots[0];
    const bool same = d_.at(product).rank == d_.at(o).rank && d_.at(product).ones == d_.at(o).ones;
    return same && group(g).placed.empty() && has_room(g, v) && !(takes_[o] & kLoop) && suits_epilogue(o, g)
               ? g
               : -1;
  }

  /// Makes a call a separate step, with its outputs; what reads them comes later.
  void place_in_call(uint32_t v, OpKind k) {
    const int g =
        k == OpKind::call ? new_group(Group::Kind::call, v) : made_.values[d_.at(v).operand[0]].kernel;
    group(g).roots.push_back(v);
    made_.values[v] = {g, {g + 1, g + 1}};
  }

  int kernel_for(uint32_t v, OpKind k, Earliest computed) {
    const Value& x = d_.at(v);
    switch (k) {
      case OpKind::reduce: return reduction_kernel(v, usable(x.operand[0]));
      case OpKind::scan: return new_group(Group::Kind::scan, x.operand[0], axis_of(t_.node(v)));
      case OpKind::contract: return new_group(Group::Kind::contract, v);
      case OpKind::update: return new_group(Group::Kind::update, x.operand[x.arity - 1]);
      default: return map_kernel(v, computed);
    }
  }

  int new_group(Group::Kind kind, uint32_t space, int axis = -1) {
    made_.groups.push_back({kind, space, axis, {}});
    group_reads_.push_back(OperandSets::kEmpty);
    return static_cast<int>(made_.groups.size()) - 1;
  }

  /// Says what a kernel does in a space: computes it, reduces it along an axis, or has reductions' results in
  /// it.
  enum class Space : uint32_t { map, reduced, result };
  /// Returns a number for that and the classes of a shape's extents other than 1. `axis`: where a reduction
  /// runs.
  uint32_t space(uint32_t v, Space form, int axis = -1) {
    uint32_t words[2 + kMaxRank] = {static_cast<uint32_t>(form)};
    size_t count = 1;
    for (int i = 0; i < d_.at(v).rank; ++i) {
      if (d_.at(v).ones >> i & 1) continue;
      words[count++] = classes_.of(v, i);
      if (i == axis) words[count++] = kNone;
    }
    return spaces_.intern({words, count}).first;
  }

  /// Returns the latest kernel of a space, -1 if there is none.
  int& latest(uint32_t space) {
    if (space >= latest_.size()) latest_.resize(spaces_.size(), -1);
    return latest_[space];
  }

  /// Returns the kernel for a reduction. `operand` says in which kernels what is reduced can be computed.
  int reduction_kernel(uint32_t v, Earliest operand) {
    const uint32_t o = d_.at(v).operand[0];
    const int axis = axis_of(t_.node(v));
    const uint32_t key = space(o, Space::reduced, axis);
    if (const int found = latest(key); found >= operand.same_index && has_room(found, v)) return found;
    // Values of the same space that exist anyway are made, and stored, on the way along the row.
    int g = is_last_axis(t_, o, axis) ? latest(space(o, Space::map)) : -1;
    if (g >= operand.same_index && has_room(g, v) && group(g).kind == Group::Kind::map &&
        !has_rolled_loop(g)) {
      group(g).kind = Group::Kind::reduce;
      group(g).space = o;
      group(g).axis = axis;
    } else {
      g = new_group(Group::Kind::reduce, o, axis);
    }
    latest(key) = g;
    latest(space(v, Space::result)) = g;
    return g;
  }

  int map_kernel(uint32_t v, Earliest computed) {
    const int reduction = latest(space(v, Space::result));
    if (reduction >= 0 && reduction == computed.same_index && has_room(reduction, v) &&
        !(takes_[v] & kLoop) && suits_epilogue(v, reduction))
      return reduction;
    const uint32_t key = space(v, Space::map);
    const int found = latest(key);
    if (found >= computed.same_index && (is_near(found) || (d_.at(v).output && makes_output(found))) &&
        has_room(found, v) && !((takes_[v] & kLoop) && group(found).kind != Group::Kind::map))
      return found;
    return latest(key) = new_group(Group::Kind::map, v);
  }

  bool is_near(int g) const { return g + kNearby >= static_cast<int>(made_.groups.size()); }
  bool makes_output(int g) const {
    return std::any_of(group(g).roots.begin(), group(g).roots.end(),
                       [&](uint32_t v) { return d_.at(v).output; });
  }

  /// True if `v` can be in the product's epilogue, which is in no wider lanes than the product, or that would
  /// have half as many, and loads at no computed index; one of single lanes is short.
  bool suits_epilogue(uint32_t v, int g) const {
    if (group(g).kind == Group::Kind::reduce && is_last_axis(t_, group(g).space, group(g).axis))
      return d_.facts[v].making <= kLaneCost || d_.at(v).extents == 0;
    return group(g).kind != Group::Kind::contract ||
           (!(takes_[v] & kGather) && (!(takes_[v] & kWide) || size_of(d_.at(group(g).roots[0]).dtype) == 8));
  }

  /// True if the kernel has a rolled loop. Only maps do.
  bool has_rolled_loop(int g) const {
    const auto& roots = group(g).roots;
    return std::any_of(roots.begin(), roots.end(), [&](uint32_t v) { return (takes_[v] & kLoop) != 0; });
  }

  /// Returns true if kernel `g` may make `v` as well.
  bool has_room(int g, uint32_t v) {
    const auto& roots = group(g).roots;
    if (roots.size() >= kMostStored || d_.facts[roots[0]].chunk != d_.facts[v].chunk) return false;
    return d_.sets.size(d_.sets.unite(reads_of(g), d_.facts[v].reads)) <= kMostRead;
  }

  FusionDraft& d_;
  const Trace& t_;
  DimensionClasses& classes_;
  KernelAssignment made_;
  std::vector<uint8_t> takes_;         // by value: kWide, kLoop, kGather
  std::vector<uint32_t> group_reads_;  // by kernel: set, in FusionDraft::sets, of the memory that it reads
  Interner spaces_;
  std::vector<int> latest_;  // by space: index into groups, or -1
};

}  // namespace

KernelAssignment assign_kernels(FusionDraft& d, DimensionClasses& classes) {
  return KernelAssigner(d, classes).run();
}

}  // namespace lazy::jit
