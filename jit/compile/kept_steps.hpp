// Finds steps whose results depend on inputs alone: weights in another layout or dtype, folded into others.
// They stay right while the inputs are as they are (jit/backend/kept_results.hpp).
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Fills in Step::of_inputs and Step::relayout.
void find_kept_steps(Program&);

}  // namespace lazy::jit
