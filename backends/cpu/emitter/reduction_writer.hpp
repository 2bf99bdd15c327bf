// Declares what all reductions and scans share: accumulators, folding, epilogue, blocks that several threads
// split.
#pragma once
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "backends/cpu/emitter/reduction_state.hpp"
#include "backends/cpu/emitter/split.hpp"

namespace lazy::cpu_backend {

class ReductionWriter : public KernelWriter {
 protected:
  using KernelWriter::KernelWriter;
  void begin() override;
  /// Makes `partials` vectors for each of `copies` (row, vector) pairs.
  void make_accumulators(int partials, int copies);
  void assign_constants(const std::vector<std::pair<uint16_t, uint64_t>>&);
  void copy_variables(const std::vector<std::pair<uint16_t, uint16_t>>&);  // to, from
  void start_partials();
  void store_hot();
  void fold_partials(int copies, bool across);
  void fold_lanes(int copies, int width);
  void add_to_total(int copies);
  void empty_total(int copies);
  /// Writes the epilogue; of one index or of several rows it is in registers of four lanes, but `whole`
  /// vectors of rows.
  void write_epilogue(Shape, Addressing, bool whole = false);
  /// Moves between partial vectors in memory and `current`; rcx: index of the partial among those of an
  /// accumulator.
  void move_current(int copies, int partials_apart, bool to_memory);
  void pin_hot(int available);
  /// Jumps to `to` when the launch is (`is`) or is not in the mode.
  void branch_on_mode(SplitMode, bool is, const Label& to);
  /// Moves between the folded values and this block's place in the plan's memory; rcx: of the first
  /// accumulator.
  void move_folded(int copies, bool to_memory);
  // Writes, around the blocks of one row (or chunk), where they lie in a split reduction's memory.
  void begin_split(const Label& whole);
  void split_step();
  void next_split_row();
  /// Writes code for all rows of the tile axis, tallest tiles first: write(height) for one, its first row in
  /// the axis's counter.
  void each_tile(const std::function<void(int height)>& write);

  std::unique_ptr<ReductionState> red_;
  std::vector<int> tile_heights_;  // rows, tallest first
  int32_t split_row_ = -1,
          split_block_ = -1;  // frame: place of the current row and block in a split reduction's memory
};

}  // namespace lazy::cpu_backend
