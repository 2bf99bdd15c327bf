// Fusion: which values get memory, and which kernels make them.
//
// Pointwise ops and views are inlined into whoever reads them, unless the value must exist (an output, the
// result of a reduction, scan or product) or computing it again would cost more than a pass over memory.
// Values that exist are put, in order, into the latest kernel over the same iteration space that already has
// what they need, else into a new one. Everything here is linear in the number of values, and decided by the
// key alone (never by extents), so that one program serves every shape.
#include "jit/graph/layout.hpp"
#include "jit/passes/passes.hpp"
#include "support/flat_map.hpp"

namespace lazy::jit {
namespace {

// Rough cost of an op in cheap vector instructions; a pass of memory (a store and a load) counts kReloadCost.
constexpr uint32_t kReloadCost = 8;
// What a row's reduction computes anyway and is needed again after it is read back from the cache for less.
constexpr uint32_t kRowReloadCost = 5;
// What follows a reduction along the last axis has one useful lane there: from this cost on, whole vectors of
// results read back are cheaper.
constexpr uint32_t kLaneCost = 10;
constexpr uint32_t kMaxCost = 1u << 20;
// A kernel's body is cut after so many ops: compile time stays linear and code sane.
constexpr uint32_t kMaxBody = 3000;
// A value seen through more views than this is computed first: index maps are worked out again at each run.
constexpr uint32_t kMaxViews = 6;

uint32_t cost_of(Op op) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::log2:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos: return 5;
    case Op::expm1:
    case Op::log1p:
    case Op::log10:
    case Op::tanh:
    case Op::sinh:
    case Op::cosh:
    case Op::erf: return 8;
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::erfc:
    case Op::gelu:
    case Op::power:
    case Op::atan2:
    case Op::hypot:
    case Op::floor_divide:
    case Op::remainder: return 12;
    case Op::divide:
    case Op::sqrt:
    case Op::rsqrt: return 2;
    default: return 1;
  }
}

class Fuser {
 public:
  Fuser(Trace& t, bool strict) : t_(t), strict_(strict) {}

  Fusion run() {
    pack_reshaped_operands();
    const size_t n = t_.values.size();
    f_.materialised.assign(n, 0);
    f_.kernel_of.assign(n, -1);
    find_needed();
    f_.repeats = find_repeats(t_, needed_);
    tie_dimensions();
    choose_materialised();
    assign_kernels();
    f_.tied = std::move(parent_);
    f_.needed = std::move(needed_);
    return std::move(f_);
  }

 private:
  const Value& at(uint32_t v) const { return t_.values[v]; }
  OpKind kind(uint32_t v) const { return kind_of(at(v).op); }
  bool exists(uint32_t v) const { return at(v).op == Op::leaf || f_.materialised[v]; }
  static bool always_materialised(OpKind k) {
    return k == OpKind::reduce || k == OpKind::scan || k == OpKind::contract || k == OpKind::update;
  }

