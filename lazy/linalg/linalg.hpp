// Provides linear algebra of matrices and batches of them (the last two axes), computed on the host.
// [wide]: float32, float64, complex64 and complex128 (DtypeError for 16-bit floats); bools and integers
// are converted as by a division. x^H is the conjugated transpose. A matrix, or a batch of them, is
// needed (ShapeError), a square one where the shape below is (..., n, n). What only values tell, as that
// a matrix is singular, throws Error at the function's line when the value is computed, naming the matrix
// of the batch. LU and its systems and Cholesky's factors are computed by loops of our own, all else by
// LAPACKE (Debian: liblapacke): DeviceError where that is not installed. NaN and infinities go through
// solve, inv, det, lu and qr as through arithmetic; eigenvalues and singular values of them throw Error.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/ops/diagonals.hpp"
#include "lazy/ops/einsum.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/statistics.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {

// Systems of equations.

/// [wide] Returns x with matmul(a, x) = b: a (..., n, n), b (..., n, k) -> (..., n, k), or b (n) -> (..., n).
/// Leading axes broadcast (ShapeError). Error for a singular matrix.
Tensor solve(Arg a, Arg b);
/// [wide] Returns x with matmul(a, x) = b, or matmul(x, a) = b unless `left`, where a (..., n, n) is
/// triangular: the other triangle is not read, nor the diagonal if it is `unitriangular`, all ones. b has two
/// dimensions or more; leading axes broadcast (ShapeError). Error for a 0 on the diagonal.
Tensor solve_triangular(Arg a, Arg b, bool upper, bool left = true, bool unitriangular = false);
/// [wide] Returns the inverse of (..., n, n). Error for a singular matrix.
Tensor inv(Arg x);
/// [wide] Returns the product of the eigenvalues: (..., n, n) -> (...), by LU. 0 for a singular matrix, 1 for
/// one of no rows.
Tensor det(Arg x);

/// Holds the result of slogdet(): the determinant is sign * exp(logabsdet).
struct SlogDet {
  Tensor sign;       // (...), -1, 0 or 1; of complex matrices on the unit circle, or 0
  Tensor logabsdet;  // (...), real, -infinity for a singular matrix
};
/// [wide] Returns the determinant of (..., n, n) without overflow.
SlogDet slogdet(Arg x);

/// Holds the result of lu(): x = P L U.
struct LU {
  Tensor P;  // (..., m, m), a permutation
  Tensor L;  // (..., m, k), unit lower triangular, k = min(m, n)
  Tensor U;  // (..., k, n), upper triangular
};
/// [wide] Factors (..., m, n) with exchanges of rows. A singular matrix has factors, with a 0 on U's
/// diagonal.
LU lu(Arg x);
/// Holds the result of lu_factor().
struct LUFactors {
  Tensor LU;      // (..., m, n): U, and below its diagonal L without the ones
  Tensor pivots;  // (..., min(m, n)) int32: row i was exchanged with row pivots[i] - 1, in order
};
/// [wide] Factors (..., m, n) as lu() does, in the form of LAPACK's.
LUFactors lu_factor(Arg x);
/// [wide] Returns the solution of solve(x, b) by the factors of lu_factor(x): b (..., n, k). Leading axes
/// broadcast. ShapeError where extents differ, DtypeError for pivots that are no integers; Error for factors
/// of a singular matrix.
Tensor lu_solve(Arg lu, Arg pivots, Arg b);

/// [wide] Returns the lower triangular L with matmul(L, L^H) = x, for symmetric (Hermitian) positive definite
/// (..., n, n); only the lower triangle of x is read, of its diagonal the real parts. If `upper`, returns L^H
/// and reads the upper triangle. Error for a matrix that is not positive definite.
Tensor cholesky(Arg x, bool upper = false);
/// [wide] Returns the solution of solve(x, b) by l = cholesky(x, upper): b (..., n, k). Leading axes
/// broadcast (ShapeError). Error for a 0 on l's diagonal.
Tensor cholesky_solve(Arg b, Arg l, bool upper = false);
/// [wide] Returns inv(x) by l = cholesky(x, upper).
Tensor cholesky_inverse(Arg l, bool upper = false);

