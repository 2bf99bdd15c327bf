// Products of matrices and vectors. Dtypes promote; 16-bit floats accumulate in float32, integers wrap.
// Sums of several axes and of more than two factors are in einsum.hpp.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// (..., m, k) x (..., k, n) -> (..., m, n); leading axes broadcast. A one-dimensional operand is a row on
/// the left, a column on the right, and its axis is dropped from the result. ShapeError if the k's differ or
/// an operand is 0-d. Two of bool give bool: whether any product is true. `dtype` is what the operands are
/// converted to, what is accumulated in and what comes out: matmul(a, b, int32) of int8 does not wrap at 8
/// bits.
Tensor matmul(Arg a, Arg b, MaybeDType dtype = {});
/// Of two vectors: sum(a * b). Otherwise as matmul; with a 0-d operand as multiply.
Tensor dot(Arg a, Arg b);
/// a[i] * b[j]; operands of more dimensions are flattened.
Tensor outer(Arg a, Arg b);
/// sum(a * b) along `axis` of both (counted from the end), the other axes broadcast, in the promoted dtype;
/// of bool, whether any product is true. ShapeError if those extents differ.
Tensor vecdot(Arg a, Arg b, Integer axis = -1);

}  // namespace lazy
