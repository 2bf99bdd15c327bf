// Sorts along the last axis: values, and where each was (int64).
//
// Ascending or descending, NaN last in both; elements that compare equal, NaNs and the two zeros among them,
// keep their order. So the result is unique, however it is computed.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct SortAttributes {
  uint8_t descending = 0;
};
extern const CallDefinition kSort;

}  // namespace lazy::jit::calls