/// Holds the result of lstsq().
struct LeastSquares {
  Tensor solution;         // (..., n, k), or (..., n)
  Tensor residuals;        // (..., k), or (...), real: sums of the squares of |b - matmul(a, solution)|
  Tensor rank;             // (...) int64
  Tensor singular_values;  // (..., min(m, n)), descending
};
/// [wide] Returns, of those x for which b - matmul(a, x) is shortest, the shortest: a (..., m, n), b (..., m,
/// k) or (m). Leading axes broadcast (ShapeError). Singular values up to rcond times the largest count as 0;
/// rcond is max(m, n) eps if none is given. Works by the singular value decomposition. Error for NaN and
/// infinities in a.
LeastSquares lstsq(Arg a, Arg b, std::optional<double> rcond = {});
/// [wide] Returns the pseudo-inverse: (..., m, n) -> (..., n, m). Singular values up to rtol times the
/// largest count as 0; rtol is max(m, n) eps if none is given. Of a `hermitian` matrix (of real numbers, a
/// symmetric one) only the lower triangle is read. Error for NaN and infinities.
Tensor pinv(Arg x, std::optional<double> rtol = {}, bool hermitian = false);
/// [wide] Returns x with tensordot(a, x, b.ndim()) = b: the shape of `a` is that of b, then that of x, whose
/// sizes are equal (ShapeError). Error if `a` is singular as a matrix.
Tensor tensorsolve(Arg a, Arg b);
/// [wide] Returns the inverse of tensordot(x, ., ind): x's last axes, then its first `ind` ones. ShapeError
/// unless both have the same size, and for ind <= 0; Error if x is singular as a matrix.
Tensor tensorinv(Arg x, IntegerArg ind = 2);

// Decompositions.

/// Holds the result of qr(): x = Q R.
struct QR {
  Tensor Q;  // (..., m, k), orthonormal columns; empty of mode "r"
  Tensor R;  // (..., k, n), upper triangular
};
/// [wide] Decomposes (..., m, n): mode "reduced" has k = min(m, n), "complete" k = m, "r" as "reduced"
/// without Q. Signs are those of LAPACK, as in NumPy. Error for another mode.
QR qr(Arg x, std::string_view mode = "reduced");

/// Holds the result of svd(): x = U diag(S) Vh.
struct SVD {
  Tensor U;   // (..., m, k), orthonormal columns
  Tensor S;   // (..., min(m, n)), real, descending
  Tensor Vh;  // (..., k, n), orthonormal rows
};
/// [wide] Decomposes (..., m, n) into singular values: k is min(m, n), or with `full_matrices` m for U and n
/// for Vh. Error for NaN and infinities.
SVD svd(Arg x, bool full_matrices = true);
/// [wide] Returns the singular values, descending: (..., m, n) -> (..., min(m, n)). Error for NaN and
/// infinities.
Tensor svdvals(Arg x);

/// Holds the result of eigh(): matmul(x, eigenvectors) = eigenvectors * eigenvalues.
struct Eigh {
  Tensor eigenvalues;   // (..., n), real, ascending
  Tensor eigenvectors;  // (..., n, n), orthonormal columns
};
/// [wide] Decomposes symmetric or Hermitian (..., n, n), of which only the triangle that `uplo` names is read
/// ('L' lower, 'U' upper), of its diagonal the real parts; Error for others, for NaN and infinities.
Eigh eigh(Arg x, char uplo = 'L');
/// [wide] Returns the eigenvalues alone, as eigh().
Tensor eigvalsh(Arg x, char uplo = 'L');

/// Holds the result of eig(): matmul(x, eigenvectors) = eigenvectors * eigenvalues.
struct Eig {
  Tensor eigenvalues;   // (..., n), complex, in no order
  Tensor eigenvectors;  // (..., n, n), complex, columns of length 1
};
/// [wide] Decomposes (..., n, n). Results are complex, of real matrices as well: real eigenvalues have an
/// imaginary part of 0 then, others come in pairs of conjugates. Error for NaN and infinities.
Eig eig(Arg x);
/// [wide] Returns the eigenvalues alone, as eig().
Tensor eigvals(Arg x);

// Norms and numbers.

