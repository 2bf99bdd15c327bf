// Declares contractions of two operands, each perhaps converted, that are computed by tiles of results.
#pragma once
#include "jit/ir/ir.hpp"

namespace lazy::cuda_backend {

/// Give the size of a tile of results, computed by one block of threads: kTile rows and columns, of which a
/// thread has kSide times kSide, in steps of kDepth along the sequential axis.
inline constexpr int kTile = 64, kSide = 4, kDepth = 16;

/// True if the kernel is a contraction that tiles are written for: each side is a load, perhaps cast once,
/// and there is a row axis.
bool has_tiles(const jit::loop::LoopKernel&);

/// Give the rows and columns of a tile on tensor cores; the smaller one is for where there would be few of
/// the larger, or sides cannot be loaded 16 bytes at a time.
inline constexpr int kMmaTiles[] = {128, 64};

/// Returns the operand from which a side is loaded; the side is not computed.
int operand_of(const jit::loop::LoopKernel&, const jit::loop::Side&);
/// True if tensor cores take the contraction: it has tiles, and both sides are loaded as one 16-bit float
/// type and summed in float32.
bool fits_tensor_cores(const jit::loop::LoopKernel&);

}  // namespace lazy::cuda_backend