  // A general reshape reads its operand as packed memory. A leaf that is not packed (or of which nothing may
  // be assumed) is copied first. Pointwise operands whose own leaves are packed and not broadcast need no
  // memory: `flat`.
  void pack_reshaped_operands() {
    const auto count = static_cast<uint32_t>(t_.values.size());
    flat_.assign(count, 0);
    std::vector<uint32_t> copy_of(count, kNone);
    for (uint32_t v = 0; v < count; ++v) {
      Value& x = t_.values[v];
      const OpKind k = kind_of(x.op);
      if (k == OpKind::leaf) flat_[v] = !strict_ && t_.node(v).contiguous;
      else if (k == OpKind::constant) flat_[v] = 1;
      else if (k == OpKind::pointwise) {
        flat_[v] = 1;
        for (int i = 0; i < x.arity; ++i) {
          const uint32_t o = x.operand[i];
          flat_[v] &= flat_[o] && (at(o).extents == 0 || same_index(t_, o, v));
        }
      } else if (x.op == Op::reshape) {
        const uint32_t o = x.operand[0];
        if (!is_unit_reshape(t_.node(v))) {
          if (at(o).op == Op::leaf && !flat_[o]) {
            if (copy_of[o] == kNone) copy_of[o] = t_.append_copy(o);
            t_.values[v].operand[0] = copy_of[o];
          }
          flat_[v] = 1;
        } else {
          flat_[v] = flat_[o];
        }
      } else if (always_materialised(k)) {
        flat_[v] = 1;
        if (k == OpKind::update && at(x.operand[0]).op == Op::leaf && !flat_[x.operand[0]]) {
          const uint32_t o = x.operand[0];
          if (copy_of[o] == kNone) copy_of[o] = t_.append_copy(o);
          t_.values[v].operand[0] = copy_of[o];
        }
      }
    }
    flat_.resize(t_.values.size(), 0);  // a copy is packed because it is put into memory, and only then
    // Copies were appended, but are read by earlier values: visit them first.
    for (uint32_t v = count; v < t_.values.size(); ++v) order_.push_back(v);
    std::vector<uint32_t> copy_before(count, kNone);
    for (uint32_t v = 0; v < count; ++v) {
      if (kind(v) != OpKind::contract || !packs_right_side(v)) continue;
      const uint32_t o = at(v).operand[1], copy = t_.append_copy(o);
      t_.values[v].operand[1] = copy;
      transposed_.push_back(copy);
      if (at(o).op == Op::leaf) order_.push_back(copy);
      else copy_before[v] = copy;
    }
    for (uint32_t v = 0; v < count; ++v) {
      if (copy_before[v] != kNone) order_.push_back(copy_before[v]);
      order_.push_back(v);
    }
    flat_.resize(t_.values.size(), 0);
  }
  /// A stack of matrices that a product reads transposed, as the keys of an attention: its rows are taken
  /// block by block, and the transposition should not be done again for each block.
  bool packs_right_side(uint32_t v) const {
    const Shape& left = t_.shape(at(v).operand[0]);
    uint32_t o = at(v).operand[1];
    if (left[left.size() - 2] == 1 || at(o).extents < 3) return false;
    int column = t_.shape(o).size() - 1;
    for (; at(o).op == Op::permute; o = at(o).operand[0]) column = static_cast<int>(t_.node(o).axes[column]);
    if (at(o).op == Op::leaf && !t_.node(o).contiguous) return t_.node(o).strides[column] != 1;
    return column != t_.shape(o).size() - 1;
  }

  void find_needed() {
    needed_.assign(t_.values.size(), 0);
    for (size_t i = order_.size(); i-- > 0;) {
      const uint32_t v = order_[i];
      const uint32_t kept = t_.same_as[v];
      if (!at(v).output) continue;
      needed_[kept] = 1;
      if (kept != v && at(kept).op != Op::leaf) t_.values[kept].output = true;
    }
    for (size_t i = order_.size(); i-- > 0;) {
      const uint32_t v = order_[i];
      if (!needed_[v]) continue;
      for (int k = 0; k < at(v).arity; ++k) needed_[at(v).operand[k]] = 1;
    }
  }

  // Dimension classes: two dimensions are of one class if some op's own rule makes their extents equal.
  uint32_t root(uint32_t d) {
    while (parent_[d] != d) d = parent_[d] = parent_[parent_[d]];
    return d;
  }
  void tie(uint32_t a, uint32_t b) { parent_[root(b)] = root(a); }
  uint32_t dim(uint32_t v, int i) const { return v * kMaxRank + static_cast<uint32_t>(i); }

