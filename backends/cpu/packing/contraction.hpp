// Describes contractions: sums over k of left(m, k) * right(k, n), where each side is one operand, perhaps
// widened. Generated code multiplies tiles of rows by vectors; both sides reach it either as they lie in
// memory or repacked by the launch (backends/cpu/products/contract.hpp).
#pragma once
#include <cstdint>
#include <optional>

#include "backends/cpu/machine/features.hpp"
#include "jit/ir/ir.hpp"

namespace lazy::cpu_backend {

/// Says what one step of a lane multiplies. pairs: two neighbouring k of int16 at once, into int32. quads:
/// four of uint8 by int8. A left side of int8 is then raised by 128, and sums start at what that adds.
/// halves: two neighbouring k of bfloat16, into float32.
enum class ContractionLane : uint8_t { f32, f64, i32, pairs, quads, halves };
constexpr int bytes_of(ContractionLane l) { return l == ContractionLane::f64 ? 8 : 4; }

struct ContractionSide {
  int operand = -1;
  DType from{};  // its element type
  /// True if elements are lanes as they lie in memory.
  bool plain(ContractionLane l) const {
    return l != ContractionLane::pairs && l != ContractionLane::halves &&
           static_cast<int>(size_of(from)) == bytes_of(l);
  }
};

struct ContractionForm {
  ContractionSide left, right;  // do not move along the vector axis; along the row axis
  ContractionLane lane{};
  int row_axis = -1;                     // -1: one row
  int lanes = 0, vectors = 0, rows = 0;  // a tile
  int narrow = 0;                        // vectors of the widest tile that need not be full
  bool masks = false;                    // the right side may be read in place whatever the number of columns
  /// Tile registers multiply: quads of bytes as they are, signed or not, and halves. Both sides then come in
  /// kTileSteps lanes a step, and are zero beyond the last.
  bool tiles = false;
  static constexpr int64_t kTileSteps = 16;
  /// True if one tile has so many columns of a row: it passes all of the right side once.
  bool one_tile(int64_t columns) const { return columns <= narrow * lanes || columns == vectors * lanes; }
};

/// Returns the sides of a kernel, a contract, that is such a contraction; nothing for others.
std::optional<ContractionForm> contraction_form(const jit::loop::LoopKernel&);

/// Says where the sides lie for the box of a launch, which has no axes but rows, columns and the summed one.
/// Word ArgLayout::kScratch + 1 of a launch points to one if word kScratch is not 0; else both sides are read
/// where the arguments say. Strides are in bytes.
struct ContractionPlan {
  const char* left = nullptr;  // lanes; neighbouring k side by side
  int64_t left_row = 0;
  /// Distances of tile registers' rows, and of the registers along k: blocks of ContractionForm::rows rows
  /// lie one register after the other, each block as many bytes as its rows times left_row.
  int64_t left_tile_row = 0, left_tile_step = 0;
  const char* right = nullptr;  // lanes; neighbouring columns side by side
  int64_t right_step = 0;       // from one k to the next; of quads, where sums start comes after the last
  int64_t right_chunk = 0;      // from the columns of one (widest) tile to the next
  int64_t steps = 0;            // k, or pairs or quads of them
  /// Points to accumulators in memory, tile after tile: a long sum is done in parts that fit the caches.
  /// Owned by the launch.
  char* tiles = nullptr;
  int64_t flags = 0;
  static constexpr int64_t kResume = 1, kSuspend = 2;
  /// Returns the flags of a launch of `steps` of `all` indices of the sequential axis, from `first` on.
  static int64_t flags_of(int64_t first, int64_t steps, int64_t all) {
    return (first > 0 ? kResume : 0) | (first + steps < all ? kSuspend : 0);
  }
};

}  // namespace lazy::cpu_backend
