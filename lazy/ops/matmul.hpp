// Multiplies matrices and vectors. Dtypes promote; 16-bit floats accumulate in float32, integers wrap.
// einsum.hpp has sums over several axes and of more than two factors.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Multiplies (..., m, k) by (..., k, n) -> (..., m, n); leading axes broadcast. A one-dimensional operand is
/// a row on the left, a column on the right, and its axis is dropped from the result. ShapeError if the k's
/// differ or an operand is 0-d. Two of bool give bool: true if any product is. Operands are converted to
/// `dtype`, products accumulated in it, and the result has it: matmul(a, b, int32) of int8 does not wrap at 8
/// bits.
Tensor matmul(Arg a, Arg b, MaybeDType dtype = {});
/// Returns sum(a * b) for two vectors. Otherwise works as matmul; with a 0-d operand as multiply.
Tensor dot(Arg a, Arg b);
/// Returns a[i] * b[j]; operands of more dimensions are flattened.
Tensor outer(Arg a, Arg b);
/// Returns sum(a * b) along `axis` of both (counted from the end), the other axes broadcast, in the promoted
/// dtype; for bool, true if any product is. ShapeError if those extents differ.
Tensor vecdot(Arg a, Arg b, IntegerArg axis = -1);

}  // namespace lazy
