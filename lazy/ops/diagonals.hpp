// Reads and makes diagonals, and products that have a place for every pair of elements. A diagonal of
// `offset` k is where column - row = k. An axis out of range throws IndexError.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns a diagonal of the matrices whose rows run along axis1 and columns along axis2; it is the result's
/// last axis: (3, 4, n), offset 1 -> (n, 3). A view. Every dtype; ShapeError for fewer than two dimensions,
/// IndexError if both axes are the same.
Tensor diagonal(Arg x, IntegerArg offset = 0, IntegerArg axis1 = 0, IntegerArg axis2 = 1);
/// Sums a diagonal; shapes and errors as of diagonal(), dtypes as of sum().
Tensor trace(Arg x, IntegerArg offset = 0, IntegerArg axis1 = 0, IntegerArg axis2 = 1, MaybeDType dtype = {});
/// Returns the diagonal of a matrix, or the square matrix that has the vector x on a diagonal and 0
/// elsewhere: (n) -> (n + |k|, n + |k|). ShapeError for other dimensions.
Tensor diag(Arg x, IntegerArg k = 0);
/// Returns matrices that have the last axis of x on a diagonal and 0 elsewhere: (..., n) -> (..., m, m) with
/// m = n + |offset|. Their rows run along axis1 of the result, their columns along axis2. ShapeError for a
/// 0-d tensor, IndexError if both axes are the same.
Tensor diag_embed(Arg x, IntegerArg offset = 0, IntegerArg axis1 = -2, IntegerArg axis2 = -1);
/// Returns a matrix of rows x columns (columns = rows if negative) with ones on and below diagonal k, else 0,
/// of the default dtype unless one is given. ShapeError for a negative number of rows.
Tensor tri(IntegerArg rows, IntegerArg columns = -1, IntegerArg k = 0, MaybeDType dtype = {},
           MaybeDevice device = {}, Site = Site::current());
/// Returns powers of a vector as columns, the highest first unless `increasing`: (m) -> (m, columns); columns
/// = m if negative. Bools become int64. ShapeError unless x has one dimension.
Tensor vander(Arg x, IntegerArg columns = -1, bool increasing = false);

/// Returns Kronecker's product: (m, n) and (p, q) -> (m p, n q), any number of dimensions up to 4, of which a
/// shorter shape is led by ones. Dtypes promote; bools combine by `and`. ShapeError for more dimensions.
Tensor kron(Arg a, Arg b);
/// Returns the cross product of vectors of 3 elements along `axis`; the other axes broadcast. Dtypes promote.
/// ShapeError for other extents, DtypeError for two of bool.
Tensor cross(Arg a, Arg b, IntegerArg axis = -1);
/// Sums products over the last axis of both: (i, k) and (j, k) -> (i, j). With a 0-d operand multiplies.
/// Dtypes as of matmul(). ShapeError if the extents differ.
Tensor inner(Arg a, Arg b);

}  // namespace lazy
