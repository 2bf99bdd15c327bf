// One kernel's machine code: loops around blocks.
#pragma once
#include <memory>
#include <string>

#include "backends/cpu/emitter/assembly.hpp"
#include "backends/cpu/emitter/copies.hpp"
#include "backends/cpu/emitter/encode.hpp"

namespace lazy::cpu {

/// Modes of a launch (word ArgLayout::kScratch): partial results of blocks go to, or come from, memory.
enum class Mode : uint64_t { full, write_partials, combine_partials };

/// What was decided, for dumps.
struct Schedule {
  Isa isa{};
  int lanes = 0, vectors = 1, rows = 1, steps = 1, spills = 0, frame_bytes = 0, instructions = 0;
};

class KernelWriter {
 public:
  KernelWriter(const jit::loop::LoopKernel&, Isa);
  /// Writes everything into code().
  void write();
  asmjit::CodeHolder& code() { return as_->code; }
  const Schedule& schedule() const { return schedule_; }

 private:
  using Label = asmjit::Label;
  using Stride = jit::loop::Stride;

  // kernel_writer.cpp: what surrounds every form
  void choose_lanes();
  void assign_pointers();
  void enter(const Label& done);
  void widen_scalars();
  void lane_offsets();
  void outer_axes();
  void nest(size_t level);
  void bump(int operand, const x86::Mem& amount);
  void bump(int operand, int64_t amount);
  void write_block(const Block&, const Addressing&);
  /// rcx: lanes left along the vector axis, cut to a whole vector; sets the tail mask.
  void set_tail();
  void row();
  int registers() const { return as_->avx512() ? 32 : 16; }
  int64_t byte_width(int operand) const { return static_cast<int64_t>(size_of(k_.operands[static_cast<size_t>(operand)].dtype)); }

  // write_map.cpp
  void plan_map();
  void row_map();
  // write_inner.cpp: lanes run along the reduced axis
  void plan_inner();
  void row_inner();
  void inner_block_loop(const Label& finished);
  void fold_inner();
  void finish_inner();
  // write_outer.cpp: lanes run along a parallel axis; the sequential loop is innermost
  void plan_outer();
  void row_outer();
  void chunk_outer(Shape, bool masked);
  void steps_outer(Shape, const Addressing&);
  void advance_sequential(const Addressing&);
  void set_chunk_pointers();

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
  std::vector<int> outer_;                       // parallel axes around the row, outermost first
  std::vector<int32_t> counters_, lane_offsets_;
  std::vector<std::vector<int32_t>> deltas_;     // frame, of each level and operand
  std::vector<bool> moves_in_row_;               // operand pointers that live on the frame as row pointers (outer forms)
  std::vector<int32_t> row_pointer_frame_;
  Shape shape_;
  bool single_loop_ = false;                     // one copy of the body, always masked
  int32_t limit_ = -1;

  friend struct ReductionState;
  std::unique_ptr<struct ReductionState> red_;

 public:
  ~KernelWriter();
};

}  // namespace lazy::cpu
