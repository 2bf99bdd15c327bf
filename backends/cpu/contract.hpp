// Launches contractions: decides how much of the sides is copied into better order, and which thread computes
// which block.
// Invariant: the order of every sum is that of the kernel, whatever is decided here.
#pragma once
#include <span>

#include "backends/cpu/packing/contraction.hpp"
#include "backends/cpu/packing/folded.hpp"
#include "backends/cpu/packing/pack.hpp"
#include "backends/cpu/threads/parallel.hpp"

namespace lazy::cpu_backend {

class Contraction {
 public:
  Contraction(const jit::loop::LoopKernel&, const ContractionForm&);
  /// Describes a side that lies where `copy`, launched with `args`, would read it: the copy was not made.
  struct Folded {
    int operand;
    const Partition* copy;
    const uint64_t* args;
  };
  /// True if run() can read the operand so.
  bool folds(const Partition&, const uint64_t* args, const Folded&) const;
  /// Runs the launch on at most so many threads.
  void run(const Partition&, Partition::Entry, uint64_t* args, int threads,
           std::span<const Folded> = {}) const;

 private:
  /// Says where the elements of a folded side are: bytes from its first one, by row and by column.
  struct Places {
    FoldedSide side;
    std::vector<int64_t> row, column;
  };
  /// Describes the two matrices at one index of the other axes. Strides are in bytes.
  struct Sides {
    const char *left, *right;
    int64_t left_row, left_step, right_step, right_column;
    int64_t rows, steps, columns;
    const Places *left_places = nullptr, *right_places = nullptr;  // null: not folded
  };
  /// Holds what one launch is given: its box, code and threads.
  struct Launch {
    const Partition& box;
    Partition::Entry entry;
    int threads;
    const Places *left = nullptr, *right = nullptr;
  };
  /// Holds the rows and columns of one matrix that a thread multiplies.
  struct Block {
    int64_t row, rows, column, columns;
  };
  Sides sides(const Launch&, const uint64_t* args) const;
  /// Returns the axes of one side: rows, columns, all others.
  std::vector<SideAxis> axes_of(const Partition&, const uint64_t* args, int operand) const;
  void run_all(Launch, uint64_t* args) const;
  bool left_in_place(const Sides&) const;
  bool right_in_place(const Sides&) const;
  /// Returns how many indices of the sequential axis one lane has.
  int64_t in_lane() const {
    return form_.lane == ContractionLane::quads                                            ? 4
           : form_.lane == ContractionLane::pairs || form_.lane == ContractionLane::halves ? 2
                                                                                           : 1;
  }
  int64_t lane_steps(int64_t steps) const {
    const int64_t whole = form_.tiles ? ContractionForm::kTileSteps : 1;
    return (steps + in_lane() * whole - 1) / (in_lane() * whole) * whole;
  }
  /// Returns how many rows of a packed right side say where sums start.
  int64_t starts() const { return form_.lane == ContractionLane::quads && !form_.tiles; }
  int64_t near_bytes(bool far) const;
  void in_place(const Launch&, const Sides&, uint64_t* args) const;
  int64_t near_steps(const Sides&) const;
  bool is_long_and_narrow(const Sides&) const;
  void part_by_part(const Launch&, const Sides&, int64_t part, const Block&, uint64_t* args) const;
  void in_parts(const Launch&, const uint64_t* args) const;
  bool left_stays_near(const Launch&, const Sides&) const;
  void one_matrix(const Launch&, uint64_t* args) const;
  /// True if there are registers of 64 bytes.
  bool wide() const { return form_.lanes * element_ == 64; }
  bool takes_dots(const Sides&) const;
  void dots(const Launch&, const Sides&, const uint64_t* args) const;
  void row_in_order(const Launch&, const Sides&, const uint64_t* args) const;
  void few_rows(const Launch&, const Sides&, const uint64_t* args) const;
  void many_rows(const Launch&, const Sides&, const uint64_t* args) const;
  void pack_left(const Sides&, int64_t row, int64_t rows, int64_t step, int64_t steps, char* to,
                 int64_t pitch) const;
  void pack_left_tiles(const PackSource&, int64_t rows, int64_t steps, char* to, int64_t pitch) const;
  /// Returns the bytes of so many packed rows; of tile registers, all rows of their last block have a place.
  int64_t left_bytes(int64_t rows, int64_t pitch) const {
    return (form_.tiles ? (rows + form_.rows - 1) / form_.rows * form_.rows : rows) * pitch;
  }
  void pack_right(const Sides&, int64_t step, int64_t steps, int64_t column, int64_t columns, char* to,
                  int64_t width) const;
  void launch(const Launch&, const ContractionPlan&, uint64_t* args) const;

  ContractionForm form_;
  int vector_axis_, sequential_;
  std::vector<int> outer_;  // axes other than rows, columns and the sequential one
  int64_t element_;         // bytes of a lane
};

}  // namespace lazy::cpu_backend
