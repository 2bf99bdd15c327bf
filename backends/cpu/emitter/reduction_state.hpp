// Where a reduction's accumulators are while its loops run.
#pragma once
#include "backends/cpu/emitter/isel.hpp"

namespace lazy::cpu {

struct ReductionState {
  std::vector<AccumulatorInfo> info;
};

}  // namespace lazy::cpu
