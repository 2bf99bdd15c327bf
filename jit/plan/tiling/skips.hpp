// Declares how steps of a tile group leave out half of their box: of a causal attention, the keys that no
// query of a block sees.
#pragma once
#include <functional>

#include "jit/plan/tiling/tile_group.hpp"

namespace lazy::jit {

/// Returns the tile groups of the steps from one on, up to another one.
using Regroup = std::function<std::vector<TileGroup>(uint32_t first, uint32_t last)>;
/// Fills TileGroup::skips. Tile groups that could leave out something if they had fewer steps are divided,
/// and single products become tile groups. `loops` has all steps' loop kernels. Goes by the key alone.
void find_skips(const CapturedGraph&, const std::vector<loop::LoopKernel>& loops, const Regroup&, Program&);

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
      if (!good || !add(s, own, other)) {
        shortened_.clear();
        return;
      }
    }
  }
  bool any() const { return !shortened_.empty(); }
  /// True if no right side that has to be finite, as the words of a block of the step have it, is not.
  bool finite(uint32_t step, const uint64_t* words) const;
  /// Shortens a block of step i: `first` is its first index of the last level, of `length`.
  void shorten(uint32_t step, int64_t first, int64_t length, uint64_t* words) const;
  /// Undoes shorten(), but for addresses, and sets what was left out to +0 where it is read.
  void finish(uint32_t step, uint64_t* words) const;

 private:
  struct Shortened {
    const Skip* skip = nullptr;
    int axis = 0, level = 0;  // of the kernel
    int64_t line = 0;         // past the level's index
    int64_t extent = 0, origin = 0;
  };
  void correct_signs(const Shortened&, const uint64_t* words) const;
  bool is_needed(const Skip::Needed&, const uint64_t* words) const;
  bool add(const Skip&, const uint64_t* own, const uint64_t* other);
  const Shortened* of(uint32_t step) const;

  const Program& p_;
  const TileGroup& group_;
  std::vector<Shortened> shortened_;
};

}  // namespace lazy::jit
