// Operands of one dtype one after the other along an axis, as one copy of each.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

struct ConcatAttributes {
  uint8_t axis = 0;
};
extern const CallDefinition kConcat;

/// Bytes of one index of all axes before the joined one: of each operand, and of the output.
int64_t run_bytes(const Meta&, int axis);

}  // namespace lazy::jit::calls
