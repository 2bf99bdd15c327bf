// Gives the meanings of pointwise ops, but with elementary functions as the CPU backend's vector math
// computes them: recipes run by the vector IR's interpreter. So a kernel that chains them can be compared to
// the last bit.
#pragma once
#include "backends/reference/ops.hpp"
#include "tests/differential/trial.hpp"

namespace lazy::test {

reference::StripFn interpreted_meaning(const jit::loop::Instr&, DType operand);
/// Returns the reference loops with these meanings.
Contestant oracle();

}  // namespace lazy::test
