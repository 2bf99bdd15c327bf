// Reduces with rules for NaN, weights and norms; compares within tolerances. Axes and keepdims as in
// reductions.hpp. [float]: bools and integers are computed in the default dtype; 16-bit floats in float32,
// rounded once.
#pragma once
#include <initializer_list>
#include <optional>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/reductions.hpp"

namespace lazy {

// Reductions that skip NaN. Of bools and integers they are the plain ones.

/// Sums, or multiplies, what is not NaN. Dtypes as of sum().
Tensor nansum(Arg x, Axes axes = {}, KeepDims keep = dropdims, MaybeDType dtype = {});
Tensor nanprod(Arg x, Axes axes = {}, KeepDims keep = dropdims, MaybeDType dtype = {});
/// Return the largest and the smallest element that is not NaN; NaN if all are. ShapeError for an empty axis.
Tensor nanmax(Arg x, Axes axes = {}, KeepDims keep = dropdims);
Tensor nanmin(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// [float] Return mean, variance (the sum of squared distances over n - correction) and its square root, of
/// the n elements that are not NaN; NaN if there are none, and where n - correction is not above 0.
Tensor nanmean(Arg x, Axes axes = {}, KeepDims keep = dropdims);
Tensor nanvar(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);
Tensor nanstd(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);

// More reductions.

/// Returns the largest element less the smallest. Keeps the dtype; DtypeError for bool, ShapeError for an
/// empty axis.
Tensor ptp(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// [float] Returns sum(x weights) / sum(weights). The weights have the shape of x, or one dimension where one
/// axis is named, of its extent: ShapeError otherwise.
Tensor average(Arg x, Arg weights, Axes axes = {}, KeepDims keep = dropdims);
/// Returns mean(): a number in the second place is an axis, as in NumPy.
inline Tensor average(Arg x) {
  const detail::Spelled as("mean", "average");
  return mean(std::move(x));
}
template <IntegerType T>
Tensor average(Arg x, T axis, KeepDims keep = dropdims) {
  const detail::Spelled as("mean", "average");
  return mean(std::move(x), axis, keep);
}
inline Tensor average(Arg x, std::initializer_list<IntegerArg> axes, KeepDims keep = dropdims) {
  const detail::Spelled as("mean", "average");
  return mean(std::move(x), Axes(axes), keep);
}
/// [float] Returns the norm of all elements, or along the axes: (sum |x|^order)^(1 / order). Order infinity
/// is the largest magnitude, -infinity the smallest (ShapeError for an empty axis), 0 the number of elements
/// that are not 0.
Tensor vector_norm(Arg x, double order = 2, Axes axes = {}, KeepDims keep = dropdims);
/// Returns vector_norm(): of a matrix the norm of its elements, whatever the order, as torch.norm.
inline Tensor norm(Arg x, double order = 2, Axes axes = {}, KeepDims keep = dropdims) {
  const detail::Spelled as("vector_norm", "norm");
  return vector_norm(std::move(x), order, axes, keep);
}
/// [float] Returns the covariances of the rows of x, whose columns are observations: (m, n) -> (m, m); of one
/// row, and of (n), a 0-d tensor. Sums of products over n - correction. ShapeError for more dimensions, or
/// none.
Tensor cov(Arg x, double correction = 1);
/// [float] Returns the correlation coefficients of the rows, in [-1, 1]; shapes as of cov().
Tensor corrcoef(Arg x);
/// [float] Integrates by the trapezoidal rule along an axis: sum (y[i] + y[i + 1]) dx / 2.
Tensor trapezoid(Arg y, double dx = 1, IntegerArg axis = -1);
/// Integrates over points x: of one dimension, or of a shape that broadcasts to y's. ShapeError otherwise.
Tensor trapezoid(Arg y, TensorArg x, IntegerArg axis = -1);

// Comparisons within tolerances.

/// True where |a - b| <= absolute + relative |b|, or both are the same infinity; NaN equals NaN if
/// `equal_nan`. Broadcasts; bools and integers are compared in the default dtype.
Tensor isclose(Arg a, Arg b, double relative = 1e-5, double absolute = 1e-8, bool equal_nan = false);
/// True if isclose() is, everywhere.
Tensor allclose(Arg a, Arg b, double relative = 1e-5, double absolute = 1e-8, bool equal_nan = false);
/// True if shapes and elements are equal. DtypeError where dtypes have none in common.
Tensor array_equal(Arg a, Arg b, bool equal_nan = false);
/// Returns x with numbers in place of NaN and of the infinities: none given, the dtype's largest and lowest.
/// Keeps the dtype; bools and integers stay as they are.
Tensor nan_to_num(Arg x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

}  // namespace lazy
