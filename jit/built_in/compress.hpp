// Keeps what a mask selects: rows of a value, or the positions of what is true.
//
// Operands: a mask of one dimension; a value of shape (count, 0), which has no bytes, but the number of
// elements that are true: so that the output's extent is an operand's, and no key has it; and the value to
// select rows of, (n, ...) -> (count, ...). Without that the output has the positions, int64, (count).
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

extern const CallDefinition kCompress;

}  // namespace lazy::jit::calls
