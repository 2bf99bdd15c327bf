// One kernel's machine code: loops around blocks.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/cpu/emitter/assembly.hpp"
#include "backends/cpu/emitter/copies.hpp"
#include "backends/cpu/emitter/encode.hpp"
#include "backends/cpu/emitter/reduction_state.hpp"
#include "backends/cpu/emitter/split.hpp"
#include "backends/cpu/packing/contraction.hpp"

namespace lazy::cpu_backend {

/// What was decided, for dumps.
struct Schedule {
  Isa isa{};
  int lanes = 0, vectors = 1, rows = 1, steps = 1, spills = 0, frame_bytes = 0, instructions = 0;
  bool streams = false;  // maps: the stores can bypass the caches
};

class KernelWriter {
 public:
  KernelWriter(const jit::loop::LoopKernel&, Isa);  // keeps a reference
  KernelWriter(jit::loop::LoopKernel&&, Isa) = delete;
  /// Writes everything into code().
  void write();
  asmjit::CodeHolder& code() { return as_->code; }
  const Schedule& schedule() const { return schedule_; }
  /// Set if the kernel is a contraction that backends/cpu/contract.hpp launches.
  const std::optional<ContractionForm>& contraction() const { return contraction_; }

 private:
  using Label = asmjit::Label;
  using Stride = jit::loop::Stride;

  // kernel_writer.cpp: what surrounds every form
  void choose_lanes();
  void assign_pointers();
  void enter(const Label& done);
  void copy_transposed(const Label& done);
  void widen_scalars();
  void lane_offsets();
  void outer_axes();
  void nest(size_t level);
  void next_index(size_t level);
  void bump(int operand, const x86::Mem& amount);
  void bump(int operand, int64_t amount);
  void write_block(const Block&, const Addressing&);
  /// rcx: lanes left along the vector axis, cut to a whole vector; sets the tail mask.
  void set_tail();
  /// What is left of rcx indices after steps of so many vectors, a power of two: to the frame at `rest`; sets
  /// the tail of the last vector of it.
  void set_rest(int32_t rest, int vectors);
  /// Writes that rest out: vector v whole, or as the last one under the mask.
  void write_rest(int32_t rest, int vectors, const std::function<void(int v)>& whole,
                  const std::function<void(int v)>& last);
  void row();
  int registers() const { return as_->avx512() ? 32 : 16; }
  int64_t byte_width(int operand) const {
    return static_cast<int64_t>(size_of(k_.operands[static_cast<size_t>(operand)].dtype));
  }

