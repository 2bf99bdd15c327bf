// Finds which steps of a tile group may leave out half of their box, or what a mask hides of it.
#include <algorithm>
#include <optional>

#include "jit/ir/half.hpp"
#include "jit/plan/places.hpp"
#include "jit/plan/tiling/skips.hpp"

namespace lazy::jit {
namespace {

using Needed = std::vector<Skip::Needed>;

/// Describes a part of a box, whose axes are a step's or whose dimensions are a slot's: half of it, whose
/// scalar is that of a step, or what the tile group's mask hides of `a` from a block; there is no `b` then.
struct Line {
  int a = -1, b = -1;
  bool masked = false;
  int64_t bias = 0;
  int sign = 0;
  uint32_t step = 0;
  uint16_t scalar = 0;
};

/// Holds what is known of a step in a part of its box.
struct StepFacts {
  Line line;
  loop::KnownPart known;
  Needed needed;  // for what was read to be +0
};
/// Says that the elements of a slot in one part are +0.
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
      if (is_plain(i)) {
        std::vector<Line> lines = lines_read(p_.steps[i]);
        for (const loop::Half& h : loop::halves_of(loops_[i]))
          if (dim_of_axis(p_.steps[i], h.a) >= 0 && dim_of_axis(p_.steps[i], h.b) >= 0)
            lines.push_back({h.a, h.b, false, h.bias, h.sign, i, h.scalar});
        facts_[i] = learn(i, lines);
      }
  }

