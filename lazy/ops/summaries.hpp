// Returns several statistics at once, compares and bounds norms, and takes differences and integrals along an
// axis. Axes and keepdims as in reductions.hpp; [float] as in statistics.hpp.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/statistics.hpp"

namespace lazy {

/// Holds the results of var_mean() and std_mean(): var() or stdev(), and mean().
struct VarMean {
  Tensor var, mean;
};
struct StdMean {
  Tensor std, mean;
};
VarMean var_mean(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);
StdMean std_mean(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);
/// Holds the results of aminmax(): min() and max().
struct MinMax {
  Tensor min, max;
};
MinMax aminmax(Arg x, Axes axes = {}, KeepDims keep = dropdims);
inline Tensor amax(Arg x, Axes axes = {}, KeepDims keep = dropdims) { return max(std::move(x), axes, keep); }
inline Tensor amin(Arg x, Axes axes = {}, KeepDims keep = dropdims) { return min(std::move(x), axes, keep); }
/// Return the position of the first largest (smallest) element that is not NaN, as argmax() does; 0 where all
/// are. ShapeError for an empty axis.
Tensor nanargmax(Arg x, Axes axis = {}, KeepDims keep = dropdims);
Tensor nanargmin(Arg x, Axes axis = {}, KeepDims keep = dropdims);
/// Returns cumsum() and cumprod() with 0 and 1 in place of NaN.
Tensor nancumsum(Arg x, Axes axis = {});
Tensor nancumprod(Arg x, Axes axis = {});

/// [float] Returns vector_norm(a - b, p) of all elements; the operands broadcast.
Tensor dist(Arg a, Arg b, double p = 2);
/// [float] Returns x with each slice along an axis whose p-norm is above `maxnorm` scaled down to it: by
/// maxnorm / (norm + 1e-7). Error unless p > 0 and maxnorm >= 0; ShapeError for fewer than two dimensions.
Tensor renorm(Arg x, double p, IntegerArg axis, double maxnorm);

/// Returns differences of neighbours in the flattened tensor, after and before the elements of two more
/// tensors (default-constructed: none), flattened too. Keeps the dtype; DtypeError for bool and for values
/// of another kind.
Tensor ediff1d(Arg x, const MaybeTensor& to_end = {}, const MaybeTensor& to_begin = {});
/// [float] Returns (x[i + 1] - x[i - 1]) / (2 spacing) along each axis, one tensor for each of `axes` (none:
/// all); at the ends differences of the first order or, for edge_order 2, those of a parabola. `spacing` has
/// one number for each, one for all, or none for 1. ShapeError for axes of fewer than edge_order + 1 elements
/// and another number of spacings; Error for another order.
std::vector<Tensor> gradient(Arg x, const std::vector<double>& spacing = {}, Axes axes = {},
                             IntegerArg edge_order = 1);
/// [float] Returns it along one axis, over points of one dimension, which need not be evenly spaced.
Tensor gradient(Arg x, TensorArg points, IntegerArg axis, IntegerArg edge_order = 1);
/// [float] Returns the integrals from the first element up to each other one by the trapezoidal rule: (n) ->
/// (n - 1).
Tensor cumulative_trapezoid(Arg y, double dx = 1, IntegerArg axis = -1);
/// Integrates over points x as trapezoid() does.
Tensor cumulative_trapezoid(Arg y, TensorArg x, IntegerArg axis = -1);
inline Tensor trapz(Arg y, double dx = 1, IntegerArg axis = -1) {
  const detail::Spelled as("trapezoid", "trapz");
  return trapezoid(std::move(y), dx, axis);
}
inline Tensor trapz(Arg y, TensorArg x, IntegerArg axis = -1) {
  const detail::Spelled as("trapezoid", "trapz");
  return trapezoid(std::move(y), std::move(x), axis);
}

}  // namespace lazy
