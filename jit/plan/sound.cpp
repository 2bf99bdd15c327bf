// Checks of a program that was read from disk.
#include <algorithm>

#include "jit/core/op.hpp"
#include "jit/key/key.hpp"
#include "jit/plan/program_fields.hpp"

namespace lazy::jit {
namespace {

class Soundness {
 public:
  Soundness(const Program& p, std::span<const uint32_t> key) : p_(p) {
    KeyReader r(key);
    for (KeyValue v; r.next(v);) ranks_.push_back(v.rank);
    good_ = !key.empty() && r.ok();
  }

  bool run() {
    require(!p_.paths.empty());
    for (size_t i = 1; i < p_.paths.size(); ++i) require(p_.paths[i].parent < i && value(p_.paths[i].node));
    for (const Slot& s : p_.slots) {
      for (const uint32_t other : s.other_inputs) require(value(other));
      require(value(s.node) && dtype(s.dtype) && slot_or_none(s.donor_slot) && value_or_none(s.donor_input) &&
              (s.workspace_of == kNone ||
               (s.workspace_of < p_.steps.size() && p_.steps[s.workspace_of].call.spec)));
    }
    for (const Step& s : p_.steps) step(s);
    bool ahead = true;  // of the steps from here to the last
    for (size_t i = p_.steps.size(); i-- > 0;) {
      ahead = ahead && p_.steps[i].ahead_of != kNone;
      require(ahead ? p_.steps[i].ahead_of < i && p_.steps[i].made.empty() : p_.steps[i].ahead_of == kNone);
    }
    for (const Result& r : p_.results)
      require(value(r.node) && path(r.path) && value_or_none(r.input) &&
              (r.input == kNone ? slot(r.slot) : slot_or_none(r.slot)));
    tile_groups(p_.tile_groups, 0, p_.steps.size(), 3);
    for (const Guard& g : p_.guards) guard(g);
    for (const uint32_t f : p_.faults) require(value(f));
    return good_;
  }

 private:
  void require(bool ok) { good_ = good_ && ok; }
  bool value(uint32_t v) const { return v < ranks_.size(); }
  bool value_or_none(uint32_t v) const { return v == kNone || value(v); }
  bool slot(int s) const { return s >= 0 && static_cast<size_t>(s) < p_.slots.size(); }
  bool slot_or_none(int s) const { return s == -1 || slot(s); }
  bool path(uint32_t v) const { return v < p_.paths.size(); }
  static bool dtype(DType t) { return static_cast<int>(t) < kDTypeCount; }
  bool extent(const KernelDim& d) const {
    return d.node == kNone || (value(d.node) && d.dim >= 0 && d.dim < ranks_[d.node]);
  }

  void binding(const Binding& b, size_t dims) {
    require(value(b.node) && slot_or_none(b.slot) && path(b.path) && dtype(b.dtype));
    for (size_t i = 0; i < dims; ++i)
      require(b.dim_of[i] >= Binding::kAbsent && b.dim_of[i] < loop::kMaxAxes);
  }

  void call(const Step& s) {
    const CallStep& c = s.call;
    require(slot(c.workspace) && c.shapes.size() <= s.operands.size() && s.scalars.empty() &&
            s.initial == Initial::none);
    for (uint32_t v : c.shapes) require(value(v));
    for (int o : c.outputs)
      require(o == -1 || (o >= static_cast<int>(c.shapes.size()) && o < static_cast<int>(s.operands.size())));
    for (const Binding& b : s.operands) binding(b, 0);
    for (size_t i = 0; good_ && i < s.operands.size(); ++i)
      require(s.operands[i].output == (i >= c.shapes.size()) &&
              (!s.operands[i].output || slot(s.operands[i].slot)));
    made_and_dead(s);
  }

  void step(const Step& s) {
    if (s.call.spec) return call(s);
    const size_t axes = static_cast<size_t>(s.args.rank);
    require(s.args.rank >= 1 && s.args.rank <= loop::kMaxAxes && s.dims.size() <= loop::kMaxAxes &&
            s.axis_of.size() == s.dims.size() && static_cast<size_t>(s.args.operands) == s.operands.size() &&
            static_cast<size_t>(s.args.scalars) == s.scalars.size() && s.sequential >= -1 &&
            s.sequential < s.args.rank);
    for (const KernelDim& d : s.dims) require(extent(d));
    for (uint8_t a : s.axis_of) require(a < axes);
    if (!good_) return;
    for (const Binding& b : s.operands) binding(b, s.dims.size());
    require(s.initial <= Initial::nothing);
    if (s.initial == Initial::copy) binding(s.initial_from, s.dims.size());
    for (const ScalarArgument& a : s.scalars) scalar(s, a);
    made_and_dead(s);
  }
  void made_and_dead(const Step& s) {
    for (uint32_t v : s.made) require(v < p_.slots.size());
    for (uint32_t v : s.dead) require(v < p_.slots.size());
  }

