// Joins operands of one dtype along an axis, with one copy of each.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct ConcatAttributes {
  uint8_t axis = 0;
};
extern const CallDefinition kConcat;

/// Returns the bytes that one index of all axes before the joined one covers, in an operand or the output.
int64_t run_bytes(const Meta&, int axis);

}  // namespace lazy::jit::calls
