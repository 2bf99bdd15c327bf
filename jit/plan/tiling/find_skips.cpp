// Finds which steps of a tile group may leave out half of their box.
#include <algorithm>
#include <optional>

#include "jit/ir/half.hpp"
#include "jit/plan/places.hpp"
#include "jit/plan/tiling/skips.hpp"

namespace lazy::jit {
namespace {

using Needed = std::vector<Skip::Needed>;

/// Describes half of a box, whose axes are a step's or whose dimensions are a slot's. Its scalar is that of a
/// step.
struct Line {
  int a = -1, b = -1;
  int64_t bias = 0;
  int sign = 0;
  uint32_t step = 0;
  uint16_t scalar = 0;
};

/// Holds what is known of a step in a half of its box.
struct StepFacts {
  Line line;
  loop::KnownHalf known;
  Needed needed;  // for what was read to be +0
};
/// Says that the elements of a slot in one half are +0.
struct Zeros {
  Line line;
  Needed needed;
};

class SkipFinder {
 public:
  SkipFinder(const CapturedGraph& f, const std::vector<loop::LoopKernel>& loops, Program& p)
      : f_(f), loops_(loops), p_(p), facts_(p.steps.size()), zeros_(p.slots.size()) {}

  void learn() {
    for (uint32_t i = 0; i < p_.steps.size(); ++i)
      if (!p_.steps[i].call.spec && p_.steps[i].initial == Initial::none && !is_indexed(loops_[i])) learn(i);
  }

  void choose(TileGroup& group) {
    if (group.levels.empty()) return;
    group_ = &group;
    std::vector<std::optional<StepFacts>> found(group.count);
    for (uint32_t i = group.count; i-- > 0;) {
      found[i] = facts_[group.first + i];
      if (!found[i]) found[i] = by_readers(group.first + i, found);
    }
    std::vector<std::optional<Skip>> skips(group.count);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = group.count; i-- > 0;) {
        if (!found[i]) continue;
        skips[i] = skip_of(group.first + i, *found[i], found);
        if (!skips[i]) found[i].reset(), changed = true;
      }
    }
    for (auto& s : skips)
      if (s) group.skips.push_back(std::move(*s));
    if (std::none_of(group.skips.begin(), group.skips.end(),
                     [&](const Skip& s) { return loops_[s.step].form == loop::Form::contract; }))
      group.skips.clear();
  }

