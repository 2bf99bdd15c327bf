// Multiplies matrices and adds, by torch's names; convolves sequences and evaluates polynomials by NumPy's.
// Dtypes promote as of matmul(). ShapeError where shapes don't fit.
#pragma once
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy {

// Products of exactly these shapes, without broadcasting.

Tensor mm(Arg a, Arg b);   // (m, k), (k, n) -> (m, n)
Tensor mv(Arg a, Arg v);   // (m, k), (k) -> (m)
Tensor bmm(Arg a, Arg b);  // (b, m, k), (b, k, n) -> (b, m, n)

// Sums beta x + alpha product, x broadcasting to the product; x is not read if beta is 0. 16-bit floats are
// scaled and added in float32. DtypeError for bools, and for beta or alpha of a fraction among integers.

Tensor addmm(Arg x, Arg a, Arg b, ScalarNumber beta = 1, ScalarNumber alpha = 1);  // mm(a, b)
Tensor addmv(Arg x, Arg a, Arg v, ScalarNumber beta = 1, ScalarNumber alpha = 1);  // mv(a, v)
Tensor addr(Arg x, Arg u, Arg v, ScalarNumber beta = 1, ScalarNumber alpha = 1);   // outer(u, v) of vectors
Tensor addbmm(Arg x, Arg a, Arg b, ScalarNumber beta = 1,
              ScalarNumber alpha = 1);  // sum of bmm(a, b) over axis 0
Tensor baddbmm(Arg x, Arg a, Arg b, ScalarNumber beta = 1, ScalarNumber alpha = 1);  // bmm(a, b)

// Sequences: vectors that are not empty.

/// Returns the sums of a[i] v[k - i]: (m), (n) -> "full" (m + n - 1); "same" the middle (max(m, n)) of them;
/// "valid" the (|m - n| + 1) where both overlap wholly. Error for another mode; bools give whether any
/// product is true.
Tensor convolve(Arg a, Arg v, const std::string& mode = "full");
/// Returns the sums of a[i + k] v[i], modes as of convolve().
Tensor correlate(Arg a, Arg v, const std::string& mode = "valid");
/// Returns p[0] x^(n - 1) + ... + p[n - 1] by Horner's rule; p has one dimension. Dtypes promote; bools
/// become int64.
Tensor polyval(Arg p, Arg x);

}  // namespace lazy
