// Holds what all launches of one contraction have in common, and what each of them is given.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cpu/products/grid.hpp"
#include "backends/cpu/products/sides.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/arithmetic.hpp"

namespace lazy::cpu_backend {

/// Holds what one launch is given: its box, code and threads.
struct ProductLaunch {
  const Partition& box;
  Partition::Entry entry;
  int threads;
  const FoldedPlaces *left = nullptr, *right = nullptr;
  const char* packed = nullptr;  // the right side of this matrix, or of all; null: not packed yet
};

/// Says how all of a right side lies that was packed once for all launches: parts of the sequential axis, in
/// each part chunks of columns one after the other. It depends on the form of the kernel and on the matrix.
struct PackedRight {
  int64_t width;        // columns of a chunk
  int64_t part, parts;  // indices of the sequential axis in a part; parts
  int64_t chunks, chunk_bytes;
  int64_t part_bytes() const { return chunks * chunk_bytes; }
  int64_t bytes() const { return parts * part_bytes(); }
};

/// Describes the products that one kernel computes: matrices along `outer`, each of rows by columns, summed
/// along `sequential`.
struct Product {
  Product(const jit::loop::LoopKernel&, const ContractionForm&);

  ContractionSides sides(const ProductLaunch&, const uint64_t* args) const;
  /// Returns the number of matrices.
  int64_t matrices(const Partition&, const uint64_t* args) const;
  /// Moves args, a copy, to one of the matrices. Returns which of the packed right sides it multiplies.
  int64_t select(const Partition&, int64_t matrix, uint64_t* args) const;
  /// Moves args, a copy, to the block.
  void restrict(const ProductLaunch&, const ContractionBlock&, uint64_t* args) const;
  /// Runs the code of the launch by the plan.
  void launch(const ProductLaunch&, const ContractionPlan&, uint64_t* args) const;

  /// True if there are registers of 64 bytes.
  bool wide() const { return form.lanes * element == 64; }
  /// Returns the bytes of all of the right side, as lanes.
  int64_t right_bytes(const ContractionSides& s) const { return s.steps * s.columns * element; }
  /// Returns the bytes of the right side that are copied at a time when a block of it is used once.
  int64_t near_bytes(bool far) const;
  /// Returns the steps of which all columns stay in the second-level cache while tiles of rows pass, 0 if
  /// those are too few.
  int64_t near_steps(const ContractionSides&) const;
  /// Returns how many columns each thread takes.
  int64_t columns_each(const ProductLaunch& l, const ContractionSides& s) const {
    return round_up(divide_up(s.columns, l.threads), form.lanes);
  }
  /// True if a launch by packed sides copies the right one.
  bool copies_right(const ContractionSides& s) const {
    return !packer.right_in_place(s) || s.rows >= kRowsWorthPacking;
  }
  PackedRight packed_right(const ContractionSides&) const;

  // A right side that may be read in place is not worth copying for fewer rows than this.
  static constexpr int64_t kRowsWorthPacking = 96;

  ContractionForm form;
  SidePacker packer;
  int vector_axis, sequential;
  std::vector<int> outer;  // axes other than rows, columns and the sequential one
  int64_t element;         // bytes of a lane
};

/// Returns the bytes beyond which a right side is read from memory, or mostly so.
int64_t far_bytes();

}  // namespace lazy::cpu_backend
