#include "lazy/core/planes.hpp"

#include "jit/backend/registry.hpp"
#include "lazy/core/build.hpp"

namespace lazy::detail {
namespace {

constexpr char kReal[] = "the imaginary part of real numbers";

}  // namespace

Handle complex_literal(std::complex<double> v, DType t, const Site& s) {
  const DType plane = plane_type(t);
  return complex(constant(v.real(), plane, {}, s), constant(v.imag(), plane, {}, s), s);
}

Handle no_imaginary_part(DType plane, const Shape& shape, Device device, const Site& s) {
  const jit::Purpose real(kReal);
  return detail::folded(Op::constant, {}, jit::Scalar{}, plane, shape, device, s);
}

bool is_no_imaginary_part(const Handle& h) { return h->op == Op::constant && h->purpose == kReal; }

Handle plain_imaginary_plane(const Handle& h) {
  const Handle im = jit::imaginary_plane(h);
  return is_no_imaginary_part(im) ? constant(0, im->dtype, im->shape, im, im->site) : im;
}

void need_real(const char* name, DType t, const Site& s) {
  if (is_complex(t))
    fail<DtypeError>(
        name, std::string("takes real numbers, not ") + name_of(t) + ": take real(), imag() or abs() first",
        s);
}

Handle real_part(const Handle& h) { return is_complex(h->dtype) ? jit::real_plane(h) : h; }

Handle imaginary_part(const Handle& h, const Site& s) {
  if (is_complex(h->dtype)) return jit::imaginary_plane(h);
  return constant(0, h->dtype, h->shape, h, s);
}

Handle conjugate(const Handle& h, const Site& s) {
  if (!is_complex(h->dtype)) return h;
  const Planes p = planes_of(h);
  return complex(p.re, is_no_imaginary_part(p.im) ? p.im : unary(Op::negative, p.im, s), s);
}

Handle squared_modulus(const char* name, const Handle& h, const Site& s) {
  const auto square = [&](const Handle& x) { return binary(name, Op::multiply, x, x, s); };
  if (!is_complex(h->dtype)) return square(h);
  return binary(name, Op::add, square(jit::real_plane(h)), square(jit::imaginary_plane(h)), s);
}

const void* packed_pairs(const Handle& h, jit::Cause cause, const Site& s, jit::BufferRef& keep) {
  const Handle re = jit::real_plane(h), im = jit::imaginary_plane(h);
  const Handle* const one[] = {&h};
  jit::evaluate(one, cause, s);
  jit::BufferRef of_re, of_im;
  const void* const a = jit::contiguous_data(re, cause, s, of_re);
  const void* const b = jit::contiguous_data(im, cause, s, of_im);
  const auto count = static_cast<size_t>(numel(h->shape));
  keep = jit::BufferRef::allocate(*jit::backends().main, count * size_of(h->dtype));
  if (count) interleave(re->dtype, a, b, keep->data(), count);
  return keep->data();
}

void deinterleave(DType plane, const void* pairs, void* re, void* im, size_t count) {
  jit::take_plane(plane, pairs, 0, re, count);
  jit::take_plane(plane, pairs, 1, im, count);
}

}  // namespace lazy::detail
