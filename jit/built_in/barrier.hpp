// Defines the call `barrier`: its output is its operand, but nothing computed from one is merged with what
// was computed from the other. So what is to be computed again is (lazy/autograd/checkpoint.cpp).
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

extern const CallDefinition kBarrier;

}  // namespace lazy::jit::calls
