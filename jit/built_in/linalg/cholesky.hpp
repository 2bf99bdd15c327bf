// Computes the Cholesky factor of each matrix of a batch: lower triangular L with L L^H = x, zeros above.
// Only the lower triangle of x is read. Throws Error at the call's line, with the matrix's index, for one
// that is not positive definite.
#pragma once
#include "jit/calls/call.hpp"

namespace lazy::jit::calls {

extern const CallDefinition kCholesky;

/// Throws the Error for matrix `index` of the batch, whose leading minor of `order` is not positive.
[[noreturn]] void not_positive_definite(const CallRun&, int64_t index, int64_t order);

}  // namespace lazy::jit::calls
