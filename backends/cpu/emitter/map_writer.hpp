// Declares the writer of kernels whose axes are all parallel.
#pragma once
#include "backends/cpu/emitter/kernel_writer.hpp"

namespace lazy::cpu_backend {

/// Writes full vectors several at a time, then the rest of the row under the tail mask. What reads much that
/// is the same in every row, as a depthwise convolution its weights, takes several rows at a time.
class MapWriter final : public KernelWriter {
 public:
  MapWriter(const jit::loop::LoopKernel& k, Isa isa) : KernelWriter(k, isa) {}

 private:
  int pointers_for_rows() const override { return suits_rows_ ? kMostRows - 1 : 0; }
  void prepare() override;
  void plan() override;
  void row() override;
  int order_long_body();
  void plan_rolled_loops();
  void write_sections(Shape, const Addressing&);
  // map_rows.cpp
  bool find_rows_alike();
  int plan_rows();
  void begin_rows();
  void several_rows(int rows);

  static constexpr int kMostRows = 4;
  bool suits_rows_ = false;
  std::vector<uint8_t> rows_alike_;      // by operand: it is read in rows, several of them together
  std::unique_ptr<Copies> rows_copies_;  // of several rows
  int rows_vecs_ = 1;                    // vectors of each of several rows at once
  int32_t rows_apart_ = -1;              // frame: bytes between rows of these operands; 0: they differ
  int32_t rows_limit_ = -1;              // frame: as limit_, of several rows
  std::unique_ptr<Copies> copies_;
  Block single_;              // one vector's code
  bool single_loop_ = false;  // one copy of the body, always masked
  int32_t limit_ = -1;        // frame: the last index at which steps of full vectors begin
  int32_t rest_ = -1;         // frame: indices of a row after the steps of full vectors; -1: a loop does them
  int32_t trips_left_ = -1;   // frame: iterations of the current rolled loop
};

}  // namespace lazy::cpu_backend
