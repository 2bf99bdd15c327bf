// Finds eigenvalues and eigenvectors of matrices, which are complex.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// x (..., n, n), real or complex -> complex values (..., n), vectors (..., n, n), which are rows of length
/// 1; in no order. Throws for NaN and infinities.
extern const CallDefinition kEig;
inline constexpr uint32_t kEigenvaluesOnly = 1;  // there is one output

/// Throws Error for matrix `index`, for which iterations have not converged.
[[noreturn]] void fail_to_converge(const CallRun&, int64_t index);

}  // namespace lazy::jit::calls
