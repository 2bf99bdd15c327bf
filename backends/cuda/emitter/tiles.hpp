// Recognises contractions of two operands, each perhaps converted: what the tiled writer takes.
#pragma once
#include <optional>

#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// A tile of results, computed by one block of threads: kTile rows and columns, of which a thread has kSide
/// times kSide, in steps of kDepth along the sequential axis.
inline constexpr int kTile = 64, kSide = 4, kDepth = 16;

struct TileForm {
  jit::loop::ValueId left{},
      right{};  // the sides' values: left does not move along the columns, right not along the rows
  int row_axis = -1, column_axis = -1;
};
/// Returns the form of such a kernel; nothing where it is another contraction.
std::optional<TileForm> tile_form(const jit::loop::LoopKernel&);

/// Rows and columns of a tile on tensor cores; of the smaller one where there would be few of the larger, or
/// sides cannot be loaded 16 bytes at a time.
inline constexpr int kMmaTiles[] = {128, 64};

/// Returns the operand from which a side is loaded, perhaps converted; -1 if it is computed.
int side_operand(const jit::loop::LoopKernel&, jit::loop::ValueId);

/// The operands of a contraction that tensor cores take: of the same 16-bit type, summed in float32.
struct MmaForm {
  int left = -1, right = -1;  // as in TileForm
};
std::optional<MmaForm> mma_form(const jit::loop::LoopKernel&);

}  // namespace lazy::cuda_backend
