// Declares the writer of kernels whose axes are all parallel.
#pragma once
#include "backends/cpu/emitter/kernel_writer.hpp"

namespace lazy::cpu_backend {

/// Writes full vectors several at a time, then the rest of the row under the tail mask.
class MapWriter final : public KernelWriter {
 public:
  MapWriter(const jit::loop::LoopKernel& k, Isa isa) : KernelWriter(k, isa) {}

 private:
  void plan() override;
  void row() override;
  int order_long_body();
  void plan_rolled_loops();
  void write_sections(Shape, const Addressing&);

  std::unique_ptr<Copies> copies_;
  Block single_;              // one vector's code
  bool single_loop_ = false;  // one copy of the body, always masked
  int32_t limit_ = -1;        // frame: the last index at which steps of full vectors begin
  int32_t rest_ = -1;         // frame: indices of a row after the steps of full vectors; -1: a loop does them
  int32_t trips_left_ = -1;   // frame: iterations of the current rolled loop
};

}  // namespace lazy::cpu_backend
