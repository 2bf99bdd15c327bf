// Contractions of two operands, each perhaps widened: what the tiled writer takes.
#pragma once
#include <optional>

#include "jit/loop/ir.hpp"

namespace lazy::cuda_backend {

struct TileForm {
  int left = -1, right = -1;  // operands; left does not move along `column_axis`, right not along `row_axis`
  int row_axis = -1, column_axis = -1;
};
/// Nothing where a kernel is another contraction.
std::optional<TileForm> tile_form(const jit::loop::LoopKernel&);

}  // namespace lazy::cuda_backend
