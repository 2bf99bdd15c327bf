// Cuts the rows and columns of one matrix into pieces that take threads about equally long.
#pragma once
#include <cstdint>

#include "backends/cpu/packing/contraction.hpp"

namespace lazy::cpu_backend {

/// Holds the rows and columns that a thread multiplies.
struct ContractionBlock {
  int64_t row, rows, column, columns;
};

/// Describes pieces of a matrix: all have as many rows and columns but the last ones.
struct ContractionGrid {
  int64_t all_rows, all_columns;
  int64_t rows, columns;  // of a piece
  int64_t across;         // pieces side by side
  int64_t pieces;

  ContractionBlock block(int64_t piece) const;
};

/// Returns the grid of no more pieces than threads whose largest piece takes least time. `far` says that the
/// right side comes from beyond the second-level cache.
ContractionGrid grid_of(const ContractionForm&, int64_t rows, int64_t columns, int64_t threads, bool far);

}  // namespace lazy::cpu_backend
