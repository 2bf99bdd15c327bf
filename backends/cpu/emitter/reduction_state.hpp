// Says where a reduction's accumulators are while its loops run.
#pragma once
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu_backend {

/// Holds the places of one accumulator. "Partial" vectors: inner form, the P lanes of a block as P / W
/// vectors; outer form, the four of each row and vector in flight. While the unrolled loop runs they are
/// separate variables (`hot`); one-vector steps work on `current`, a copy of the one whose turn it is.
struct AccumulatorPlaces {
  AccumulatorInfo info;
  int partials = 1;
  int32_t memory = -1;            // frame: the partial vectors side by side
  std::vector<uint16_t> hot;      // by partial vector; empty when the unrolled loop is left out
  std::vector<uint16_t> stored;   // the partial vectors in memory, as variables
  std::vector<uint16_t> current;  // by (row, vector)
  std::vector<uint16_t> folded;   // by (row, vector): a block's result
  std::vector<uint16_t> total;    // by (row, vector): all blocks so far
  std::vector<uint16_t> result;   // by (row, vector): what the epilogue reads
};

/// An inner reduction takes so many rows at once, where it takes several.
inline constexpr int kRows = 4;

struct ReductionState {
  std::vector<AccumulatorPlaces> acc;
  int unroll = 0;        // vectors (inner) or steps (outer) of the unrolled loop; 0: there is none
  Template masked_body;  // inner: updates spare the lanes outside the tail mask
  int32_t block_begin = -1, block_end = -1, loop_limit = -1;  // frame
  // Inner form: true if what the unrolled loop leaves of a block is written out, a vector each, on the
  // accumulators themselves.
  bool rest_in_registers = false;
  int32_t rest = -1;          // frame: how many elements that is
  int32_t one_block = -1;     // frame: whether each row is one block, in one piece
  int32_t several_rows = -1;  // frame: whether they are taken several at once
  /// Several rows at once: the accumulators and folded value of each.
  std::vector<uint16_t> rows_hot, rows_folded;
  size_t first_of(size_t reduction) const {
    size_t i = 0;
    while (acc[i].info.reduction != reduction) ++i;
    return i;
  }
};

/// Names a place that the folding templates read or update: one of an accumulator's partial vectors, its
/// total, or its folded value. As a number it is what Slot::Kind::acc holds.
struct PartialSlot {
  size_t accumulator = 0;
  int part = 0;  // a partial vector's index, below kMaxPartials; or kTotal, kFolded
  static constexpr int kTotal = 126, kFolded = 127, kMaxPartials = 64;

  constexpr uint16_t pack() const {
    return static_cast<uint16_t>(accumulator << 7 | static_cast<size_t>(part));
  }
  static constexpr PartialSlot unpack(int packed) { return {static_cast<size_t>(packed) >> 7, packed & 127}; }
};

/// Folds each accumulator's partial vectors in halves, then the lanes of what is left until `to` are; updates
/// the folded slots.
Template fold_template(const jit::loop::LoopKernel&, const ReductionState&, int lanes, int to);
/// Folds the lanes of the folded slots from so many to so many.
Template halve_template(const jit::loop::LoopKernel&, const ReductionState&, int lanes, int to);
/// Folds the first `width` lanes of each of kRows complete vectors, named as partial ones of the first
/// accumulator, in the order of one row alone: lane r of the first is then row r's result. Each level leaves
/// half of what it gets, from the third on half the lanes.
Template fold_rows_template(const jit::loop::LoopKernel&, const ReductionState&, int lanes, int width,
                            int level);
/// Sets total = total combined with folded.
Template combine_template(const jit::loop::LoopKernel&, const ReductionState&);

}  // namespace lazy::cpu_backend