  void tie_dimensions() {
    parent_.resize(t_.values.size() * kMaxRank);
    for (uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
    for (uint32_t v : order_) {
      const Value& x = at(v);
      const Shape& s = t_.shape(v);
      const Node& n = t_.node(v);
      switch (kind(v)) {
        case OpKind::pointwise:
          for (int k = 0; k < x.arity; ++k) tie_aligned(x.operand[k], v);
          break;
        case OpKind::view:
          if (x.op == Op::broadcast) tie_aligned(x.operand[0], v);
          if (x.op == Op::permute)
            for (int i = 0; i < s.size(); ++i) tie(dim(v, i), dim(x.operand[0], static_cast<int>(n.axes[i])));
          if (x.op == Op::window)
            for (int i = 0; i < t_.shape(x.operand[0]).size(); ++i)
              if (std::find(n.axes.begin(), n.axes.end(), i) == n.axes.end())
                tie(dim(v, i), dim(x.operand[0], i));
          if (x.op == Op::slice)
            for (int i = 0; i < s.size(); ++i)
              if (n.axes[i]) tie(dim(v, i), dim(x.operand[0], i));
          if (is_unit_reshape(n)) {
            const Shape& from = t_.shape(x.operand[0]);
            int j = 0;
            for (int i = 0; i < s.size(); ++i) {
              if (s[i] == 1) continue;
              while (from[j] == 1) ++j;
              tie(dim(v, i), dim(x.operand[0], j++));
            }
          }
          break;
        case OpKind::reduce:
        case OpKind::scan:
        case OpKind::update:
          for (int i = 0; i < s.size(); ++i)
            if (s[i] != 1) tie(dim(v, i), dim(x.operand[0], i));
          break;
        case OpKind::contract: {
          for (int k = 0; k < 2; ++k) {
            const uint32_t o = x.operand[k];
            const int lead = s.size() - t_.shape(o).size();
            for (int i = 0; i < t_.shape(o).size() - 2; ++i)
              if (t_.shape(o)[i] != 1) tie(dim(v, lead + i), dim(o, i));
          }
          const int ra = t_.shape(x.operand[0]).size(), rb = t_.shape(x.operand[1]).size();
          tie(dim(v, s.size() - 2), dim(x.operand[0], ra - 2));
          tie(dim(v, s.size() - 1), dim(x.operand[1], rb - 1));
          tie(dim(x.operand[0], ra - 1), dim(x.operand[1], rb - 2));
          break;
        }
        default: break;
      }
    }
  }
  void tie_aligned(uint32_t o, uint32_t v) {
    const Shape &from = t_.shape(o), &to = t_.shape(v);
    const int lead = to.size() - from.size();
    for (int i = 0; i < from.size(); ++i)
      if (from[i] != 1) tie(dim(v, lead + i), dim(o, i));
  }

  // A number for `form` and the classes of a shape's extents other than 1. `axis`: where a reduction runs.
  uint32_t space(uint32_t v, char form, int axis = -1) {
    uint32_t words[2 + kMaxRank] = {static_cast<uint32_t>(form)};
    size_t count = 1;
    for (int i = 0; i < at(v).rank; ++i) {
      if (at(v).ones >> i & 1) continue;
      words[count++] = root(dim(v, i));
      if (i == axis) words[count++] = kNone;
    }
    return spaces_.intern({words, count}).first;
  }
  // Likewise for a space that is value `v`'s alone, read from the space `of`.
  uint32_t own_space(uint32_t v, char form, uint32_t of = kNone) {
    const uint32_t words[] = {static_cast<uint32_t>(form), v, of};
    return spaces_.intern(words).first;
  }

  /// Whether `axis` of `o` is the innermost whose extent is not 1.
  bool is_last_axis(uint32_t o, int64_t axis) const {
    const Shape& s = t_.shape(o);
    int last = s.size() - 1;
    while (last > 0 && s[last] == 1) --last;
    return axis == last;
  }

  // Where a pointwise value is read at fewer indices than its reader has: computing it there repeats work.
  bool broadcasts_up(uint32_t o, uint32_t user) const {
    return kind(user) == OpKind::pointwise && at(o).extents < at(user).extents;
  }

  void choose_materialised() {
    const size_t n = t_.values.size();
    auto& mat = f_.materialised;
    for (uint32_t v : order_) {
      if (!needed_[v]) continue;
      const OpKind k = kind(v);
      if (always_materialised(k)) mat[v] = 1;
      if (at(v).output && t_.same_as[v] == v && (k == OpKind::pointwise || is_source(at(v).op))) mat[v] = 1;
    }
    for (uint32_t v : transposed_) mat[v] = needed_[v];
    mark_operands_that_must_exist();

    // How a value is used, by kernels that it may be inlined into: by a reduction along its last axis; at
    // another index.
    constexpr uint8_t kInRow = 1, kMoved = 2;
    std::vector<uint8_t> used(n, 0);
    // Homes: the kernel that a value would be inlined into, or kMany. Non-identity views make a home of their
    // own.
    constexpr uint32_t kUnset = kNone, kMany = kNone - 1;
    std::vector<uint32_t> home(n, kUnset);
    std::vector<uint32_t> last_use(n, 0), position(n, 0), views(n, 0);
    std::vector<uint32_t> map_spaces;
    uint32_t ops = 0;
    for (uint32_t v : order_)
      if (needed_[v]) position[v] = kind(v) == OpKind::pointwise && is_code(v) ? ops++ : ops;
    for (size_t i = order_.size(); i-- > 0;) {
      const uint32_t v = order_[i];
      if (!needed_[v]) continue;
      const OpKind k = kind(v);
      uint32_t mine = home[v];
      if (mat[v] || (at(v).output && k == OpKind::view)) {
        if (k == OpKind::pointwise || is_source(at(v).op)) map_spaces.push_back(mine = space(v, 'm'));
        else if (k == OpKind::reduce)
          mine = space(at(v).operand[0], 'r', static_cast<int>(t_.node(v).axes[0]));
        else mine = own_space(v, 'v');
      } else if (k == OpKind::view && !is_identity_view(t_, v)) {
        mine = own_space(v, 'w', mine);
      }
      for (int j = 0; j < at(v).arity; ++j) {
        const uint32_t o = at(v).operand[j];
        uint32_t h = mine;
        if (k == OpKind::pointwise && !same_index(t_, o, v))
          h = kMany - 1 - mine % 1024;  // broadcast: another index map
        const bool same =
            k == OpKind::pointwise ? same_index(t_, o, v) : k == OpKind::view && is_identity_view(t_, v);
        if (k == OpKind::reduce && is_last_axis(o, t_.node(v).axes[0])) used[o] |= kInRow;
        else if (!same) used[o] |= kMoved;
        else if (!mat[v]) used[o] |= used[v];
        if (home[o] == kUnset) home[o] = h;
        else if (home[o] != h) home[o] = kMany;
        last_use[o] = std::max(last_use[o], position[v]);
      }
    }

    materialise_results_of_repeats(home, map_spaces);

    std::vector<uint32_t> cost(n, 0);
    making_.assign(n, 0);
    std::vector<uint8_t> after_reduction(n, 0);
    for (uint32_t v : order_) {
      if (!needed_[v]) continue;
      const Value& x = at(v);
      const OpKind k = kind(v);
      if (k == OpKind::leaf || is_source(x.op)) {
        cost[v] = x.op != Op::iota;  // an index is at hand
        continue;
      }
      uint32_t c = k == OpKind::pointwise ? cost_of(x.op) : 0;
      for (int i = 0; i < x.arity; ++i) {
        const uint32_t o = x.operand[i];
        if (kind(o) == OpKind::pointwise && !mat[o] && broadcasts_up(o, v) &&
            (after_reduction[o] || (at(o).extents > 0 && cost[o] > 4))) {
          mat[o] = 1;
          cost[o] = 1;
        }
        c = std::min(kMaxCost, c + cost[o]);
        views[v] = std::max(views[v], views[o] + (k == OpKind::view && !is_identity_view(t_, v)));
        after_reduction[v] |= after_reduction[o];
      }
      cost[v] = c;
      if (k == OpKind::reduce) after_reduction[v] = 1;
      if (k == OpKind::pointwise && !mat[v] && !is_inside(v)) {
        const bool row = used[v] == kInRow && at(v).extents > 1;
        const bool many = home[v] == kMany && c > (row ? kRowReloadCost : kReloadCost);
        const bool cut = ops > kMaxBody && last_use[v] / kMaxBody != position[v] / kMaxBody;
        if (many || cut || views[v] > kMaxViews) mat[v] = 1;
      }
      making_[v] = c;
      if (mat[v]) {
        cost[v] = 1;
        views[v] = 0;
      }
    }
    // Should a value inside of a repeat be wanted in memory after all, it is no repeat.
    std::erase_if(f_.repeats, [&](const TraceRepeat& r) {
      return std::any_of(mat.begin() + r.first, mat.begin() + r.last(), [](uint8_t m) { return m != 0; });
    });
    chunk_.assign(n, 0);
    if (ops > kMaxBody)
      for (uint32_t v : order_) chunk_[v] = position[v] / kMaxBody;
    // Outputs that are views of something that exists share its memory; the others are computed like
    // pointwise values.
    for (uint32_t v : order_)
      if (needed_[v] && at(v).output && t_.same_as[v] == v && kind(v) == OpKind::view)
        mat[v] = mat[v] || !is_alias(v);  // what an update starts from must exist itself
  }

  /// Whether code is made for v: of a repeat only the first iteration counts.
  bool is_code(uint32_t v) const {
    const TraceRepeat* r = repeat_of(f_, v);
    return !r || v < r->first + r->period;
  }
  /// A value of a repeat that nothing outside reads.
  bool is_inside(uint32_t v) const {
    const TraceRepeat* r = repeat_of(f_, v);
    return r && v < r->last();
  }

  // A repeat is computed in one map kernel: its results are put into memory unless only that one reads them.
  void materialise_results_of_repeats(const std::vector<uint32_t>& home, std::vector<uint32_t>& map_spaces) {
    if (f_.repeats.empty()) return;
    auto& mat = f_.materialised;
    std::vector<uint8_t> result(t_.values.size(), 0);
    for (uint32_t v : order_)
      for (int i = 0; needed_[v] && i < at(v).arity; ++i) {
        const uint32_t o = at(v).operand[i];
        const TraceRepeat* r = repeat_of(f_, o);
        if (r && r != repeat_of(f_, v)) result[o] = 1;
      }
    std::sort(map_spaces.begin(), map_spaces.end());
    for (const TraceRepeat& r : f_.repeats) {
      uint32_t where = kNone;
      bool alone = true;
      for (uint32_t v = r.last(); v < r.end(); ++v) {
        if (!mat[v] && !result[v]) continue;
        const uint32_t mine = mat[v] ? space(v, 'm') : home[v];
        alone &= mat[v] || std::binary_search(map_spaces.begin(), map_spaces.end(), mine);
        alone &= where == kNone || where == mine;
        where = mine;
      }
      for (uint32_t v = r.last(); v < r.end() && !alone; ++v)
        if (result[v] && kind(v) == OpKind::pointwise) mat[v] = 1;
    }
  }

  bool is_alias(uint32_t v) const {
    const uint32_t o = at(v).operand[0];
    if (at(v).op == Op::reshape && !is_unit_reshape(t_.node(v)))
      return exists(o);  // packed: see pack_reshaped_operands
    if (kind(o) == OpKind::view && !f_.materialised[o]) return is_alias(o);
    return exists(o);
  }

  // Operands that a kernel can only read from memory.
  void mark_operands_that_must_exist() {
    auto& mat = f_.materialised;
    std::vector<uint8_t> has_iota(t_.values.size(), 0);
    for (uint32_t v : order_) {
      if (!needed_[v]) continue;
      const Value& x = at(v);
      const OpKind k = kind(v);
      if (x.op == Op::iota) has_iota[v] = 1;
      if (k == OpKind::pointwise || k == OpKind::view)
        for (int i = 0; i < x.arity; ++i) has_iota[v] |= has_iota[x.operand[i]] && !mat[x.operand[i]];
      if (k == OpKind::view) {
        uint32_t o = x.operand[0];
        const bool general = x.op == Op::reshape && !is_unit_reshape(t_.node(v));
        // A reshape reads packed memory; an index along an axis can't be sliced, cut or reshaped, only moved
        // and broadcast.
        if ((general && !flat_[o] && at(o).op != Op::leaf) ||
            (has_iota[o] && (general || x.op == Op::slice || x.op == Op::window))) {
          mat[o] = 1;
          has_iota[v] = 0;
        }
      }
      if (k == OpKind::contract)  // read many times each: only casts and views are done on the way
        for (int i = 0; i < 2; ++i) {
          uint32_t o = x.operand[i];
          while (!mat[o] && (kind(o) == OpKind::view || at(o).op == Op::cast) && !repeat_of(f_, o))
            o = at(o).operand[0];
          if (at(o).op != Op::leaf) mat[o] = 1;
        }
      if (k == OpKind::update && at(x.operand[0]).op != Op::leaf) mat[x.operand[0]] = 1;
    }
  }

  // need: the first kernel in which a value can be used at the same index, and at any index (its makers must
  // be done).
  struct Need {
    int same = 0, any = 0;
  };
  void assign_kernels() {
    std::vector<Need> need(t_.values.size());
    wide_.assign(t_.values.size(), 0);
    repeats_.assign(t_.values.size(), 0);
    for (uint32_t v : order_) {
      if (!needed_[v] || at(v).op == Op::leaf) continue;
      const Value& x = at(v);
      const OpKind k = kind(v);
      Need mine;
      const bool moves = k == OpKind::view ? !is_identity_view(t_, v) : k != OpKind::pointwise;
      for (int i = 0; i < x.arity; ++i) {
        const uint32_t o = x.operand[i];
        const bool same = !moves && (k != OpKind::pointwise || same_index(t_, o, v));
        mine.same = std::max(mine.same, same ? need[o].same : need[o].any);
        mine.any = std::max(mine.any, need[o].any);
        wide_[v] |= !exists(o) && wide_[o];
        repeats_[v] |= !exists(o) && repeats_[o];
      }
      wide_[v] |= size_of(x.dtype) == 8;
      repeats_[v] |= repeat_of(f_, v) != nullptr;
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
                                    : k == OpKind::update ? x.operand[1]
                                                          : v,
                                    k == OpKind::scan ? static_cast<int>(t_.node(v).axes[0]) : -1)
                        : map_kernel(v, mine);
      if (k == OpKind::contract) latest(space(v, 'k')) = g;
      f_.groups[static_cast<size_t>(g)].roots.push_back(v);
      f_.kernel_of[v] = g;
      need[v] = {g, g + 1};
    }
  }
  int new_group(Group::Kind kind, uint32_t space, int axis) {
    f_.groups.push_back({kind, space, axis, {}});
    return static_cast<int>(f_.groups.size()) - 1;
  }
  // By space, the latest map kernel ('m'), the latest reduction of that operand and axis ('r'), the latest
  // reduction with results of that space ('k'); -1 if there is none.
  int& latest(uint32_t space) {
    if (space >= latest_.size()) latest_.resize(spaces_.size(), -1);
    return latest_[space];
  }
  /// `operand`: in which kernels what is reduced can be computed.
  int reduction_kernel(uint32_t v, Need operand) {
    const uint32_t o = at(v).operand[0];
    const int axis = static_cast<int>(t_.node(v).axes[0]);
    const uint32_t key = space(o, 'r', axis);
    if (const int found = latest(key); found >= operand.same && has_room(found, v)) return found;
    // Values of the same space that exist anyway are made, and stored, on the way along the row.
    int g = is_last_axis(o, axis) ? latest(space(o, 'm')) : -1;
    if (g >= operand.same && has_room(g, v) && f_.groups[static_cast<size_t>(g)].kind == Group::Kind::map) {
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
  int map_kernel(uint32_t v, Need need) {
    const int reduction = latest(space(v, 'k'));
    if (reduction >= 0 && reduction == need.same && has_room(reduction, v) && !repeats_[v] &&
        suits_epilogue(v, reduction))
      return reduction;
    const uint32_t key = space(v, 'm');
    const int found = latest(key);
    if (found >= need.same && has_room(found, v)) return found;
    return latest(key) = new_group(Group::Kind::map, v, -1);
  }
  /// A product's epilogue is in no wider lanes than the product, or that would have half as many; one of
  /// single lanes is short.
  bool suits_epilogue(uint32_t v, int g) const {
    const Group& group = f_.groups[static_cast<size_t>(g)];
    if (group.kind == Group::Kind::reduce && is_last_axis(group.space, group.axis))
      return making_[v] <= kLaneCost || at(v).extents == 0;
    return group.kind != Group::Kind::contract || !wide_[v] || size_of(at(group.roots[0]).dtype) == 8;
  }
  bool has_room(int g, uint32_t v) const {
    const auto& roots = f_.groups[static_cast<size_t>(g)].roots;
    return roots.size() < 64 && chunk_[roots[0]] == chunk_[v];
  }

  Trace& t_;
  const bool strict_;
  Fusion f_;
  std::vector<uint32_t> order_, transposed_;
  std::vector<uint8_t> flat_, needed_;
  std::vector<uint8_t> wide_;     // by value: computing it where it is inlined takes lanes of 64 bits
  std::vector<uint8_t> repeats_;  // by value: computing it where it is inlined takes a repeat
  std::vector<uint32_t> parent_, chunk_;
  std::vector<uint32_t> making_;  // by value: the cost of computing it from what is in memory
  Interner spaces_;
  std::vector<int> latest_;  // kernels by space
};

}  // namespace

bool same_index(const Trace& t, uint32_t v, uint32_t user) {
  // Broadcasting only ever adds extents, so equal counts mean the same extents.
  return t.values[v].extents == t.values[user].extents;
}

bool is_identity_view(const Trace& t, uint32_t w) {
  const Node& n = t.node(w);
  const uint32_t o = t.values[w].operand[0];
  switch (t.values[w].op) {
    case Op::reshape: return is_unit_reshape(n);
    case Op::broadcast: return same_index(t, o, w);
    case Op::slice:
      return std::all_of(n.axes.begin(), n.axes.end(), [](int64_t whole) { return whole != 0; });
    case Op::permute: {
      int64_t last = -1;  // extents other than 1 keep their order
      for (int i = 0; i < n.shape.size(); ++i) {
        if (n.shape[i] == 1) continue;
        if (n.axes[i] < last) return false;
        last = n.axes[i];
      }
      return true;
    }
    default: return false;
  }
}

Fusion fuse(Trace& t, bool strict_layout) { return Fuser(t, strict_layout).run(); }

}  // namespace lazy::jit
