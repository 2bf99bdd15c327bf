// Finds the eigenvalues, ascending, and orthonormal eigenvectors of symmetric matrices, or Hermitian
// ones. Only the lower triangle is read, of its diagonal the real parts.
#pragma once
#include "jit/built_in/linalg/matrices.hpp"

namespace lazy::jit::calls {

/// x (..., n, n) -> values (..., n), vectors (..., n, n): conjugates of them are rows. Throws for NaN and
/// infinities.
extern const CallDefinition kEigh;
inline constexpr uint32_t kUpperTriangle = 1;  // the upper triangle is read, and not the lower one
inline constexpr uint32_t kValuesOnly = 2;     // there is one output

/// Returns the triangle that the flags name.
Triangle read_by(const CallSpec&);

}  // namespace lazy::jit::calls
