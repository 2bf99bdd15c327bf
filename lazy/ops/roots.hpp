// Records functions whose derivative is told in one formula, as it is shorter than that of their ops, or
// finite where that is not: at 0 the gradient of roots and norms is 0, as torch's. Internal to lazy/.
#pragma once
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

/// Returns sqrt(x). 0 has no gradient.
Handle root(const Recorder&, const Handle& x);
/// Returns the sum of |x|^order to the power 1 / order, along axes; `order` is above 0 and finite. A norm of
/// 0 has no gradient, nor has an element that is 0 where the order is below 1.
Handle power_norm(const Recorder&, const Handle& x, double order, const Dims& axes, KeepDims);

/// Returns a reduced value as one whose reduced axes have extent 1, so that it broadcasts.
Handle with_reduced_axes(const Recorder&, const Handle& reduced, const Shape& whole, const Dims& axes);

}  // namespace lazy::detail
