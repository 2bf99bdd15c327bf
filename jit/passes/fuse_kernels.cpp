// Which kernel makes each value that gets memory.
#include "jit/passes/fuser.hpp"

namespace lazy::jit {
namespace {

// What follows a reduction along the last axis has one useful lane there: from this cost on, whole vectors of
// results read back are cheaper.
constexpr uint32_t kLaneCost = 10;
// Values that a kernel reads, and that it stores: more streams than this the caches and registers don't
// follow.
constexpr size_t kMostRead = 64, kMostStored = 64;
// A value joins a map kernel only so many kernels later: one that is made long before it is read takes memory
// all that time.
constexpr int kNearby = 32;

}  // namespace

/// Puts every value that gets memory into a kernel, anew.
std::vector<Fuser::Need> Fuser::assign_kernels() {
  std::vector<Need> need(t_.values.size());
  f_.groups.clear();
  group_reads_.clear();
  f_.kernel_of.assign(t_.values.size(), -1);
  latest_.assign(latest_.size(), -1);
  takes_.assign(t_.values.size(), 0);
  for (uint32_t v : order_) {
    if (!needed_[v] || at(v).op == Op::input) continue;
    const Value& x = at(v);
    const OpKind k = kind(v);
    Need mine;
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t o = x.operand[i];
      mine.same = std::max(mine.same, reads_in_place(v, i) ? need[o].same : need[o].any);
      mine.any = std::max(mine.any, need[o].any);
      if (!exists(o)) takes_[v] |= takes_[o];
    }
    if (size_of(x.dtype) == 8) takes_[v] |= kWide;
    if (k == OpKind::indexed) takes_[v] |= kGather;
    if (rolled_loop_of(f_, v)) takes_[v] |= kLoop;
    if (k == OpKind::call || k == OpKind::part) {
      need[v] = call_step(v, k);
      continue;
    }
    if (!f_.materialised[v]) {
      need[v] = mine;
      continue;
    }
    const int g = k == OpKind::reduce ? reduction_kernel(v, need[x.operand[0]])
                  : k == OpKind::scan || k == OpKind::contract || k == OpKind::update
                      ? new_group(k == OpKind::scan       ? Group::Kind::scan
                                  : k == OpKind::contract ? Group::Kind::contract
                                                          : Group::Kind::update,
                                  k == OpKind::scan     ? x.operand[0]
                                  : k == OpKind::update ? x.operand[x.arity - 1]
                                                        : v,
                                  k == OpKind::scan ? static_cast<int>(t_.node(v).axes[0]) : -1)
                      : map_kernel(v, mine);
    if (k == OpKind::contract) latest(space(v, 'k')) = g;
    f_.groups[static_cast<size_t>(g)].roots.push_back(v);
    group_reads_[static_cast<size_t>(g)] = sets_.unite(group_reads_[static_cast<size_t>(g)], reads_[v]);
    f_.kernel_of[v] = g;
    need[v] = {g, g + 1};
  }
  return need;
}

/// A call is a step of its own, with its outputs; what reads them comes later.
Fuser::Need Fuser::call_step(uint32_t v, OpKind k) {
  const int g = k == OpKind::call ? new_group(Group::Kind::call, v, -1) : f_.kernel_of[at(v).operand[0]];
  f_.kernel_of[v] = g;
  f_.groups[static_cast<size_t>(g)].roots.push_back(v);
  return {g + 1, g + 1};
}

int Fuser::new_group(Group::Kind kind, uint32_t space, int axis) {
  f_.groups.push_back({kind, space, axis, {}});
  group_reads_.push_back(OperandSets::kEmpty);
  return static_cast<int>(f_.groups.size()) - 1;
}

// By space, the latest map kernel ('m'), the latest reduction of that operand and axis ('r'), the latest
// reduction with results of that space ('k'); -1 if there is none.
int& Fuser::latest(uint32_t space) {
  if (space >= latest_.size()) latest_.resize(spaces_.size(), -1);
  return latest_[space];
}

/// `operand`: in which kernels what is reduced can be computed.
int Fuser::reduction_kernel(uint32_t v, Need operand) {
  const uint32_t o = at(v).operand[0];
  const int axis = static_cast<int>(t_.node(v).axes[0]);
  const uint32_t key = space(o, 'r', axis);
  if (const int found = latest(key); found >= operand.same && has_room(found, v)) return found;
  // Values of the same space that exist anyway are made, and stored, on the way along the row.
  int g = is_last_axis(o, axis) ? latest(space(o, 'm')) : -1;
  if (g >= operand.same && has_room(g, v) && f_.groups[static_cast<size_t>(g)].kind == Group::Kind::map &&
      !has_rolled_loop(g)) {
    Group& group = f_.groups[static_cast<size_t>(g)];
    group.kind = Group::Kind::reduce;
    group.space = o;
    group.axis = axis;
  } else {
    g = new_group(Group::Kind::reduce, o, axis);
  }
  latest(key) = g;
  latest(space(v, 'k')) = g;
  return g;
}

int Fuser::map_kernel(uint32_t v, Need need) {
  const int reduction = latest(space(v, 'k'));
  if (reduction >= 0 && reduction == need.same && has_room(reduction, v) && !(takes_[v] & kLoop) &&
      suits_epilogue(v, reduction))
    return reduction;
  const uint32_t key = space(v, 'm');
  const int found = latest(key);
  if (found >= need.same && found + kNearby >= static_cast<int>(f_.groups.size()) && has_room(found, v) &&
      !((takes_[v] & kLoop) && f_.groups[static_cast<size_t>(found)].kind != Group::Kind::map))
    return found;
  return latest(key) = new_group(Group::Kind::map, v, -1);
}

/// A product's epilogue is in no wider lanes than the product, or that would have half as many, and loads at
/// no computed index; one of single lanes is short.
bool Fuser::suits_epilogue(uint32_t v, int g) const {
  const Group& group = f_.groups[static_cast<size_t>(g)];
  if (group.kind == Group::Kind::reduce && is_last_axis(group.space, group.axis))
    return making_[v] <= kLaneCost || at(v).extents == 0;
  return group.kind != Group::Kind::contract ||
         (!(takes_[v] & kGather) && (!(takes_[v] & kWide) || size_of(at(group.roots[0]).dtype) == 8));
}

/// Only maps have rolled loops.
bool Fuser::has_rolled_loop(int g) const {
  const auto& roots = f_.groups[static_cast<size_t>(g)].roots;
  return std::any_of(roots.begin(), roots.end(), [&](uint32_t v) { return (takes_[v] & kLoop) != 0; });
}

/// Returns whether kernel `g` may make `v` as well.
bool Fuser::has_room(int g, uint32_t v) {
  const auto& roots = f_.groups[static_cast<size_t>(g)].roots;
  if (roots.size() >= kMostStored || chunk_[roots[0]] != chunk_[v]) return false;
  return sets_.size(sets_.unite(group_reads_[static_cast<size_t>(g)], reads_[v])) <= kMostRead;
}

}  // namespace lazy::jit
