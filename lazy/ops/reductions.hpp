// Reduces along axes; none named means all of them. A reduced axis is dropped, or gets extent 1 where
// `keepdims` is given: mean(x, {-1}, keepdims). An axis out of range, or named twice, throws IndexError.
//
// The order of additions is fixed by the shape (not by threads or fusion), so results repeat to the bit.
#pragma once
#include "lazy/core/tensor.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {

/// Sums; of no elements 0. bool and signed integers sum in int64, unsigned ones in uint64, floats in their
/// own dtype (16-bit ones accumulate in float32); or in `dtype`.
Tensor sum(Arg x, Axes axes = {}, KeepDims keep = dropdims, MaybeDType dtype = {});
/// Multiplies; of no elements 1. Dtypes as for sum.
Tensor prod(Arg x, Axes axes = {}, KeepDims keep = dropdims, MaybeDType dtype = {});
/// Returns the mean; of no elements NaN. Integers and bools are computed in the default dtype.
Tensor mean(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// Returns sum((x - mean)^2) / (n - correction). Integers and bools are computed in the default dtype.
Tensor var(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);
/// Returns the square root of var. `std` is the same; under `using namespace lazy` only stdev(x) and x.std()
/// can be written, for std is a namespace too.
Tensor stdev(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);
Tensor std(Arg x, Axes axes = {}, KeepDims keep = dropdims, double correction = 0);
/// Return the largest and the smallest element; a NaN wins. ShapeError for an empty axis.
Tensor max(Arg x, Axes axes = {}, KeepDims keep = dropdims);
Tensor min(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// Return maximum and minimum of two tensors. A scalar beside a tensor would look like an axis: max(x, 0) is
/// the largest along axis 0, maximum(x, 0) is relu.
inline Tensor max(Arg a, TensorArg b) { return maximum(std::move(a), std::move(b)); }
inline Tensor min(Arg a, TensorArg b) { return minimum(std::move(a), std::move(b)); }
template <std::floating_point T>
instead::maximum max(Arg, T) = delete;
template <std::floating_point T>
instead::minimum min(Arg, T) = delete;
/// True if any, or all, elements are != 0; of no elements false and true.
Tensor any(Arg x, Axes axes = {}, KeepDims keep = dropdims);
Tensor all(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// Return the int64 position of the first largest (smallest) element along one axis, or in the flattened
/// tensor. The first NaN wins. ShapeError for an empty axis or several axes.
Tensor argmax(Arg x, Axes axis = {}, KeepDims keep = dropdims);
Tensor argmin(Arg x, Axes axis = {}, KeepDims keep = dropdims);
/// Returns log(sum(exp(x))) without overflow; of no elements -inf. Integers and bools are computed in the
/// default dtype.
Tensor logsumexp(Arg x, Axes axes = {}, KeepDims keep = dropdims);
/// Returns the int64 number of elements that are != 0.
Tensor count_nonzero(Arg x, Axes axes = {}, KeepDims keep = dropdims);

#define LAZY_KEEP(name) \
  inline Tensor name(Arg x, KeepDims keep) { return name(std::move(x), Axes(), keep); }
LAZY_KEEP(sum)
LAZY_KEEP(prod)
LAZY_KEEP(mean)
LAZY_KEEP(var)
LAZY_KEEP(stdev)
LAZY_KEEP(std)
LAZY_KEEP(max)
LAZY_KEEP(min)
LAZY_KEEP(any)
LAZY_KEEP(all)
LAZY_KEEP(logsumexp)
LAZY_KEEP(count_nonzero)
#undef LAZY_KEEP

}  // namespace lazy
