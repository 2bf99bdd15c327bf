// Finds which steps of a program form tile groups.
#include <algorithm>

#include "jit/plan/places.hpp"
#include "jit/plan/tiling/skips.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

/// Describes a dimension that a step's kernel has outermost.
struct Outer {
  uint32_t dim_class = 0;
  uint8_t dim = 0;  // dimension of the kernel
};

// Work that is proportional to the square of a tile group's length stays small.
constexpr uint32_t kMostSteps = 32;

class GroupFinder {
 public:
  GroupFinder(const Trace& t, const Fusion& f, const std::vector<loop::LoopKernel>& loops, Program& p)
      : t_(t), f_(f), loops_(loops), p_(p) {}

  void run() {
    for (size_t i = 0; i < p_.steps.size(); ++i)  // a computed index may be of any block
      outer_.push_back(is_indexed(loops_[i]) ? std::vector<Outer>() : outer_of(i));
    last_.assign(p_.slots.size(), 0);
    made_in_.assign(p_.slots.size(), kNone);
    for (uint32_t i = 0; i < p_.steps.size(); ++i) {
      const Step& s = p_.steps[i];
      for (uint32_t slot : s.made) made_in_[slot] = i;
      for (const Binding& b : s.operands)
        if (b.slot >= 0) last_[static_cast<size_t>(b.slot)] = i;
      if (s.initial == Initial::copy && s.initial_from.slot >= 0)
        last_[static_cast<size_t>(s.initial_from.slot)] = i;
    }
    p_.tile_groups = tile_groups(0, static_cast<uint32_t>(p_.steps.size()), true);
  }
  /// Returns the tile groups of steps [first, last).
  std::vector<TileGroup> among(uint32_t first, uint32_t last) const { return tile_groups(first, last, true); }

