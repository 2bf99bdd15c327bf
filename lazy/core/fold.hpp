// Computes ops on constants while recording: zeros({n}) * 2 + 1 becomes one constant. Internal to lazy/.
//
// Only ops whose result is exactly rounded are folded, so that the value is the one that the recorded op
// would give.
#pragma once
#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"
#include "jit/graph/scalar.hpp"

namespace lazy::detail {

/// Computes op on a value of dtype `t` into `out`; false if the op is not one that folds.
bool fold(jit::Op, DType t, jit::Scalar a, jit::Scalar& out);
bool fold(jit::Op, DType t, jit::Scalar a, jit::Scalar b, jit::Scalar& out);

}  // namespace lazy::detail