  void scalar(const Step& s, const ScalarArgument& a) {
    using Source = ScalarArgument::Source;
    require(value_or_none(a.node) && dtype(a.from) && dtype(a.type) && a.source <= Source::fault);
    if (a.source == Source::extent) require(value(a.node) && a.dim < ranks_[a.node]);
    if (a.source == Source::stride) require(a.dim < s.operands.size());
    if (a.source == Source::fault) require(a.value < p_.faults.size());
  }

  void tile_groups(const std::vector<TileGroup>& all, size_t first, size_t last, int depth) {
    require(all.empty() || depth > 0);
    for (const TileGroup& b : all) {
      require(b.first >= first && b.count > 0 && b.count <= last && b.first <= last - b.count &&
              b.levels.size() <= loop::kMaxAxes && b.dim_of.size() == b.count * b.levels.size());
      if (!good_) return;
      first = b.first + b.count;
      for (const KernelDim& d : b.levels) require(extent(d));
      for (size_t i = 0; i < b.dim_of.size(); ++i)
        require(b.dim_of[i] < p_.steps[b.first + i / b.levels.size()].dims.size());
      for (const TileGroup::Source& s : b.sources)
        require(value(s.node) && slot_or_none(s.slot) && dtype(s.dtype));
      for (uint32_t v : b.inner) require(v < p_.slots.size());
      mask(b);
      for (const Skip& s : b.skips) skip(b, s);
      tile_groups(b.parts, b.first, b.first + b.count, depth - 1);
    }
  }

  bool scalar(uint32_t step, size_t i) const {
    return step < p_.steps.size() && i < p_.steps[step].scalars.size();
  }
  void mask(const TileGroup& b) {
    const Mask& m = b.mask;
    if (m.step == kNone) return;
    require(!b.levels.empty() && m.step >= b.first && m.step < b.first + b.count);
    if (!good_) return;
    const Step& step = p_.steps[m.step];
    require(m.dim < step.dims.size() && m.operand < step.operands.size() &&
            is_bool(step.operands[m.operand].dtype));
  }
  void skip(const TileGroup& b, const Skip& s) {
    require(!b.levels.empty() && s.step >= b.first && s.step < b.first + b.count);
    if (!good_) return;
    const Step& step = p_.steps[s.step];
    require(s.dim < step.dims.size() && s.finite >= -1 && s.finite < static_cast<int>(step.operands.size()) &&
            (s.sign == 0 || scalar(s.scalar_step, s.scalar)) && (!s.masked || b.mask.step != kNone) &&
            s.mask >= -1 && s.mask < static_cast<int>(step.operands.size()));
    require(s.sums >= -1 && s.sums < static_cast<int>(step.operands.size()) && (s.sums < 0 || s.finite >= 0));
    for (uint16_t o : s.zeros) require(o < step.operands.size());
    for (const Skip::Needed& n : s.needed) require(scalar(n.step, n.scalar));
  }

  void guard(const Guard& g) {
    using K = Guard::Kind;
    require(static_cast<int>(g.kind) < kGuardKinds && value_or_none(g.node));
    if (!good_) return;
    switch (g.kind) {
      case K::contiguous:
      case K::scalar: return require(value(g.node));
      case K::extent:
      case K::position: return require(value(g.node) && g.dim < ranks_[g.node]);
      default: break;
    }
    require(g.step < p_.steps.size() && g.operand < p_.steps[g.step].operands.size() &&
            g.dim + (g.kind == K::collapsible ? 1u : 0u) < p_.steps[g.step].dims.size());
  }

  const Program& p_;
  std::vector<uint8_t> ranks_;
  bool good_ = true;
};

}  // namespace

bool sound(const Program& p, std::span<const uint32_t> key) { return Soundness(p, key).run(); }

}  // namespace lazy::jit
