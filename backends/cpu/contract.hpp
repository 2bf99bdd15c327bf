// Launches contractions: decides how much of the sides is copied into better order, and which thread computes
// which block.
// Invariant: the order of every sum is that of the kernel, whatever is decided here.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/contract_grid.hpp"
#include "backends/cpu/contract_sides.hpp"
#include "backends/cpu/threads/parallel.hpp"

namespace lazy::cpu_backend {

/// Says how all of a right side lies that was packed once for all launches: parts of the sequential axis, in
/// each part chunks of columns one after the other. It depends on the form of the kernel and on the matrix.
struct PackedRight {
  int64_t width;        // columns of a chunk
  int64_t part, parts;  // indices of the sequential axis in a part; parts
  int64_t chunks, chunk_bytes;
  int64_t part_bytes() const { return chunks * chunk_bytes; }
  int64_t bytes() const { return parts * part_bytes(); }
};

class Contraction {
 public:
  Contraction(const jit::loop::LoopKernel&, const ContractionForm&);
  /// Returns where the operand's elements are in the source of `copy`, which would be launched with
  /// `copy_args` but is not; null if run() could not read it there.
  std::unique_ptr<FoldedPlaces> fold(const Partition&, const uint64_t* args, int operand,
                                     const Partition& copy, const uint64_t* copy_args) const;
  /// Runs the launch on at most so many threads; `folded` are what fold() has returned.
  void run(const Partition&, Partition::Entry, uint64_t* args, int threads,
           std::span<const std::unique_ptr<jit::FoldedOperand>> folded = {}) const;
  /// Returns the bytes of the right side as a launch would pack it, 0 if it would not; appends what says in
  /// which order. See jit::Kernel::packing().
  size_t packing(const Partition&, const uint64_t* args, std::vector<uint64_t>& form) const;
  /// Packs all of the right side, for launches whose word kPacked says where it is.
  void pack(const Partition&, const uint64_t* args, char* to, int threads) const;

 private:
  /// Holds what one launch is given: its box, code and threads.
  struct Launch {
    const Partition& box;
    Partition::Entry entry;
    int threads;
    const FoldedPlaces *left = nullptr, *right = nullptr;
    const char* packed = nullptr;  // the right side of this matrix, or of all; null: not packed yet
  };
  ContractionSides sides(const Launch&, const uint64_t* args) const;
  /// Returns the axes of one side: rows, columns, all others.
  std::vector<SideAxis> axes_of(const Partition&, const uint64_t* args, int operand) const;
  void run_all(Launch, uint64_t* args) const;
  /// Says how a launch goes about it.
  enum class Way : uint8_t { nothing, row_in_order, in_place, in_parts, one_matrix };
  Way way_of(const ContractionSides&, int64_t matrices) const;
  /// Returns the number of matrices, and of those whose right sides differ.
  int64_t matrices(const Partition&, const uint64_t* args) const;
  /// Moves args, a copy, to one of the matrices. Returns which of the packed right sides it multiplies.
  int64_t select(const Partition&, int64_t matrix, uint64_t* args) const;
  // These functions, in contract_in_place.cpp, read both sides as they lie.
  void in_place(const Launch&, const ContractionSides&, uint64_t* args) const;
  int64_t near_steps(const ContractionSides&) const;
  bool is_long_and_narrow(const ContractionSides&) const;
  void part_by_part(const Launch&, const ContractionSides&, int64_t part, const ContractionBlock&,
                    uint64_t* args) const;
  void in_parts(const Launch&, const uint64_t* args) const;
  void row_in_order(const Launch&, const ContractionSides&, const uint64_t* args) const;
  // These, in contract_windows.cpp, read folded rows in place.
  bool windows_stay(const Launch&, const ContractionSides&) const;
  void windows_in_place(const Launch&, const ContractionSides&, uint64_t* args) const;
  // These, in contract_packed.cpp, multiply one matrix, copying sides where they must or should.
  void one_matrix(const Launch&, uint64_t* args) const;
  int64_t near_bytes(bool far) const;
  bool left_stays_near(const Launch&, const ContractionSides&) const;
  /// True if there are registers of 64 bytes.
  bool wide() const { return form_.lanes * element_ == 64; }
  bool takes_dots(const ContractionSides&) const;
  void dots(const Launch&, const ContractionSides&, const uint64_t* args) const;
  bool copies_right(const ContractionSides& s) const {
    return !packer_.right_in_place(s) || s.rows >= kRowsWorthPacking;
  }
  int64_t columns_each(const Launch&, const ContractionSides&) const;
  void pack_left(const Launch&, const ContractionSides&, char* to, int64_t pitch, const uint64_t* args) const;
  void few_rows(const Launch&, const ContractionSides&, const uint64_t* args) const;
  void many_rows(const Launch&, const ContractionSides&, const uint64_t* args) const;
  // These, in contract_kept.cpp, multiply by a right side that was packed before.
  PackedRight packed_right(const ContractionSides&) const;
  void few_rows_by_packed(const Launch&, const ContractionSides&, const uint64_t* args) const;
  /// Moves args, a copy, to the block.
  void restrict(const Launch&, const ContractionBlock&, uint64_t* args) const;
  void launch(const Launch&, const ContractionPlan&, uint64_t* args) const;
  /// Returns the bytes beyond which a right side is read from memory, or mostly so.
  static int64_t far_bytes();

  // A right side that may be read in place is not worth copying for fewer rows than this.
  static constexpr int64_t kRowsWorthPacking = 96;
  static constexpr int64_t kFarSteps = 8;  // rows of a right side in far memory that are read at once

  ContractionForm form_;
  SidePacker packer_;
  int vector_axis_, sequential_;
  std::vector<int> outer_;  // axes other than rows, columns and the sequential one
  int64_t element_;         // bytes of a lane
};

}  // namespace lazy::cpu_backend
