// Says how the values of ranks are combined.
#pragma once
#include <cstdint>

namespace lazy::distributed {

/// Says how the values of all ranks become one. mean: their sum over the number of ranks.
enum class ReduceOp : uint8_t { none, sum, mean, min, max, prod };

}  // namespace lazy::distributed
