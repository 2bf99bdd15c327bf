// Declares the writer of contractions whose sides are each one operand
// (backends/cpu/packing/contraction.hpp).
#pragma once
#include "backends/cpu/emitter/reduction_writer.hpp"

namespace lazy::cpu_backend {

/// Writes tiles of rows by vectors, whose accumulators are in registers while the sequential axis runs to its
/// end; then the epilogue goes through each tile row by row.
class ContractionWriter final : public ReductionWriter {
 public:
  ContractionWriter(const jit::loop::LoopKernel& k, Isa isa, const ContractionForm& form)
      : ReductionWriter(k, isa), contraction_(form) {}
  std::optional<ContractionForm> contraction() const override { return contraction_; }

 private:
  bool is_side(size_t operand) const override {
    const auto o = static_cast<int>(operand);
    return o == contraction_->left.operand || o == contraction_->right.operand;
  }
  void begin() override {}
  void plan() override;
  void row() override;
  void place_sides();
  void all_columns();
  void columns(int vecs, bool masked);
  void tile(int rows, int vecs, bool masked);
  void move_tile(int rows, int vecs, bool to_memory);
  void tile_epilogue(int rows, int vecs, bool masked);
  void epilogue_row(int vecs, bool masked);
  void shared_epilogue(int vecs, bool masked);
  void next_row();
  bool shares_epilogue() const;
  void set_pointers();
  void point_at_tile(int operand);
  void prefetch_epilogue(int rows, int vecs);
  // These functions, in contraction_multiply.cpp, write the inner loop.
  void multiply_tile(int rows, int vecs, bool masked);
  void multiply_steps(int rows, int vecs, bool masked, int width);
  void multiply_step(int rows, int vecs, bool masked, int width, int step);
  void multiply_add(const x86::Vec& acc, const x86::Vec& left, const asmjit::Operand_& right);
  // These functions, in contraction_tiles.cpp, write the same for the processor's tile registers.
  void configure_tiles();
  void set_tile_rows(bool two);
  void columns_of_tiles(int vecs);
  void multiply_tile_registers(int tall, int vecs);
  void move_tile_registers(int tall, int vecs, const x86::Mem& at, bool to_memory);
  void tile_registers(int tall, int vecs);
  void call_shared_epilogue();
  x86::Vec tile_accumulator(int i) const { return as_->vec(registers() - 1 - i, contract_type()); }
  vir::Type contract_type() const { return red_->acc[0].info.type; }

  static constexpr int kTileRows = 16;  // of a tile register

  std::optional<ContractionForm> contraction_;
  std::vector<int> tile_widths_;    // widths of full tiles, in vectors, widest first
  std::vector<uint16_t> tile_row_;  // variables: a row's accumulators in the epilogue
  /// Holds offsets on the frame: the two sides as ContractionPlan has them; where the current tile's rows and
  /// columns start, and its accumulators when those are resumed or suspended.
  struct Places {
    int32_t left, left_row, right, right_step, right_chunk, steps, tile, flags, left_now, split, spilled;
    int32_t spilled_bytes, first_row, back;  // of a shared epilogue
    int32_t config, configured, rows, tile_row,
        tile_step;  // of tile registers: what is in them, and rows of the tile
  };
  Places at_{};
  asmjit::Label shared_epilogue_;  // the shared epilogue of the width being written
};

}  // namespace lazy::cpu_backend
