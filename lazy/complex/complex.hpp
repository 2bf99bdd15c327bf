// Makes complex numbers of real ones and takes them apart. A complex tensor is a pair of real ones: its parts
// cost nothing to take, and what is computed of it is computed of them (docs/architecture/complex.md).
#pragma once
#include "lazy/core/tensor.hpp"

namespace lazy {

/// Returns re + i im. Both broadcast (ShapeError) and promote to float32 or float64: complex64 or complex128.
/// DtypeError for complex operands.
Tensor complex(Arg re, Arg im);
/// Returns abs * (cos(angle) + i sin(angle)), likewise.
Tensor polar(Arg abs, Arg angle);
/// Returns the real part; of a real tensor itself.
Tensor real(Arg x);
/// Returns the imaginary part, of a real tensor zeros. Its dtype is real.
Tensor imag(Arg x);
/// Returns the conjugate; of a real tensor itself.
Tensor conj(Arg x);
inline Tensor conjugate(Arg x) {
  const detail::Spelled as("conj", "conjugate");
  return conj(std::move(x));
}
/// Returns the angle in (-pi, pi]: of real numbers 0 or pi, of NaN NaN. Integers become the default dtype.
Tensor angle(Arg x);
/// Returns both parts, side by side along a new last axis of extent 2. DtypeError for a real tensor.
Tensor view_as_real(Arg x);
/// Returns the complex numbers whose parts lie along the last axis, of extent 2 (ShapeError). DtypeError but
/// for float32 and float64.
Tensor view_as_complex(Arg x);
/// Return, for each element, whether its imaginary part is 0, or isn't.
Tensor isreal(Arg x);
Tensor iscomplex(Arg x);
/// True if the dtype is complex.
bool is_complex(const Tensor& x, Site = Site::current());
/// Exchanges the last two axes and conjugates. ShapeError for fewer than two dimensions.
Tensor adjoint(Arg x);
/// Returns the sum of conj(a) * b over all elements, in the order of memory: as many in both (ShapeError).
Tensor vdot(Arg a, Arg b);

}  // namespace lazy
