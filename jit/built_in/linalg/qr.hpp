// Factors matrices as x = Q R, by Householder's reflections: Q has orthonormal columns, R is upper
// triangular.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// x (..., m, n) -> Q (..., m, k), R (..., k, n): k = min(m, n), or m with the flag kComplete.
extern const CallDefinition kQr;
inline constexpr uint32_t kComplete = 1;

}  // namespace lazy::jit::calls
