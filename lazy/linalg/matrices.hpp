// Checks matrices and records calls on them, for the functions of lazy/linalg/. Internal to lazy/.
#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "jit/built_in/linalg/matrices.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::detail {

/// Records ops and calls for a function of linear algebra, with its checks.
struct Matrices : Recorder {
  Matrices(const char* function, const Site& s) : Recorder{function, s} {}

  /// Returns the dtype that the arguments are computed in; DtypeError unless it is float32, float64 or a
  /// complex one.
  DType wide_type(std::initializer_list<const Arg*> args) const;
  /// Throws ShapeError unless the value is a matrix or a batch of them, square ones if `square`.
  void need_matrix(const Shape&, bool square) const;
  /// Returns the argument in the dtype of wide_type(), checked as a matrix.
  Handle matrix(Arg& x, bool square) const;

  /// Records a call and returns its outputs. Operands of floating point are of one dtype; of complex ones,
  /// and outputs that are complex, the call has the planes.
  std::vector<Handle> call(const jit::CallDefinition&, uint32_t flags,
                           std::initializer_list<const Handle*> operands) const;
  Handle transposed(const Handle& h) const { return matrix_transpose(h, site); }
  /// Returns the conjugated transpose.
  Handle adjoint(const Handle& h) const { return conjugate(transposed(h), site); }
  Handle product(const Handle& a, const Handle& b) const { return detail::matmul(name, a, b, site); }
  /// Returns the identity, n x n, on the device of `like`.
  Handle identity(int64_t n, DType t, const Handle& like) const;
  /// Returns the diagonals of matrices of the last two axes.
  Handle diagonal(const Handle& h) const;
  /// Appends axes of extent 1.
  Handle with_axes(const Handle& h, int count) const;
  /// Returns the largest of the last axis, whose elements are descending, as an extent of 1.
  Handle first(const Handle& h) const { return part(h, h->shape.size() - 1, 0, 1); }
  /// Broadcasts the value's leading axes, all but the last `kept`, to `batch`.
  Handle over(const Shape& batch, const Handle& h, int kept) const;

  /// Records a function of one or two operands, all real or all complex, whose derivative is told in one
  /// formula: announces it, or, of complex numbers, each plane of the value, which is complex then. The
  /// formula gets whole numbers, and no result of complex ones.
  Handle derived(std::initializer_list<const Handle*> operands, const std::function<Handle()>& value,
                 const Derivative&) const;

  /// Records a call that solves with matrix a for right-hand sides that are rows: (..., n, n) and (..., k, n)
  /// -> (..., k, n). Leading axes broadcast.
  Handle solved(const jit::CallDefinition&, uint32_t flags, const Handle& a, const Handle& rows) const;
};

/// Returns all axes of a shape but the last `count`.
Shape leading(const Shape&, int count);
/// Returns a shape with more axes at the end.
Shape extended(const Shape&, std::initializer_list<int64_t> axes);

/// Holds a decomposition into singular values without vectors that no column or row has.
struct Thin {
  Handle u, s, vh;
};
Thin thin_svd(const Matrices&, const Handle& x);
/// Returns, of a symmetric or Hermitian matrix, magnitudes of the eigenvalues, and without `values_only` the
/// eigenvectors as u and with the eigenvalues' signs as vh; not in order.
Thin symmetric_svd(const Matrices&, const Handle& x, bool values_only);
/// Returns the singular values alone.
Handle singular_values(const Matrices&, const Handle& x);
/// Returns up to which singular value they count as 0: an extent of 1 in place of the last axis.
Handle cutoff(const Matrices&, const Handle& s, const Shape& matrix, std::optional<double> relative);
/// Returns 1 / s, or 0 up to the cutoff.
Handle reciprocals(const Matrices&, const Handle& s, const Handle& cutoff);
/// Returns the inverse, or infinities for a singular matrix.
Handle inverse_or_infinite(const Matrices&, const Handle& x);
/// Returns the inverse.
Handle inverse(const Matrices&, const Handle& x);

}  // namespace lazy::detail
