// Steps that only lay an input out anew, as the weights of a convolution: while the input stays as it is, so
// does their result (jit/backend/kept_layouts.hpp).
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Fills in Step::relayout and Slot::shared.
void find_relayouts(Program&);

}  // namespace lazy::jit
