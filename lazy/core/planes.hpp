// Says what is recorded of complex values in terms of their planes, the real ones that they are pairs of
// (jit/graph/planes.hpp). All ops that lazy/ records go through record() or record_call(), which come here if
// an operand or the result is complex; the rules are in lazy/complex. Internal to lazy/.
#pragma once
#include <complex>
#include <span>
#include <vector>

#include "jit/core/pairs.hpp"
#include "jit/graph/planes.hpp"
#include "lazy/core/record.hpp"
#include "lazy/core/tensor.hpp"

namespace lazy::detail {

/// Holds the planes of a complex value, of one shape and dtype.
struct Planes {
  Handle re, im;
};

using jit::complex;
inline Handle complex(const Planes& p, const Site& s) { return jit::complex(p.re, p.im, s); }
inline Planes planes_of(const Handle& complex) {
  return {jit::real_plane(complex), jit::imaginary_plane(complex)};
}

/// Returns the imaginary part of what is known to be real: 0, and recorded as such. Products and quotients
/// leave it out, as Annex G of the C standard does.
Handle no_imaginary_part(DType plane, const Shape&, Device, const Site&);
inline Handle no_imaginary_part(const Handle& re, const Site& s) {
  return no_imaginary_part(re->dtype, re->shape, re->device, s);
}
/// True for a result of no_imaginary_part(), which the program's text decides, never a value.
bool is_no_imaginary_part(const Handle&);
/// Returns the imaginary plane of a complex value, as zeros that are numbers like others where it is known to
/// be none: what changes later, or has a gradient.
Handle plain_imaginary_plane(const Handle&);

/// Throws DtypeError for a complex dtype.
void need_real(const char* name, DType, const Site&);
/// Return the real and imaginary part of a value of any dtype: of a real one itself and 0.
Handle real_part(const Handle&);
Handle imaginary_part(const Handle&, const Site&);
/// Returns the conjugate; a real value itself.
Handle conjugate(const Handle&, const Site&);
/// Returns |x|^2 in the real dtype.
Handle squared_modulus(const char* name, const Handle&, const Site&);

/// Evaluates a complex value and returns its elements as pairs on the host, which `keep` has.
const void* packed_pairs(const Handle&, jit::Cause, const Site&, jit::BufferRef& keep);
/// Copies the elements of planes into pairs, or the other way.
using jit::interleave;
void deinterleave(DType plane, const void* pairs, void* re, void* im, size_t count);

/// Records a call of complex operands, for those that have a rule; else DtypeError.
std::vector<Handle> call_on_planes(const jit::CallSpec&, std::span<const Handle* const> operands,
                                   const Site&);

}  // namespace lazy::detail
