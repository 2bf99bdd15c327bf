// Tile groups: steps that run block by block over outer dimensions that they share.
#pragma once
#include "jit/backend/backend.hpp"
#include "jit/passes/passes.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Fills `p.tile groups`. By the key alone: extents are not looked at.
void find_tile_groups(const Trace&, const Fusion&, const std::vector<loop::LoopKernel>&, Program& p);

/// "kernels 0 to 2 block by block over 1 outer dimension, 2 values in scratch"
std::string describe(const TileGroup&);

/// How one run goes through a tile group.
struct Blocks {
  bool worth_it = false;          // if not, the steps run one after the other over everything
  int level = 0;                  // the dimension that is cut; the ones outside it are taken index by index
  int64_t extent[kMaxRank] = {};  // of each level
  int64_t length = 0;             // indices of `level` in a block
  int64_t cuts = 0;               // blocks of `level` for one index of the outer levels
  int64_t count = 0;              // blocks in all
  int64_t pieces = 0;             // runs of blocks that go to the threads
  size_t piece_bytes = 0;         // scratch of one piece
  std::vector<size_t> offset;     // of each of the tile group's inner slots in it
};
Blocks choose_blocks(const Program&, const TileGroup&, const CapturedGraph&, const Workers&);

/// Arguments of a step bound for its whole box, to be moved from block to block.
class BlockArguments {
 public:
  /// `words`: as bound. `scratch`, by operand: it lies in memory for one block, and its pointer is an offset
  /// in that of a piece.
  BlockArguments(const Step&, const uint8_t* dim_of, const Blocks&, const CapturedGraph&,
                 const uint64_t* words, const std::vector<uint8_t>& scratch);
  /// `index`: of each level up to the one that is cut, where the block starts; `length` indices of that.
  /// `piece`: start of the piece's scratch.
  void move(const int64_t* index, int64_t length, char* piece, uint64_t* words) const;

 private:
  struct Level {
    int axis;
    int64_t unit;    // indices of the axis for one of the level
    bool innermost;  // of the levels merged into that axis
  };
  loop::ArgLayout at_;
  std::vector<Level> levels_;
  std::vector<int64_t> steps_;  // operand * levels + level: bytes
  std::vector<uint64_t> base_;  // by operand
  std::vector<uint8_t> scratch_;
};

}  // namespace lazy::jit
