// Rows of complex numbers: lazy/complex/complex.hpp.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

const Row kRows[] = {
    BINARY(complex),
    BINARY(polar),
    UNARY(real),
    UNARY(imag),
    UNARY(conj),
    UNARY(conjugate),
    UNARY(angle),
    UNARY(view_as_real),
    ROW("view_as_complex", "x 3,2", ARG(x); return view_as_complex(x)),
    UNARY(isreal),
    UNARY(iscomplex),
    UNARY(adjoint),
    ROW("vdot", "x 3\tx 3", ARG(a); ARG(b); return vdot(a, b)),
};

}  // namespace

std::span<const Row> complex_rows() { return kRows; }

}  // namespace oracle
