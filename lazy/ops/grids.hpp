// Makes ramps of powers, coordinates and combinations of them, and matrices of blocks. dtype and device as in
// creation.hpp.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy {

/// Returns base^v for the values v of linspace(), computed in float64.
Tensor logspace(ScalarNumber start, ScalarNumber stop, IntegerArg num = 50, bool endpoint = true,
                double base = 10, MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
/// Returns `num` values from start to stop, each of which is the one before it times the same number; the
/// ends are start and stop themselves, but without `endpoint` the last is the one before stop. Error unless
/// both are finite, not 0 and of one sign.
Tensor geomspace(ScalarNumber start, ScalarNumber stop, IntegerArg num = 50, bool endpoint = true,
                 MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());

/// Returns the coordinates of each element of a shape: (n...) -> (dimensions, n...), int64 unless a dtype is
/// given. ShapeError for more than 7 dimensions.
Tensor indices(ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {}, Site = Site::current());
/// Return rows and columns, (2, number), of the elements on and below (tril) or on and above (triu) the
/// diagonal column - row = k of a matrix, in row-major order; int64. Columns = rows if negative.
Tensor tril_indices(IntegerArg rows, IntegerArg columns = -1, IntegerArg k = 0, MaybeDevice device = {},
                    Site = Site::current());
Tensor triu_indices(IntegerArg rows, IntegerArg columns = -1, IntegerArg k = 0, MaybeDevice device = {},
                    Site = Site::current());
/// Returns all choices of one element of each vector, the last one changing first: (2), (3) -> (6, 2); of one
/// vector itself. Dtypes promote. ShapeError for no vectors and for other dimensions.
Tensor cartesian_prod(const std::vector<Tensor>& xs, Site = Site::current());
/// Returns a matrix with matrices along its diagonal and 0 elsewhere; a vector counts as one row, a number as
/// (1, 1). Dtypes promote. ShapeError for more dimensions and for no matrices.
Tensor block_diag(const std::vector<Tensor>& xs, Site = Site::current());

// Make tensors of x's dtype and device, if none are given.

Tensor new_zeros(Arg x, ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {});
Tensor new_ones(Arg x, ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {});
Tensor new_empty(Arg x, ShapeArg shape, MaybeDType dtype = {}, MaybeDevice device = {});
Tensor new_full(Arg x, ShapeArg shape, ScalarNumber value, MaybeDType dtype = {}, MaybeDevice device = {});

}  // namespace lazy
