// Selects elements by their places in the order of sort(), along the last axis: (..., n) and int64 places (m)
// give values (..., m) and where each was (int64), without sorting all where that takes longer.
#pragma once
#include <vector>

#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct SelectAttributes {
  uint8_t descending = 0;
};
extern const CallDefinition kSelect;

/// Returns the places that operand 1 of a run asks for, clamped to those that there are. There are elements.
std::vector<int64_t> places_of(const CallRun&);

}  // namespace lazy::jit::calls
