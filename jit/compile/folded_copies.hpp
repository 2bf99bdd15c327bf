// Finds copies that only a product reads, such as a convolution's windows: the product can read them where
// the copy would, so that they are never in memory (Kernel::folds).
#pragma once
#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Fills in Step::folds and Step::folded_into, and lets what such copies read live until the product.
void find_folded_copies(Program&);

}  // namespace lazy::jit
