// Describes the two matrices that a launch of a contraction multiplies, and copies parts of them into the
// order that generated code reads.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cpu/packing/contraction.hpp"
#include "backends/cpu/packing/folded.hpp"
#include "backends/cpu/packing/pack.hpp"
#include "jit/backend/backend.hpp"

namespace lazy::cpu_backend {

/// Says where the elements of a folded side are: bytes from its first one, by row and by column.
struct FoldedPlaces final : jit::FoldedOperand {
  FoldedPlaces(int o, FoldedSide s, std::vector<int64_t> r, std::vector<int64_t> c)
      : FoldedOperand(o), side(std::move(s)), row(std::move(r)), column(std::move(c)) {}

  FoldedSide side;
  std::vector<int64_t> row, column;
};

/// Describes the two matrices at one index of the other axes. Strides are in bytes.
struct ContractionSides {
  const char *left, *right;
  int64_t left_row, left_step, right_step, right_column;
  int64_t rows, steps, columns;
  const FoldedPlaces *left_places = nullptr, *right_places = nullptr;  // null: not folded
};

/// Copies parts of sides as lanes, in the order in which tiles take them.
class SidePacker {
 public:
  explicit SidePacker(const ContractionForm& f) : form_(f), element_(bytes_of(f.lane)) {}

  bool left_in_place(const ContractionSides&) const;
  bool right_in_place(const ContractionSides&) const;
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
  /// Returns the bytes of so many packed rows; of tile registers, all rows of their last block have a place.
  int64_t left_bytes(int64_t rows, int64_t pitch) const {
    return (form_.tiles ? (rows + form_.rows - 1) / form_.rows * form_.rows : rows) * pitch;
  }

  void pack_left(const ContractionSides&, int64_t row, int64_t rows, int64_t step, int64_t steps, char* to,
                 int64_t pitch) const;
  /// Packs `width` columns a step; what is beyond `columns` becomes zero.
  void pack_right(const ContractionSides&, int64_t step, int64_t steps, int64_t column, int64_t columns,
                  char* to, int64_t width) const;

 private:
  void pack_left_tiles(const PackSource&, int64_t rows, int64_t steps, char* to, int64_t pitch) const;

  ContractionForm form_;
  int64_t element_;  // bytes of a lane
};

}  // namespace lazy::cpu_backend