  /// Returns a tile group of one step, a product that leaves out part of each row's sum; nothing if it is
  /// none.
  std::optional<TileGroup> alone(uint32_t i) {
    const Step& s = p_.steps[i];
    if (!facts_[i] || loops_[i].form != loop::Form::contract || !facts_[i]->known.neutral) return {};
    const int row = loops_[i].contraction.row;
    TileGroup g;
    g.first = i;
    g.count = 1;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      if (s.axis_of[d] == s.sequential || s.axis_of[d] > row) continue;
      if (s.dims[d].node == kNone) return {};
      g.levels.push_back(s.dims[d]);
      g.dim_of.push_back(static_cast<uint8_t>(d));
    }
    if (row < 0 || g.levels.empty()) return {};
    for (const Binding& b : s.operands) {
      TileGroup::Source source{b.node, b.slot, b.dtype, 0, false};
      for (size_t l = 0; l < g.levels.size(); ++l)
        if (b.dim_of[g.dim_of[l]] != Binding::kAbsent) source.moves |= 1u << l;
      source.matrix = !b.output && b.dim_of[g.dim_of.back()] == Binding::kAbsent;
      g.sources.push_back(source);
    }
    choose(g);
    if (g.skips.empty()) return {};
    return g;
  }
  /// True if a half of any of these steps' boxes is known to add nothing.
  bool knows_any(uint32_t first, uint32_t last) const {
    return std::any_of(facts_.begin() + first, facts_.begin() + last,
                       [](auto& f) { return f && f->known.neutral; });
  }
  /// True if any of the steps outside these tile groups can be one alone.
  bool alone_outside(const std::vector<TileGroup>& groups, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; ++i)
      if (std::none_of(groups.begin(), groups.end(), [&](auto& g) { return i - g.first < g.count; }) &&
          alone(i))
        return true;
    return false;
  }

 private:
  /// Returns the only dimension of an axis; -1 if there are several, or none.
  int dim_of_axis(const Step& s, int axis) const {
    const auto n = std::count(s.axis_of.begin(), s.axis_of.end(), axis);
    const auto at = std::find(s.axis_of.begin(), s.axis_of.end(), axis) - s.axis_of.begin();
    return n == 1 && s.dims[static_cast<size_t>(at)].node != kNone ? static_cast<int>(at) : -1;
  }
  /// Returns, by dimension of the step, 1 + the dimension of the operand's buffer that it walks, or 0.
  std::vector<int> places(const Step& s, const Binding& b) const {
    const Dims of = places_along(p_, f_, b.path, f_.values[b.node]->shape, AtReshape::leading).of;
    std::vector<int> r(s.dims.size(), 0);
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (const int8_t at = b.dim_of[d]; at != Binding::kAbsent && at < of.size() && of[at] > 0)
        r[d] = static_cast<int>(of[at]);
    return r;
  }
  /// Returns the line with axes of the step in place of the buffer's dimensions.
  std::optional<Line> seen_by(const Step& s, const Binding& b, Line line) const {
    const std::vector<int> place = places(s, b);
    const auto axis = [&](int dim) {
      const auto at = std::find(place.begin(), place.end(), dim) - place.begin();
      if (at == static_cast<ptrdiff_t>(place.size())) return -1;
      const int a = s.axis_of[static_cast<size_t>(at)];
      return dim_of_axis(s, a) < 0 ? -1 : a;
    };
    line.a = axis(line.a), line.b = axis(line.b);
    if (line.a < 0 || line.b < 0) return {};
    return line;
  }
  /// Returns the line with the buffer's dimensions in place of the step's axes; nothing if the operand does
  /// not move along both.
  std::optional<Line> seen_in(const Step& s, const Binding& b, Line line) const {
    const int a = dim_of_axis(s, line.a), c = dim_of_axis(s, line.b);
    if (a < 0 || c < 0) return {};
    const std::vector<int> place = places(s, b);
    line.a = place[static_cast<size_t>(a)], line.b = place[static_cast<size_t>(c)];
    if (line.a == 0 || line.b == 0) return {};
    return line;
  }
  bool same(const Line& x, const Line& y) const {
    if (x.a != y.a || x.b != y.b || x.bias != y.bias || x.sign != y.sign) return false;
    if (x.sign == 0) return true;
    const ScalarArgument &s = p_.steps[x.step].scalars[x.scalar], &t = p_.steps[y.step].scalars[y.scalar];
    return s.source == ScalarArgument::Source::constant && s.source == t.source && s.node == t.node &&
           s.value == t.value && s.type == t.type;
  }

  /// Evaluates the step in a half.
  StepFacts evaluate(uint32_t i, const Line& line) const {
    const Step& s = p_.steps[i];
    StepFacts r{line, {}, {}};
    std::vector<uint8_t> zero(s.operands.size(), 0);
    for (size_t o = 0; o < s.operands.size(); ++o) {
      const Binding& b = s.operands[o];
      if (b.output || b.slot < 0 || !zeros_[static_cast<size_t>(b.slot)]) continue;
      const Zeros& z = *zeros_[static_cast<size_t>(b.slot)];
      const auto seen = seen_by(s, b, z.line);
      if (!seen || !same(*seen, line)) continue;
      zero[o] = 1;
      r.needed.insert(r.needed.end(), z.needed.begin(), z.needed.end());
    }
    loop::Half half{static_cast<int8_t>(line.a), static_cast<int8_t>(line.b), 0, 0, line.bias};
    // A comparison in this kernel is known only if its scalar is this kernel's.
    if (line.sign != 0) {
      half.sign = static_cast<int8_t>(line.sign);
      half.scalar = loop::kNoValue;
      for (uint16_t k = 0; k < s.scalars.size(); ++k)
        if (Line other = line; other.step = i, other.scalar = k, same(other, line)) half.scalar = k;
    }
    r.known = loop::known_in(loops_[i], half, zero);
    return r;
  }

  void learn(uint32_t i) {
    const Step& s = p_.steps[i];
    std::vector<Line> lines;
    for (const Binding& b : s.operands)
      if (!b.output && b.slot >= 0 && zeros_[static_cast<size_t>(b.slot)])
        if (const auto line = seen_by(s, b, zeros_[static_cast<size_t>(b.slot)]->line))
          lines.push_back(*line);
    for (const loop::Half& h : loop::halves_of(loops_[i]))
      if (dim_of_axis(s, h.a) >= 0 && dim_of_axis(s, h.b) >= 0)
        lines.push_back({h.a, h.b, h.bias, h.sign, i, h.scalar});
    for (const Line& line : lines) {
      StepFacts r = evaluate(i, line);
      bool useful = r.known.neutral;
      for (const loop::Store& st : loops_[i].stores) {
        const loop::Known known = r.known.values[st.value];
        const auto in = seen_in(s, s.operands[st.operand], line);
        if (!in || (known == loop::Known::unknown || known == loop::Known::yes)) continue;
        useful = true;
        Zeros z{*in, r.needed};
        if (known == loop::Known::scalar) z.needed.push_back({i, r.known.scalars[st.value], false});
        if (const int slot = s.operands[st.operand].slot; slot >= 0) zeros_[static_cast<size_t>(slot)] = z;
      }
      if (!useful) continue;
      facts_[i] = std::move(r);
      return;
    }
  }

  /// True if no step outside the tile group, and no tensor, has the slot's value. (It may be no inner one,
  /// where another value takes over its memory.)
  bool is_private(int slot) const {
    if (slot < 0 || p_.slots[static_cast<size_t>(slot)].kept) return false;
    for (uint32_t i = 0; i < p_.steps.size(); ++i) {
      const Step& s = p_.steps[i];
      if (i - group_->first < group_->count) continue;
      if (s.initial == Initial::copy && s.initial_from.slot == slot) return false;
      for (const Binding& b : s.operands)
        if (b.slot == slot) return false;
    }
    return std::none_of(p_.results.begin(), p_.results.end(),
                        [&](const Result& r) { return r.slot == slot; });
  }

  /// Finds a half of a step's box that a later one leaves out of what it reads.
  std::optional<StepFacts> by_readers(uint32_t i, const std::vector<std::optional<StepFacts>>& found) const {
    const Step& s = p_.steps[i];
    for (const loop::Store& st : loops_[i].stores) {
      const Binding& out = s.operands[st.operand];
      if (!is_private(out.slot)) continue;
      for (uint32_t r = i + 1; r < group_->first + group_->count; ++r) {
        const auto& facts = found[r - group_->first];
        if (!facts) continue;
        for (const Binding& b : p_.steps[r].operands) {
          if (b.output || b.slot != out.slot) continue;
          const auto in = seen_in(p_.steps[r], b, facts->line);
          const auto line = in ? seen_by(s, out, *in) : std::nullopt;
          if (line) return evaluate(i, *line);
        }
      }
    }
    return {};
  }

  /// True if every step of the group that reads the slot leaves out this half of it.
  bool read_by_nobody(const Binding& out, const Line& line,
                      const std::vector<std::optional<StepFacts>>& found) const {
    if (!is_private(out.slot)) return false;
    for (uint32_t r = group_->first; r < group_->first + group_->count; ++r)
      for (const Binding& b : p_.steps[r].operands) {
        if (b.output || b.slot != out.slot) continue;
        const auto& facts = found[r - group_->first];
        const auto in = facts ? seen_in(p_.steps[r], b, facts->line) : std::nullopt;
        if (!in || !same(*in, line)) return false;
      }
    return true;
  }

  /// Returns how a step leaves out its half; nothing if it can't.
  std::optional<Skip> skip_of(uint32_t i, const StepFacts& facts,
                              const std::vector<std::optional<StepFacts>>& found) const {
    const Step& s = p_.steps[i];
    const loop::LoopKernel& k = loops_[i];
    const size_t levels = group_->levels.size();
    const int level = s.axis_of[group_->dim_of[(i - group_->first) * levels + levels - 1]];
    const Line& line = facts.line;
    if ((level != line.a && level != line.b) || dim_of_axis(s, level) < 0) return {};
    const int other = level == line.a ? line.b : line.a, dim = dim_of_axis(s, other);
    if (dim < 0) return {};
    for (size_t l = 0; l + 1 < levels; ++l)
      if (s.axis_of[group_->dim_of[(i - group_->first) * levels + l]] == other) return {};
    Skip skip;
    skip.step = i;
    skip.dim = static_cast<uint8_t>(dim);
    skip.before = level == line.a;
    skip.sign = static_cast<int8_t>(skip.before ? -line.sign : line.sign);
    skip.bias = skip.before ? -line.bias : line.bias;
    skip.scalar = line.scalar, skip.scalar_step = line.step;
    loop::KnownHalf known = facts.known;
    if (k.sequential == other && !known.neutral) return {};
    if (k.form == loop::Form::scan || k.form == loop::Form::scatter) return {};
    if (!stores(i, line, known, found, skip)) return {};
    skip.needed = facts.needed;
    for (const uint16_t z : known.zeros) skip.needed.push_back({i, z, false});
    for (const uint16_t z : known.lowest) skip.needed.push_back({i, z, true});
    if (k.sequential == other && k.form == loop::Form::contract) {
      const uint16_t right = k.body[k.contraction.right.load].imm;
      if (const int slot = s.operands[right].slot; slot >= 0)
        for (uint32_t t = group_->first; t < group_->first + group_->count; ++t)
          for (const uint32_t made : p_.steps[t].made)
            if (static_cast<int>(made) == slot) return {};
      if (s.dims.size() != levels + 2) return {};
      skip.finite = static_cast<int16_t>(right);
      if (!skip.before && known.signs == loop::KnownHalf::Signs::lost) return {};
      if (!skip.before && known.signs == loop::KnownHalf::Signs::stored)
        for (const loop::Store& st : k.stores)
          if (k.body[st.value].code == loop::Code::result) skip.sums = static_cast<int16_t>(st.operand);
    }
    return skip;
  }

  /// True if what the step stores in the half is read by nobody, or +0: then that is noted.
  bool stores(uint32_t i, const Line& line, loop::KnownHalf& known,
              const std::vector<std::optional<StepFacts>>& found, Skip& skip) const {
    const Step& s = p_.steps[i];
    for (const loop::Store& st : loops_[i].stores) {
      const Binding& out = s.operands[st.operand];
      if (out.dim_of[skip.dim] == Binding::kAbsent) {
        // A single result stands for all that is left out: it is that of a reduction.
        if (s.axis_of[skip.dim] != s.sequential) return false;
        continue;
      }
      const auto in = seen_in(s, out, line);
      if (in && read_by_nobody(out, *in, found)) continue;
      const size_t parallel = group_->levels.size() + 1;
      const bool summed = s.sequential >= 0 && s.axis_of[skip.dim] != s.sequential;
      if (!known.is_zero(st.value) || s.dims.size() != parallel + (summed ? 1 : 0)) return false;
      skip.zeros.push_back(st.operand);
    }
    return true;
  }

  const CapturedGraph& f_;
  const std::vector<loop::LoopKernel>& loops_;
  Program& p_;
  std::vector<std::optional<StepFacts>> facts_;  // by step
  std::vector<std::optional<Zeros>> zeros_;      // by slot
  TileGroup* group_ = nullptr;
};

}  // namespace

