// Finds steps that only copy an input to another layout, such as a convolution's weights: the result stays
// valid while the input is unchanged (jit/backend/kept_layouts.hpp).
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Fills in Step::relayout and Slot::shared.
void find_relayouts(Program&);

}  // namespace lazy::jit