  // write_map.cpp
  void plan_map();
  void plan_rolled_loops();
  void write_sections(Shape, const Addressing&);
  void row_map();
  // write_reduction.cpp: what both forms of reduction share
  void make_accumulators(int partials, int copies);
  void assign_constants(const std::vector<std::pair<uint16_t, uint64_t>>&);
  void copy_variables(const std::vector<std::pair<uint16_t, uint16_t>>&);  // to, from
  void start_partials();
  void store_hot();
  void fold_partials(int copies, bool across);
  void fold_lanes(int copies, int width);
  void add_to_total(int copies);
  void empty_total(int copies);
  void write_epilogue(Shape, Addressing);
  /// Between partial vectors in memory and `current`; rcx: index of the partial among those of an
  /// accumulator.
  void move_current(int copies, int partials_apart, bool to_memory);
  void pin_hot(int available);
  /// Jumps to `to` when the launch is (`is`) or is not in the mode.
  void branch_on_mode(SplitMode, bool is, const Label& to);
  /// Between the folded values and this block's place in the plan's memory; rcx: of the first accumulator.
  void move_folded(int copies, bool to_memory);
  /// Around the blocks of one row (or chunk): where they lie in a split reduction's memory.
  void begin_split(const Label& whole);
  void split_step();
  void next_split_row();
  // write_inner.cpp: lanes run along the reduced axis
  void plan_inner();
  void row_inner();
  void begin_block_inner();
  void rest_inner();
  void single_vectors_inner();
  // write_rows.cpp: ... several rows at once, of operands of which one moves from row to row
  bool suits_rows() const;
  void plan_rows();
  void begin_rows();
  void rows_within_a_vector(int width, const Addressing& masked);
  void rows_inner();
  // write_outer.cpp: lanes run along a parallel axis; the sequential loop is innermost
  void plan_outer();
  void row_outer();
  void rows_outer(int vecs, bool masked);
  /// Code for all rows of the tile axis, tallest tiles first: write(height) for one, its first row in the
  /// axis's counter.
  void each_tile(const std::function<void(int height)>& write);
  void chunk_outer(Shape, bool masked);
  void blocks_outer(Shape, const Addressing&);
  void straight_outer(Shape, const Addressing&);
  void advance_sequential(const Addressing&);
  void set_chunk_pointers(Shape, Addressing&);
  // write_contract.cpp: contractions of two plain sides
  void plan_contract();
  void row_contract();
  void contract_columns(int vecs, bool masked);
  void contract_tile(int rows, int vecs, bool masked);
  void move_tile(int rows, int vecs, bool to_memory);
  void contract_epilogue(int rows, int vecs, bool masked);
  void contract_epilogue_row(int vecs, bool masked);
  void contract_shared_epilogue(int vecs, bool masked);
  void contract_next_row();
  bool shares_epilogue() const;
  void contract_pointers();
  // write_multiply.cpp: ... their inner loop
  void multiply_tile(int rows, int vecs, bool masked);
  void multiply_steps(int rows, int vecs, bool masked, int width);
  void multiply_step(int rows, int vecs, bool masked, int width, int step);
  void multiply_add(const x86::Vec& acc, const x86::Vec& left, const asmjit::Operand_& right);
  x86::Vec tile_accumulator(int i) const { return as_->vec(registers() - 1 - i, contract_type()); }
  vir::Type contract_type() const { return red_->acc[0].info.type; }
  bool is_side(size_t operand) const {
    const auto o = static_cast<int>(operand);
    return contraction_ && (o == contraction_->left.operand || o == contraction_->right.operand);
  }

  const jit::loop::LoopKernel& k_;
  Isa isa_;
  int lanes_ = 0;
  int vector_axis_, seq_;
  bool inner_ = false, outer_form_ = false;
  int row_axis_ = -1;
  Template body_, epilogue_;
  std::unique_ptr<Assembly> as_;
  Schedule schedule_;
  Addressing full_, masked_;
  std::unique_ptr<Copies> copies_;
  Block single_;                                       // maps: one vector's code
  std::unique_ptr<Copies> hot_copies_;                 // reductions: of the unrolled loop
  std::unique_ptr<Copies> rows_copies_, rows_masked_;  // inner reductions: of several rows
  std::vector<int> outer_;                             // parallel axes around the row, outermost first
  std::vector<int32_t> counters_, lane_offsets_;
  std::vector<std::vector<int32_t>> deltas_;  // frame, of each level and operand
  std::vector<int32_t> row_pointer_frame_;    // outer forms: of each operand at the start of the row
  Shape shape_;
  bool single_loop_ = false;  // one copy of the body, always masked
  int32_t limit_ = -1;
  int32_t rest_ = -1;  // frame, maps: indices of a row after the steps of whole vectors; -1: a loop does them
  int32_t trips_left_ = -1;  // frame: iterations of the current repeat
  int32_t split_row_ = -1,
          split_block_ = -1;  // frame: place of the current row and block in a split reduction's memory

  std::unique_ptr<ReductionState> red_;
  std::vector<int> tile_heights_;
  int row_operand_ = -1;  // the operand whose rows get pointers of their own
  bool rows_ = false;     // inner reductions: several rows at once where they are short

  std::optional<ContractionForm> contraction_;
  std::vector<int> tile_widths_;    // whole tiles, widest first, in vectors
  std::vector<uint16_t> tile_row_;  // variables: a row's accumulators in the epilogue
  /// Frame: the two sides as ContractionPlan has them; where the current tile's rows and columns start, and
  /// its accumulators when those are resumed or suspended.
  struct {
    int32_t left, left_row, right, right_step, right_chunk, steps, tile, flags, left_now, split, spilled;
    int32_t spilled_bytes, first_row, back;  // of a shared epilogue
  } at_{};
  asmjit::Label shared_epilogue_;  // ... of the width being written

 public:
  ~KernelWriter();
};

}  // namespace lazy::cpu_backend
