// Names what ranks do together. Internal to lazy/distributed.
#pragma once
#include <cstdint>

namespace lazy::distributed {

/// Says how the values of all ranks become one. mean: their sum over the number of ranks.
enum class ReduceOp : uint8_t { none, sum, mean, min, max, prod };

namespace detail {

enum class Kind : uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, barrier };

inline const char* name_of(Kind k) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter",
                                    "broadcast",  "all_to_all", "barrier"};
  return kNames[static_cast<int>(k)];
}
inline const char* name_of(ReduceOp r) {
  constexpr const char* kNames[] = {"", "sum", "mean", "min", "max", "prod"};
  return kNames[static_cast<int>(r)];
}

}  // namespace detail
}  // namespace lazy::distributed
