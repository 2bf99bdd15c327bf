// The executor.
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Runs the program: afterwards every pending value with a handle has its buffer. Throws what allocation, a
/// kernel or a call throws; then no node was changed. But what must not run twice and has run stands: the
/// values are there, of the nodes in CapturedGraph::stands.
void run(const Program&, CapturedGraph&, Backend&);

}  // namespace lazy::jit
