// Combines the values of ranks. Internal to lazy/distributed.
#pragma once
#include <cstdint>
#include <span>

#include "jit/core/dtype.hpp"
#include "lazy/distributed/sums/reduce_op.hpp"

namespace lazy::distributed::detail {

/// Combines the n elements of each rank, in the order of the ranks: sums of 16-bit floats in float32. `to`
/// may be one of `from`.
void combine_ranks(DType t, ReduceOp r, std::span<const char* const> from, char* to, int64_t n);

}  // namespace lazy::distributed::detail
