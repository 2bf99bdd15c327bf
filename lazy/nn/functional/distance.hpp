// Computes distances and similarities of vectors, by torch.nn.functional's names. Operands broadcast and
// promote to a floating-point dtype; 16-bit floats are computed in float32 and rounded once.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns sum(a b) / (max(|a|, eps) max(|b|, eps)) along an axis of both, broadcast; the axis is dropped.
Tensor cosine_similarity(Arg a, Arg b, IntegerArg axis = 1, double eps = 1e-8);
/// Returns the p-norm of a - b + eps along the last axis: (..., n) -> (...).
Tensor pairwise_distance(Arg a, Arg b, double p = 2, double eps = 1e-6, KeepDims keep = dropdims);
/// Returns the p-norm of the difference of each row of a and each of b: (..., m, n), (..., k, n) -> (..., m,
/// k). ShapeError where the shapes don't fit. Error if p is negative.
Tensor cdist(Arg a, Arg b, double p = 2);

/// Returns the p-norms of differences of each row of x and each later one, (n, m) -> (n (n - 1) / 2), in the
/// order of the pairs. ShapeError for other than two dimensions. Error if p is negative.
Tensor pdist(Arg x, double p = 2);

}  // namespace lazy
