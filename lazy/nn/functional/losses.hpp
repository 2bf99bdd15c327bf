// Shares what losses have in common. Internal to lazy/.
#pragma once
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/loss.hpp"

namespace lazy::detail {

/// Throws Error for Reduction::batchmean.
void check_reduction(const Formula&, Reduction);
/// Reduces a loss' numbers: all of them, to one. batchmean divides by `batch`.
Term reduced(const Term&, Reduction, int64_t batch = 1);

}  // namespace lazy::detail
