// Provides linear algebra of matrices and batches of them (the last two axes), by LAPACK on the host.
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns the lower triangular L with matmul(L, transpose(L)) = x, for symmetric positive definite x; only
/// the lower triangle of x is read. float32 and float64 (DtypeError); integers and bools are converted as by
/// a division. ShapeError unless the last two axes are equal. When the value is computed: Error at this line,
/// naming the matrix, for one that is not positive definite; DeviceError where LAPACKE (Debian: liblapacke)
/// is not installed.
Tensor cholesky(Arg x);

}  // namespace lazy
