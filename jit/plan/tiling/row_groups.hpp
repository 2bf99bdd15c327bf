// Finds the tile groups that a device runs as one kernel, row by row (jit/ir/rows.hpp).
#pragma once
#include <optional>

#include "jit/ir/rows.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns the tile group's steps as rows. Nothing if they have dimensions other than its levels and one
/// along the row, reduce anything but rows, or multiply matrices without being an attention. `loops` has all
/// steps' loop kernels.
std::optional<loop::FusedRows> rows_of(const Program&, const TileGroup&,
                                       const std::vector<loop::LoopKernel>& loops);

/// Reduces `p.tile_groups` to those that are rows; an attention has its softmax, which is rows, as a part.
/// Other tile groups with products stay as well: they are cut into blocks where their values in between are
/// large.
void keep_row_groups(Program& p, const std::vector<loop::LoopKernel>& loops);

}  // namespace lazy::jit
