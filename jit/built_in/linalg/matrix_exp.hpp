// Computes the exponential of matrices: the sum of x^k / k!.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// x (..., n, n) -> exp(x) (..., n, n), computed in float64. A matrix with NaN or an infinity gives NaN.
extern const CallDefinition kMatrixExp;

}  // namespace lazy::jit::calls
