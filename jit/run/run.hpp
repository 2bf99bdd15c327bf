// The executor.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Runs the program: afterwards every pending value with a handle has its buffer. Throws what allocation or a
/// kernel throws; then no node was changed.
void run(const Program&, CapturedGraph&, Backend&);

}  // namespace lazy::jit