/// Names a norm of matrices: "fro" (the square root of the sum of squares), "nuc" (the sum of singular
/// values), 1 and infinity (the largest sum of magnitudes of a column, and of a row), 2 (the largest singular
/// value), or -1, -infinity and -2, the smallest.
class NormOrder {
 public:
  NormOrder(const char* name) : name_(name) {}
  template <ScalarType T>
  NormOrder(T order) : order_(static_cast<double>(order)) {}
  /// Returns the name; empty for a number.
  std::string_view name() const { return name_; }
  double order() const { return order_; }

 private:
  std::string_view name_;
  double order_ = 0;
};

/// Returns the norm of matrices along two axes, in their order rows and columns: (..., m, n) -> (...). Dtypes
/// as of vector_norm(), but "nuc", 2 and -2 are [wide]. Error for another order; ShapeError for other than
/// two axes and where there is no largest or smallest; IndexError for axes.
Tensor matrix_norm(Arg x, NormOrder order = "fro", Axes axes = {-2, -1}, KeepDims keep = dropdims);
/// [wide] Returns the condition number: matrix_norm(x, p) matrix_norm(inv(x), p), which is infinite for a
/// singular matrix; of (..., n, n), or of (..., m, n) for p 2 and -2. ShapeError for no elements.
Tensor cond(Arg x, NormOrder p = 2);
/// [wide] Counts the singular values above max(atol, rtol times the largest): (..., m, n) -> (...), int64.
/// rtol is max(m, n) eps if neither is given. Of a `hermitian` (symmetric) matrix only the lower triangle is
/// read. Error for NaN and infinities.
Tensor matrix_rank(Arg x, std::optional<double> rtol = {}, bool hermitian = false, double atol = 0);

// Functions of matrices.

/// Returns the product of n factors x (..., m, m), by repeated squaring; the identity for n = 0, the power of
/// the inverse for n < 0, which is [wide]. Keeps the dtype otherwise; 16-bit floats are multiplied in
/// float32; integers wrap. DtypeError for bool, Error for the inverse of a singular matrix.
Tensor matrix_power(Arg x, IntegerArg n);
/// [wide] Returns the sum of x^k / k!: (..., n, n) -> (..., n, n). Computed in float64, rounded once. NaN for
/// a matrix with NaN or an infinity.
Tensor matrix_exp(Arg x);
inline Tensor expm(Arg x) {
  const detail::Spelled as("matrix_exp", "expm");
  return matrix_exp(std::move(x));
}
/// Multiplies two matrices or more in the order that takes the fewest multiplications; the first and the last
/// may be vectors, as in matmul(). Dtypes promote; 16-bit floats are multiplied in float32. ShapeError for
/// other dimensions and extents that do not fit, DtypeError for bool.
Tensor multi_dot(const std::vector<Tensor>& xs, Site = Site::current());

}  // namespace lazy

// The names of numpy.linalg and torch.linalg, which are functions of lazy.
namespace lazy::linalg {

using lazy::cholesky;
using lazy::cholesky_inverse;
using lazy::cholesky_solve;
using lazy::cond;
using lazy::cross;
using lazy::det;
using lazy::diagonal;
using lazy::eig;
using lazy::eigh;
using lazy::eigvals;
using lazy::eigvalsh;
using lazy::inv;
using lazy::lstsq;
using lazy::lu;
using lazy::lu_factor;
using lazy::lu_solve;
using lazy::matmul;
using lazy::matrix_exp;
using lazy::matrix_norm;
using lazy::matrix_power;
using lazy::matrix_rank;
using lazy::matrix_transpose;
using lazy::multi_dot;
using lazy::outer;
using lazy::pinv;
using lazy::qr;
using lazy::slogdet;
using lazy::solve;
using lazy::solve_triangular;
using lazy::svd;
using lazy::svdvals;
using lazy::tensordot;
using lazy::tensorinv;
using lazy::tensorsolve;
using lazy::trace;
using lazy::vecdot;
using lazy::vector_norm;

/// Returns the norm of all elements.
inline Tensor norm(Arg x) {
  const detail::Spelled as("vector_norm", "norm");
  return vector_norm(std::move(x));
}
/// Returns, as NumPy does, matrix_norm() of a matrix, or along two axes, and vector_norm() of a vector, or
/// along one. ShapeError for other numbers of dimensions without axes, and for more axes; Error for an order
/// that is not one of the norm's.
Tensor norm(Arg x, NormOrder order, Axes axes = {}, KeepDims keep = dropdims);

}  // namespace lazy::linalg
