// Computes norms of terms. Internal to lazy/.
#pragma once
#include "lazy/formula/formula.hpp"

namespace lazy::detail {

/// Returns the p-norm along axes, which stay with extent 1 unless they are dropped: sum(|x|^p)^(1/p); for p =
/// 0 how many elements are not 0, for p = inf and -inf the largest and the smallest |x|. Of no elements 0.
Term norm(const Term& x, double p, const Dims& axes, KeepDims = keepdims);

/// Returns lengths of at least `least`; one that equals it has its own gradient, as torch's clamp_min.
inline Term no_shorter_than(double least, const Term& length) { return where(length < least, least, length); }

}  // namespace lazy::detail
