// Declares the writer of reductions and scans along an axis that is not the vector axis.
#pragma once
#include "backends/cpu/emitter/reduction_writer.hpp"

namespace lazy::cpu_backend {

/// Writes them with lanes as neighbouring results; the sequential loop is innermost.
class OuterReductionWriter final : public ReductionWriter {
 public:
  OuterReductionWriter(const jit::loop::LoopKernel& k, Isa isa) : ReductionWriter(k, isa) {}

 private:
  int pointers_for_rows() const override { return 5; }
  void plan() override;
  void row() override;
  void advance_sequential(const Addressing&) override;
  int margin() const;
  Shape chunk_shape(int partials, bool tiles);
  void pin_registers(int partials);
  void choose_row_operand();
  void rows(int vecs, bool masked);
  void chunk(Shape, bool masked);
  void blocks(Shape, const Addressing&);
  void unrolled_steps(Shape, const Addressing&);
  void single_steps(Shape, const Addressing&);
  void straight(Shape, const Addressing&);
  void set_chunk_pointers(Shape, Addressing&);

  std::unique_ptr<Copies> copies_, hot_copies_;  // of one step; of the unrolled loop
  int row_operand_ = -1;                         // the operand whose rows get separate pointers; -1: none
};

}  // namespace lazy::cpu_backend
