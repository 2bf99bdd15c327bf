// Declares the writer of reductions along the vector axis.
#pragma once
#include <array>

#include "backends/cpu/emitter/reduction_writer.hpp"

namespace lazy::cpu_backend {

class InnerReductionWriter final : public ReductionWriter {
 public:
  InnerReductionWriter(const jit::loop::LoopKernel& k, Isa isa) : ReductionWriter(k, isa) {}

 private:
  void prepare() override { rows_ = suits_rows(); }
  int pointers_for_rows() const override { return rows_ ? 4 : 0; }
  void plan() override;
  void row() override;
  void decide_once();
  struct RowLabels;
  void jump_if_one_block(const Label&);
  void rows_where_short(const Label& then);
  void begin_row(const RowLabels&);
  void begin_block();
  void accumulate();
  void find_operand_ahead();
  bool reads_near_rows() const;
  void fetch_ahead();
  void fetch_rows_ahead(const Addressing&);
  void end_block(const RowLabels&, const Label& from_memory);
  void write_rest_of_block();
  void single_vectors();
  // These functions, in inner_reduction_rows.cpp, do several rows at once, of operands of which one moves
  // from row to row.
  bool suits_rows() const;
  void plan_rows();
  void begin_rows();
  bool suits_parting() const;
  void put_in_order(const std::vector<uint16_t>& vectors);
  void rows_within_a_vector(int width, const Addressing& masked);
  void hold(const std::vector<uint16_t>& variables);
  std::array<Addressing, 2> address_rows();
  void reduce_rows();
  void accumulate_rows(const Addressing& whole, const Addressing& masked);
  bool suits_one_epilogue() const;
  void fold_rows(int width);
  void row_epilogues();
  void one_epilogue(int rows);
  // These, in inner_reduction_gathered.cpp, compute a long epilogue for as many rows as a vector has lanes.
  bool suits_gathering() const;
  void jump_unless_gathering(const Label&);
  void gather(int rows);
  void gathered_epilogue();

  std::unique_ptr<Copies> copies_, hot_copies_;        // copies of one vector; of the unrolled loop
  std::unique_ptr<Copies> rows_copies_, rows_masked_;  // copies of several rows
  int row_operand_ = -1;                               // the operand that moves from row to row
  int ahead_operand_ = -1;                // the operand of which the next block's elements are prefetched
  bool ahead_of_row_ = false;             // so where one row goes at a time, too
  int32_t ahead_ = -1;                    // frame: how many bytes on they are; 0 if no block comes next
  bool rows_ = false;                     // several rows go at once where they are short
  bool parted_ = false;                   // their elements are loaded as Addressing::parted says
  bool one_epilogue_ = false;             // their epilogue is one, a lane each
  bool gathers_ = false;                  // results of rows wait for a vector of them where that pays
  int32_t gathered_ = -1, waiting_ = -1;  // frame: these results; how many there are
  uint32_t rows_kept_ = 0;                // registers of what is loaded once for each of them
};

}  // namespace lazy::cpu_backend
