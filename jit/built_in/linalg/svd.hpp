// Decomposes matrices into singular values: x = U diag(S) Vh, with orthonormal columns of U and rows of Vh.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// x (..., m, n) -> U (..., m, k), S (..., k) descending, Vh (..., k, n), k = min(m, n). Throws for NaN and
/// infinities.
extern const CallDefinition kSvd;
inline constexpr uint32_t kFullMatrices = 1;        // U is (..., m, m), Vh (..., n, n)
inline constexpr uint32_t kSingularValuesOnly = 2;  // S is the only output

}  // namespace lazy::jit::calls
