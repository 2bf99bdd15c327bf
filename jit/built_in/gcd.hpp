// Finds greatest common divisors, by a loop whose length depends on the values.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

extern const CallDefinition kGcd;

}  // namespace lazy::jit::calls
