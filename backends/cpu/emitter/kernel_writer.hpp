// Declares the writer of one kernel's machine code: loops around blocks. Everything that all forms have is
// here; the classes derived from it each write one kind of loop nest.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/cpu/emitter/assembly.hpp"
#include "backends/cpu/emitter/copies.hpp"
#include "backends/cpu/emitter/encode.hpp"
#include "backends/cpu/packing/contraction.hpp"

namespace lazy::cpu_backend {

/// Says what was decided, for dumps.
struct Schedule {
  Isa isa{};
  int lanes = 0, vectors = 1, rows = 1, steps = 1, spills = 0, frame_bytes = 0;
  int instructions = 0, epilogue = 0;  // of the body, for each index; of the epilogue
  int epilogue_rows = 1;               // reductions: results that wait for each other before a long epilogue
  bool streams = false;                // maps: the stores can bypass the caches
};

class KernelWriter {
 public:
  /// Returns the writer for the kernel's form. It refers to the kernel, which must outlive it.
  static std::unique_ptr<KernelWriter> of(const jit::loop::LoopKernel&, Isa);
  static std::unique_ptr<KernelWriter> of(jit::loop::LoopKernel&&, Isa) = delete;
  KernelWriter(const KernelWriter&) = delete;
  virtual ~KernelWriter();
  /// Writes everything into code().
  void write();
  asmjit::CodeHolder& code() { return as_->code; }
  const Schedule& schedule() const { return schedule_; }
  /// Returns the form of a contraction that backends/cpu/products/contract.hpp launches; nothing for other
  /// kernels.
  virtual std::optional<ContractionForm> contraction() const { return {}; }

 protected:
  using Label = asmjit::Label;
  using Stride = jit::loop::Stride;

  KernelWriter(const jit::loop::LoopKernel&, Isa);

  // These functions are what a form adds, in the order in which they are called.

  /// Decides what must be known before operands get their pointers; the body has been selected.
  virtual void prepare() {}
  /// Returns how many of the registers for pointers the form reserves for the rows of a tile.
  virtual int pointers_for_rows() const { return 0; }
  /// True if the form itself computes the operand's address.
  virtual bool is_side(size_t /*operand*/) const { return false; }
  /// Writes what a launch does first.
  virtual void begin() {}
  /// Decides how much goes at once, and writes what the outer loops need only once.
  virtual void plan() = 0;
  /// Writes the code for one index of the outer axes.
  virtual void row() = 0;
  /// Writes the step to the next index of the sequential axis.
  virtual void advance_sequential(const Addressing&) {}

  // These functions are what forms use.

  void write_block(const Block&, const Addressing&);
  /// Moves pointers and counter of an outer axis to its next index; rcx: the counter.
  void next_index(size_t level);
  /// Moves those of the innermost outer axis by `n` indices.
  void skip_indices(int n);
  /// Moves them by `n` indices where the operands of `alike` are rcx bytes a row apart, as the last thing
  /// that row() does: it goes on with the row that comes then.
  void go_on_after(int n, const std::vector<uint8_t>& alike);
  /// Sets the tail mask. rcx: lanes left along the vector axis, at most a full vector.
  void set_tail();
  /// Puts what is left of rcx indices after steps of so many vectors, a power of two, into the frame at
  /// `rest`; sets the tail of the last vector of it.
  void set_rest(int32_t rest, int vectors);
  /// Writes that rest out: vector v in full, or as the last one under the mask.
  void write_rest(int32_t rest, int vectors, const std::function<void(int v)>& whole,
                  const std::function<void(int v)>& last);
  int registers() const { return as_->avx512() ? 32 : 16; }
  int64_t byte_width(int operand) const {
    return static_cast<int64_t>(size_of(k_.operands[static_cast<size_t>(operand)].dtype));
  }

  const jit::loop::LoopKernel& k_;
  const Isa isa_;
  int lanes_ = 0;  // of a vector
  const int vector_axis_, seq_;
  bool inner_ = false;       // lanes run along the reduced axis
  bool outer_form_ = false;  // the sequential axis is not the vector axis: rows' pointers are on the frame
  int row_axis_ = -1;        // contractions: the axis of a tile's rows, or -1
  std::vector<int> outer_;   // parallel axes around the row, outermost first
  Template body_, epilogue_;
  std::unique_ptr<Assembly> as_;
  Schedule schedule_;
  Addressing full_, masked_;                // of full vectors; of one under the tail mask
  Shape shape_;                             // what goes at once
  std::vector<int32_t> counters_;           // frame, by axis: the current index
  std::vector<int32_t> row_pointer_frame_;  // frame, outer forms: each operand at the start of the row

 private:
  void choose_lanes();
  void assign_pointers();
  void enter(const Label& done);
  void copy_transposed(const Label& done);
  void widen_scalars();
  void lane_offsets();
  void outer_axes();
  void nest(size_t level);
  void bump(int operand, const x86::Mem& amount);
  void bump(int operand, int64_t amount);

  std::vector<int32_t> lane_offsets_;         // frame, by operand
  Label next_row_;                            // where the innermost outer loop compares its counter, in rcx
  std::vector<std::vector<int32_t>> deltas_;  // frame, of each level and operand
};

}  // namespace lazy::cpu_backend
