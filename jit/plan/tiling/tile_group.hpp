// Declares tile groups: steps that run block by block over outer dimensions that they share.
#pragma once
#include "jit/backend/backend.hpp"
#include "jit/passes/passes.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Fills `p.tile_groups`, with what may be left out (skips.hpp) if `skips`. Goes by the key alone: extents
/// are not looked at.
void find_tile_groups(const Trace&, const Fusion&, const std::vector<loop::LoopKernel>&, bool skips,
                      Program& p);

/// Returns a line such as "kernels 0 to 2 block by block over 1 outer dimension, 2 values in scratch".
std::string describe(const TileGroup&);

/// Says how one run goes through a tile group: decided anew for each run, from its extents.
struct Blocks {
  bool worth_it = false;          // if false, the steps run one after the other over everything
  int level = 0;                  // the level that is cut; those outside it are taken index by index
  int64_t extent[kMaxRank] = {};  // by level
  int64_t length = 0;             // indices of `level` in a block; the last one of a cut may have fewer
  int64_t cuts = 0;               // blocks of `level` for one index of the outer levels
  int64_t count = 0;              // blocks in all
  int64_t pieces = 0;             // runs of neighbouring blocks; each goes to one thread
  size_t piece_bytes = 0;         // bytes of one piece's scratch memory
  std::vector<size_t> offset;     // by position in TileGroup::inner: bytes into a piece's scratch
};
/// Decides whether and how a run with these extents is cut.
Blocks choose_blocks(const Program&, const TileGroup&, const CapturedGraph&, const Workers&);

/// Moves the arguments of a step, which were bound for its complete box, from block to block.
class BlockArguments {
 public:
  /// `dim_of` has, by level, the step's dimension. `words` are the arguments as bound. `scratch` is 1 for
  /// each operand that lies in memory for one block: its pointer is an offset into a piece's scratch.
  BlockArguments(const Step&, const uint8_t* dim_of, const Blocks&, const CapturedGraph&,
                 const uint64_t* words, const std::vector<uint8_t>& scratch);
  /// Sets extents, origins and pointers in `words` for one block. `index` has, by level up to the one that is
  /// cut, where the block starts; it has `length` indices of the latter. `piece` is the begin of the piece's
  /// scratch.
  void move(const int64_t* index, int64_t length, char* piece, uint64_t* words) const;
  /// A word of the arguments, and what is added to it from one block to the next.
  struct Change {
    size_t word;
    uint64_t by;
  };
  /// Appends what move() would change for the next block, if only the index along the level that is cut
  /// differs and both blocks have Blocks::length indices of it. `first` is where the step's arguments begin.
  void add_changes(size_t first, std::vector<Change>&) const;

 private:
  struct Level {
    int axis;        // of the kernel
    int64_t unit;    // indices of the axis for one of the level
    bool innermost;  // true for the last of the levels that were merged into that axis
  };
  loop::ArgLayout at_;
  std::vector<Level> levels_;
  std::vector<int64_t> steps_;  // bytes from one index of a level to the next, at operand * levels + level
  std::vector<uint64_t> base_;  // by operand: its address, or its offset into the scratch
  std::vector<uint8_t> scratch_;
  int64_t length_;  // of a block: indices of the level that is cut
};

}  // namespace lazy::jit