 private:
  // Returns parallel dimensions, outermost first; of a contraction its batch dimensions, then rows and
  // columns.
  std::vector<Outer> outer_of(size_t i) const {
    std::vector<Outer> outer;
    const Step& s = p_.steps[i];
    if (s.initial != Initial::none && !stores_in_part(i)) return outer;
    if (s.call.spec) return outer;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      if (s.axis_of[d] == s.sequential) continue;
      if (s.dims[d].node == kNone) break;
      outer.push_back({f_.dim_class(s.dims[d].node, s.dims[d].dim), static_cast<uint8_t>(d)});
    }
    return outer;
  }

  /// True for a product that stores what it computes in a part of new memory.
  bool stores_in_part(size_t i) const {
    return p_.steps[i].initial == Initial::nothing && loops_[i].form == loop::Form::contract;
  }

  Dims places(const Binding& b) const {
    return places_along(p_, *t_.captured, b.path, t_.captured->values[b.node]->shape, AtReshape::leading).of;
  }

  /// Returns how many of a step's outermost dimensions are, in order, those of the buffer itself.
  size_t aligned(uint32_t step, const Binding& b) const {
    const Dims place = places(b);
    const auto& outer = outer_[step];
    size_t l = 0;
    for (; l < outer.size(); ++l) {
      const int8_t at = b.dim_of[outer[l].dim];
      if (at == Binding::kAbsent || place[at] != static_cast<int64_t>(l) + 1) break;
    }
    return l;
  }
  /// Returns how many of them move along an output, in any order. Who reads it goes by aligned().
  size_t stored(uint32_t step, const Binding& b) const {
    const Dims place = places(b);
    const auto& outer = outer_[step];
    size_t l = 0;
    for (; l < outer.size(); ++l)
      if (const int8_t at = b.dim_of[outer[l].dim]; at == Binding::kAbsent || place[at] == 0) break;
    return l;
  }
  /// Returns that of the output that a step has made.
  size_t aligned_output(int slot) const {
    const uint32_t by = made_in_[static_cast<size_t>(slot)];
    for (const Binding& b : p_.steps[by].operands)
      if (b.output && b.slot == slot) return aligned(by, b);
    return 0;
  }
  bool made_since(uint32_t first, uint32_t end, int slot) const {
    const uint32_t by = made_in_[static_cast<size_t>(slot)];
    return by >= first && by < end;
  }

  /// Returns where the tile group that starts with step `first` ends, and how many levels it has.
  uint32_t grow(uint32_t first, bool contractions, size_t& levels) const {
    levels = outer_[first].size();
    if (!contractions && is_contraction(first)) return first + 1;
    for (const Binding& b : p_.steps[first].operands)
      if (b.output) levels = std::min(levels, aligned(first, b));
    bool complete = true;  // the levels are all the parallel dimensions of all steps
    const uint32_t end = std::min(static_cast<uint32_t>(p_.steps.size()), first + kMostSteps);
    for (uint32_t s = first + 1; s < end; ++s) {
      if (!contractions && is_contraction(s)) return s;
      complete &= outer_[s - 1].size() == levels;
      const size_t common = join(first, s, levels);
      // A level is given up only for rows in place of elements: what is a row to some steps and a matrix to
      // others would not stay in the cache. But what a product reads may have been laid out for it, whatever
      // dimensions that has.
      if (common == 0) return s;
      const bool laid_out = s == first + 1 && is_contraction(s) && loops_[first].form == loop::Form::map;
      if (common < levels && !(complete && (common + 1 == levels || laid_out))) return s;
      if (!donations_fit(first, s, common)) return s;
      if (common < levels) complete = false;
      levels = common;
    }
    return end;
  }
  bool is_contraction(uint32_t s) const { return loops_[s].form == loop::Form::contract; }

  /// Returns how many levels are left if step `s` joins those from `first` on; 0 if it can't, or shares no
  /// value with them.
  size_t join(uint32_t first, uint32_t s, size_t levels) const {
    const auto &ours = outer_[first], &theirs = outer_[s];
    size_t common = 0;
    while (common < std::min(levels, theirs.size()) && ours[common].dim_class == theirs[common].dim_class)
      ++common;
    bool shares = false;
    for (const Binding& b : p_.steps[s].operands) {
      if (b.output || (b.slot >= 0 && made_since(first, s, b.slot))) {
        common = std::min(common, b.output ? stored(s, b) : std::min(aligned(s, b), aligned_output(b.slot)));
        shares |= !b.output;
      } else if (!shares && common > 0 && b.dim_of[theirs[0].dim] != Binding::kAbsent) {
        for (uint32_t t = first; t < s; ++t)
          for (const Binding& other : p_.steps[t].operands)
            shares |= same_source(b, other) && other.dim_of[outer_[t][0].dim] != Binding::kAbsent;
      }
    }
    return shares ? common : 0;
  }

  static bool may_give(uint32_t input, const Slot& out) {
    const auto& others = out.other_inputs;
    return input == out.donor_input || std::find(others.begin(), others.end(), input) != others.end();
  }

  /// True if memory that an output takes over is read by the tile group at the same index only.
  bool donations_fit(uint32_t first, uint32_t last, size_t levels) const {
    for (uint32_t s = first; s <= last; ++s)
      for (uint32_t slot : p_.steps[s].made) {
        const Slot& out = p_.slots[slot];
        for (uint32_t t = first; t <= s; ++t)
          for (const Binding& b : p_.steps[t].operands) {
            const bool donor = b.slot >= 0 ? b.slot == out.donor_slot : may_give(b.node, out);
            if (donor && aligned(t, b) < levels) return false;
          }
      }
    return true;
  }

  std::vector<TileGroup> tile_groups(uint32_t first, uint32_t last, bool contractions) const {
    std::vector<TileGroup> found;
    for (uint32_t i = first; i < last;) {
      size_t levels = 0;
      const uint32_t end = std::min(last, grow(i, contractions, levels));
      if (end - i >= 2) {
        TileGroup b = make(i, end - i, levels);
        bool with = false;
        for (uint32_t s = i; s < end; ++s) with |= is_contraction(s);
        if (with) b.parts = tile_groups(i, end, false);
        found.push_back(std::move(b));
      }
      i = end;
    }
    return found;
  }

  TileGroup make(uint32_t first, uint32_t count, size_t levels) const {
    TileGroup tile_group;
    tile_group.first = first;
    tile_group.count = count;
    for (size_t l = 0; l < levels; ++l)
      tile_group.levels.push_back(p_.steps[first].dims[outer_[first][l].dim]);
    for (uint32_t s = first; s < first + count; ++s) {
      for (size_t l = 0; l < levels; ++l) tile_group.dim_of.push_back(outer_[s][l].dim);
      for (const Binding& b : p_.steps[s].operands) add_source(tile_group, s, b, levels);
    }
    // From the last to the first: memory that an outer value takes over is that value's from the start.
    std::vector<uint32_t> inner;
    for (uint32_t s = first + count; s-- > first;)
      for (uint32_t slot : p_.steps[s].made)
        if (!p_.slots[slot].kept && last_[slot] < first + count && !given_away(slot, first, count, inner))
          inner.push_back(slot);
    tile_group.inner.assign(inner.rbegin(), inner.rend());
    return tile_group;
  }
  bool given_away(uint32_t slot, uint32_t first, uint32_t count, const std::vector<uint32_t>& inner) const {
    for (uint32_t s = first; s < first + count; ++s)
      for (uint32_t by : p_.steps[s].made)
        if (p_.slots[by].donor_slot == static_cast<int>(slot))
          return std::find(inner.begin(), inner.end(), by) == inner.end();
    return false;
  }
  void add_source(TileGroup& tile_group, uint32_t s, const Binding& b, size_t levels) const {
    TileGroup::Source source{b.node, b.slot, b.dtype, 0, false};
    const Dims place = places(b);
    for (size_t l = 0; l < levels; ++l) {
      const int8_t at = b.dim_of[outer_[s][l].dim];
      if (at != Binding::kAbsent && place[at] != 0) source.moves |= 1u << l;
    }
    if (is_contraction(s) && !b.output) {  // its dimensions are: summed, batch..., rows, columns
      size_t k = 0;
      while (p_.steps[s].axis_of[k] != p_.steps[s].sequential) ++k;
      const size_t rows = p_.steps[s].dims.size() - 2;
      source.matrix = b.dim_of[k] != Binding::kAbsent && b.dim_of[rows] == Binding::kAbsent;
    }
    for (TileGroup::Source& known : tile_group.sources)
      if (known.slot == source.slot && (source.slot >= 0 || known.node == source.node)) {
        known.moves |= source.moves;
        known.matrix |= source.matrix;
        return;
      }
    tile_group.sources.push_back(source);
  }

  const Trace& t_;
  const Fusion& f_;
  const std::vector<loop::LoopKernel>& loops_;
  Program& p_;
  std::vector<std::vector<Outer>> outer_;  // by step
  std::vector<uint32_t> made_in_, last_;   // by slot: the step that makes it, the last that touches it
};

}  // namespace

std::string describe(const TileGroup& b) {
  const auto left_out = [&](bool masked, const char* what) {
    const auto n = std::count_if(b.skips.begin(), b.skips.end(), [&](auto& s) { return s.masked == masked; });
    return n == 0 ? "" : what + text::counted(static_cast<size_t>(n), "kernel");
  };
  const std::string first = std::to_string(b.first), last = std::to_string(b.first + b.count - 1);
  return (b.count == 1 ? "kernel " + first : "kernels " + first + " to " + last) + " block by block over " +
         text::counted(b.levels.size(), "outer dimension") + ", " + text::counted(b.inner.size(), "value") +
         " in scratch" + left_out(false, ", half left out in ") +
         left_out(true, ", what a mask hides left out in ");
}

void find_tile_groups(const Trace& t, const Fusion& f, const std::vector<loop::LoopKernel>& loops, bool skips,
                      Program& p) {
  GroupFinder finder(t, f, loops, p);
  if (p.steps.size() > 1) finder.run();
  if (skips)
    find_skips(
        *t.captured, loops, [&](uint32_t first, uint32_t last) { return finder.among(first, last); }, p);
}

}  // namespace lazy::jit
