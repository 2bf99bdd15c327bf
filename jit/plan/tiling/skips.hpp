// Declares how steps of a tile group leave out a part of their box: of a causal attention, the keys that no
// query of a block sees; of padded sequences, the keys that a mask hides.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>

#include "jit/plan/tiling/tile_group.hpp"

namespace lazy::jit {

/// Returns the tile groups of the steps from one on, up to another one.
using Regroup = std::function<std::vector<TileGroup>(uint32_t first, uint32_t last)>;
/// Fills TileGroup::skips. Tile groups that could leave out something if they had fewer steps are divided,
/// and single products become tile groups. `loops` has all steps' loop kernels. Goes by the key alone.
void find_skips(const CapturedGraph&, const std::vector<loop::LoopKernel>& loops, const Regroup&, Program&);

/// Holds the indices of which a mask hides none from all of a block.
struct Seen {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

/// Leaves out what a run's blocks may leave out. Used by several threads.
class Skipping {
 public:
  /// `words(i)` are the arguments of step i, as bound.
  template <class Words>
  Skipping(const Program& p, const TileGroup& group, const Blocks& blocks, const Words& words)
      : p_(p), group_(group) {
    if (blocks.level + 1 != static_cast<int>(group.levels.size())) return;
    for (const Skip& s : group.skips) {
      const uint64_t* const own = words(s.step);
      bool good = true;
      for (const Skip::Needed& n : s.needed) good &= is_needed(n, words(n.step));
      const uint64_t* const other = s.sign != 0 ? words(s.scalar_step) : nullptr;
      if (s.mask >= 0) good &= is_mask(s, own, words(group.mask.step));
      if (!good || !add(s, own, other)) {
        shortened_.clear();
        return;
      }
    }
  }
  bool any() const { return !shortened_.empty(); }
  /// True if a mask hides some of it, and nothing is known without looking at the mask.
  bool by_mask_alone() const {
    return any() && std::all_of(group_.skips.begin(), group_.skips.end(), [](auto& s) { return s.masked; });
  }
  bool masked() const { return any() && group_.mask.step != kNone; }
  /// Leaves out nothing from here on.
  void clear() { shortened_.clear(); }
  /// Returns what the mask lets a block see: `words` are the arguments of the mask's step, of this block.
  Seen seen(const uint64_t* words) const;
  /// Returns the number of indices along the mask.
  int64_t mask_extent(const uint64_t* words) const;
  /// True if no right side that has to be finite, as the words of a block of the step have it, is not.
  bool finite(uint32_t step, const uint64_t* words) const;
  /// Shortens a block of step i: `first` is its first index of the last level, of `length`.
  void shorten(uint32_t step, int64_t first, int64_t length, const Seen&, uint64_t* words) const;
  /// Undoes shorten(), but for addresses, and sets what was left out to +0 where it is read.
  void finish(uint32_t step, uint64_t* words) const;

 private:
  struct Shortened {
    uint32_t step = 0;
    bool half = false, masked = false, before = false;
    int axis = 0, level = 0;  // of the kernel
    int64_t line = 0;         // of a half: past the level's index
    int64_t extent = 0, origin = 0;
    int16_t finite = -1, sums = -1;  // as Skip's
    std::vector<uint16_t> zeros;     // as Skip's
  };
  void correct_signs(const Shortened&, const uint64_t* words, int64_t done, int64_t extent) const;
  bool is_needed(const Skip::Needed&, const uint64_t* words) const;
  bool is_mask(const Skip&, const uint64_t* own, const uint64_t* of_mask) const;
  bool add(const Skip&, const uint64_t* own, const uint64_t* other);
  const Shortened* of(uint32_t step) const;

  const Program& p_;
  const TileGroup& group_;
  std::vector<Shortened> shortened_;  // one a step
};

}  // namespace lazy::jit