void find_skips(const CapturedGraph& f, const std::vector<loop::LoopKernel>& loops, const Regroup& regroup,
                Program& p) {
  SkipFinder finder(f, loops, p);
  finder.learn();
  std::vector<TileGroup> all;
  uint32_t next = 0;  // step
  const auto alone_before = [&](uint32_t end) {
    for (; next < end; ++next)
      if (auto group = finder.alone(next)) all.push_back(std::move(*group));
  };
  const auto add = [&](TileGroup& group) {
    alone_before(group.first);
    next += group.count;
    all.push_back(std::move(group));
  };
  for (TileGroup& group : p.tile_groups) {
    const uint32_t first = group.first, end = first + group.count;
    finder.choose(group);
    // The side of a product may have been laid out for it by a step that has no rows (find_tile_groups.cpp).
    for (uint32_t from = first + 1; group.skips.empty() && from < end && finder.knows_any(first, end);
         ++from) {
      std::vector<TileGroup> rest = regroup(from, end);
      bool any = finder.alone_outside(rest, from, end);
      for (TileGroup& g : rest) finder.choose(g), any |= !g.skips.empty();
      if (!any) continue;
      for (TileGroup& g : regroup(first, from)) add(g);
      for (TileGroup& g : rest) add(g);
      alone_before(end);
      break;
    }
    if (next < end) add(group);
  }
  alone_before(static_cast<uint32_t>(p.steps.size()));
  p.tile_groups = std::move(all);
}

}  // namespace lazy::jit
