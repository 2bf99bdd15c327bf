// Handles indices out of range: what is computed all the same, and the error.
#pragma once
#include "jit/plan/faults.hpp"
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Drops the values that depend on the faulty one, so that a flush can go on without them. False if `wanted`,
/// a node of the flush, is one of them: then nothing is changed.
bool leave_out_faulty(CapturedGraph&, const Fault&, const Node& wanted);

/// Throws the IndexError that names the index, the extent and the line that recorded the op; of several
/// indices the first in row-major order. `f` is as it was run, with its inputs unchanged.
[[noreturn]] void explain(const Fault&, const CapturedGraph& f, Backend&);

}  // namespace lazy::jit
