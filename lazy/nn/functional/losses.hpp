// Shares what losses have in common. Internal to lazy/.
#pragma once
#include "lazy/formula/formula.hpp"
#include "lazy/nn/functional/loss.hpp"

namespace lazy::detail {

/// Throws Error for Reduction::batchmean.
void check_reduction(const Formula&, Reduction);
/// Reduces a loss' numbers: all of them, to one. batchmean divides by `batch`.
Term reduced(const Term&, Reduction, int64_t batch = 1);

/// Returns x above 0, else 0. At 0 its derivative is 0.
inline Term positive_part(const Term& x) { return where(x <= 0.0, 0.0, x); }
/// Returns -log(sigmoid(x)) = log(1 + e^-x), which cannot overflow and has derivatives of any order.
Term minus_log_sigmoid(const Term& x);
/// Returns the largest elements along axes as numbers that nothing is differentiated by: what is subtracted
/// and added again for the range's sake.
Term largest_alone(const Term& x, const Dims& axes);

}  // namespace lazy::detail