  void choose(TileGroup& group) {
    if (group.levels.empty()) return;
    group_ = &group;
    leave_out(facts_);
    // Blocks of a mask are known within the tile group only.
    const auto of_halves = std::exchange(zeros_, std::vector<std::optional<Zeros>>(zeros_.size()));
    for (uint32_t i = group.first; i < group.first + group.count && group.mask.step == kNone; ++i)
      for (uint16_t o = 0; o < p_.steps[i].operands.size() && group.mask.step == kNone; ++o)
        for (const bool hides : {false, true}) {
          group.mask = mask_of(i, o, hides);
          if (group.mask.step == kNone || leave_out_masked()) break;
          group.mask.step = kNone;
        }
    zeros_ = of_halves;
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
  bool is_plain(uint32_t i) const {
    return !p_.steps[i].call.spec && p_.steps[i].initial == Initial::none && !is_indexed(loops_[i]);
  }
  /// Returns the only dimension of an axis; -1 if there are several, or none.
  int dim_of_axis(const Step& s, int axis) const {
    const auto n = std::count(s.axis_of.begin(), s.axis_of.end(), axis);
    const auto at = std::find(s.axis_of.begin(), s.axis_of.end(), axis) - s.axis_of.begin();
    return n == 1 && s.dims[static_cast<size_t>(at)].node != kNone ? static_cast<int>(at) : -1;
  }
  /// Returns, by dimension of the step, 1 + the dimension of the operand's buffer that it walks, 0 if it does
  /// not move through it, or kPart.
  std::vector<int> places(const Step& s, const Binding& b) const {
    const Dims of = places_along(p_, f_, b.path, f_.values[b.node]->shape, AtReshape::leading).of;
    std::vector<int> r(s.dims.size(), 0);
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (const int8_t at = b.dim_of[d]; at != Binding::kAbsent && at < of.size())
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
    line.a = axis(line.a), line.b = line.masked ? -1 : axis(line.b);
    if (line.a < 0 || (line.b < 0 && !line.masked)) return {};
    return line;
  }
  /// Returns the line with the buffer's dimensions in place of the step's axes; nothing if the operand does
  /// not move along both.
  std::optional<Line> seen_in(const Step& s, const Binding& b, Line line) const {
    const std::vector<int> place = places(s, b);
    const auto dim = [&](int axis) {
      const int d = dim_of_axis(s, axis);
      return d < 0 ? 0 : place[static_cast<size_t>(d)];
    };
    line.a = dim(line.a), line.b = line.masked ? -1 : dim(line.b);
    if (line.a <= 0 || (line.b <= 0 && !line.masked)) return {};
    return line;
  }
  bool same(const Line& x, const Line& y) const {
    if (x.a != y.a || x.b != y.b || x.masked != y.masked || x.bias != y.bias || x.sign != y.sign)
      return false;
    if (x.sign == 0) return true;
    const ScalarArgument &s = p_.steps[x.step].scalars[x.scalar], &t = p_.steps[y.step].scalars[y.scalar];
    return s.source == ScalarArgument::Source::constant && s.source == t.source && s.node == t.node &&
           s.value == t.value && s.type == t.type;
  }

  /// Notes in the tile group which of its steps leave out the parts of which these facts, by step, and what
  /// their readers leave out, say enough. True if any are products, which is what makes it worth it.
  bool leave_out(const std::vector<std::optional<StepFacts>>& facts) {
    TileGroup& group = *group_;
    std::vector<std::optional<StepFacts>> found(group.count);
    for (uint32_t i = group.count; i-- > 0;) {
      found[i] = facts[group.first + i];
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
    if (std::none_of(skips.begin(), skips.end(),
                     [&](const auto& s) { return s && loops_[s->step].form == loop::Form::contract; }))
      return false;
    for (auto& s : skips)
      if (s) group.skips.push_back(std::move(*s));
    return true;
  }
  bool leave_out_masked() {
    std::vector<std::optional<StepFacts>> facts(p_.steps.size());
    for (auto& z : zeros_) z.reset();
    for (uint32_t i = group_->first; i < group_->first + group_->count; ++i) {
      const Step& s = p_.steps[i];
      std::vector<Line> lines;
      if (const auto own = reads_mask(i)) lines.push_back({own->second, -1, true});
      for (const Line& line : lines_read(s)) lines.push_back(line);
      if (is_plain(i)) facts[i] = learn(i, lines);
    }
    return leave_out(facts);
  }
  /// Returns the operand as a mask of the tile group; `step` is kNone if it can't be one.
  Mask mask_of(uint32_t i, uint16_t operand, bool hides) const {
    const Step& s = p_.steps[i];
    const Binding& b = s.operands[operand];
    if (!is_bool(b.dtype) || b.output || b.region || is_made_here(b.slot)) return {};
    const int dim = only_dim_beside_levels(i, places(s, b));
    if (dim < 0 || dim_of_axis(s, s.axis_of[static_cast<size_t>(dim)]) != dim) return {};
    return {i, operand, static_cast<uint8_t>(dim), hides};
  }
  bool is_made_here(int slot) const {
    if (slot < 0) return false;
    for (uint32_t i = group_->first; i < group_->first + group_->count; ++i)
      for (const uint32_t made : p_.steps[i].made)
        if (static_cast<int>(made) == slot) return true;
    return false;
  }
  /// Returns the dimension along which an operand moves besides those of levels; -1 if there are several, or
  /// none. `place` is that of the operand.
  int only_dim_beside_levels(uint32_t i, const std::vector<int>& place) const {
    const size_t levels = group_->levels.size();
    const uint8_t* const own = group_->dims_of(i);
    int found = -1;
    for (size_t d = 0; d < place.size(); ++d) {
      if (place[d] == 0 || std::find(own, own + levels, d) != own + levels) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(d);
    }
    return found;
  }
  /// Returns the step's operand that may be the tile group's mask, as a run tells, and the axis of what is
  /// hidden; nothing if it does not read the mask.
  std::optional<std::pair<uint16_t, int>> reads_mask(uint32_t i) const {
    const size_t levels = group_->levels.size();
    const Step &s = p_.steps[i], &owner = p_.steps[group_->mask.step];
    const Binding& mask = owner.operands[group_->mask.operand];
    const std::vector<int> own = places(owner, mask);
    for (uint16_t o = 0; o < s.operands.size(); ++o) {
      const Binding& b = s.operands[o];
      if (b.output || !same_source(b, mask)) continue;
      const std::vector<int> place = places(s, b);
      const int dim = only_dim_beside_levels(i, place);
      bool same = dim >= 0 && place[static_cast<size_t>(dim)] == own[group_->mask.dim];
      for (size_t l = 0; l < levels; ++l)
        same &= place[group_->dims_of(i)[l]] == own[group_->dims_of(group_->mask.step)[l]];
      if (same) return std::pair(o, static_cast<int>(s.axis_of[static_cast<size_t>(dim)]));
    }
    return {};
  }

  /// Evaluates the step in a part.
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
    if (line.masked) {
      loop::Masked part{loop::kNoValue, group_->mask.hides, static_cast<int8_t>(line.a)};
      if (const auto own = reads_mask(i); own && own->second == line.a) part.operand = own->first;
      r.known = loop::known_in(loops_[i], part, zero);
      return r;
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

  /// Returns the parts in which what the step reads is +0.
  std::vector<Line> lines_read(const Step& s) const {
    std::vector<Line> lines;
    for (const Binding& b : s.operands)
      if (!b.output && b.slot >= 0 && zeros_[static_cast<size_t>(b.slot)])
        if (const auto line = seen_by(s, b, zeros_[static_cast<size_t>(b.slot)]->line))
          lines.push_back(*line);
    return lines;
  }
  /// Returns what is known of the step in the first of these parts in which something is that is of use, and
  /// notes which of its outputs are +0 there.
  std::optional<StepFacts> learn(uint32_t i, const std::vector<Line>& lines) {
    const Step& s = p_.steps[i];
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
      if (useful) return r;
    }
    return {};
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

  /// Finds a part of a step's box that a later one leaves out of what it reads.
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

  /// True if every step of the group that reads the slot leaves out this part of it.
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

  /// True if all dimensions of the step's axis are levels.
  bool has_levels_alone(uint32_t i, int axis) const {
    const Step& s = p_.steps[i];
    const size_t levels = group_->levels.size();
    const uint8_t* const own = group_->dims_of(i);
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (s.axis_of[d] == axis && std::find(own, own + levels, d) == own + levels) return false;
    return true;
  }
  /// Returns how a step leaves out its part; nothing if it can't.
  std::optional<Skip> skip_of(uint32_t i, const StepFacts& facts,
                              const std::vector<std::optional<StepFacts>>& found) const {
    const Step& s = p_.steps[i];
    const loop::LoopKernel& k = loops_[i];
    const size_t levels = group_->levels.size();
    const int level = s.axis_of[group_->dims_of(i)[levels - 1]];
    const Line& line = facts.line;
    if (line.masked ? !has_levels_alone(i, level)
                    : (level != line.a && level != line.b) || dim_of_axis(s, level) < 0)
      return {};
    const int other = level == line.a ? line.b : line.a, dim = dim_of_axis(s, other);
    if (dim < 0) return {};
    for (size_t l = 0; l + 1 < levels; ++l)
      if (s.axis_of[group_->dims_of(i)[l]] == other) return {};
    Skip skip;
    skip.step = i;
    skip.dim = static_cast<uint8_t>(dim);
    skip.masked = line.masked;
    if (line.masked)
      if (const auto own = reads_mask(i); own && own->second == other)
        skip.mask = static_cast<int16_t>(own->first);
    skip.before = level == line.a;
    skip.sign = static_cast<int8_t>(skip.before ? -line.sign : line.sign);
    skip.bias = skip.before ? -line.bias : line.bias;
    skip.scalar = line.scalar, skip.scalar_step = line.step;
    loop::KnownPart known = facts.known;
    if (k.sequential == other && !known.neutral) return {};
    if (k.form == loop::Form::scan || k.form == loop::Form::scatter) return {};
    if (!stores(i, line, known, found, skip)) return {};
    skip.needed = facts.needed;
    for (const uint16_t z : known.zeros) skip.needed.push_back({i, z, false});
    for (const uint16_t z : known.lowest) skip.needed.push_back({i, z, true});
    if (k.sequential == other && k.form == loop::Form::contract) {
      const uint16_t right = k.body[k.contraction.right.load].imm;
      if (is_made_here(s.operands[right].slot)) return {};
      if (s.dims.size() != levels + 2) return {};
      skip.finite = static_cast<int16_t>(right);
      if (!skip.before && known.signs == loop::KnownPart::Signs::lost) return {};
      if (!skip.before && known.signs == loop::KnownPart::Signs::stored)
        for (const loop::Store& st : k.stores)
          if (k.body[st.value].code == loop::Code::result) skip.sums = static_cast<int16_t>(st.operand);
    }
    return skip;
  }

  /// True if what the step stores in the part is read by nobody, or +0: then that is noted.
  bool stores(uint32_t i, const Line& line, loop::KnownPart& known,
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
