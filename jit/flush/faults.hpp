// Indices out of range: what is computed all the same, and what the user is told.
#pragma once
#include "jit/plan/faults.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Leaves the values out that depend on the one at fault, so that a flush can go on without them. False if
/// `wanted`, a node of the flush, is one of them: then nothing is changed.
bool leave_out_faulty(CapturedGraph&, const Fault&, const Node& wanted);

/// Throws the IndexError that names the index, the extent and the line that recorded the op; of several
/// indices the first in row-major order. `f`: as it was run, with its inputs as they were.
[[noreturn]] void explain(const Fault&, const CapturedGraph& f, Backend&);

}  // namespace lazy::jit
