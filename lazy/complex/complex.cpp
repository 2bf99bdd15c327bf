#include "lazy/complex/complex.hpp"

#include <numbers>

#include "lazy/core/planes.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds two real operands in one dtype and shape.
struct Parts {
  Recorder r;
  Handle a, b;
};

Parts parts_of(const char* name, Arg& a, Arg& b) {
  const Recorder r{name, a.site()};
  const DType given = common_type(name, {&a, &b});
  if (is_complex(given)) r.fail<DtypeError>(std::string("takes real numbers, not ") + name_of(given));
  const DType t = wide_float(given);
  const Handle x = Operand(name, a, t).take(), y = Operand(name, b, t).take();
  check_devices(name, {&x, &y}, r.site);
  const Shape shape = broadcast_shapes(name, x->shape, y->shape, r.site);
  return {r, r.broadcast(x, shape), r.broadcast(y, shape)};
}

/// Returns a plane as the user's: a value of its own where gradients go by it.
Tensor own(const Handle& plane, const Site& s) {
  return Tensor(plane->attachment ? alias_of(plane, s) : plane);
}

void need_complex(const Recorder& r, const Handle& h) {
  if (!is_complex(h->dtype))
    r.fail<DtypeError>(std::string("takes complex numbers, not ") + name_of(h->dtype));
}

}  // namespace

Tensor complex(Arg re, Arg im) {
  const Parts p = parts_of("complex", re, im);
  // A marked variable stays one of its own.
  return Tensor(jit::complex(own(p.a, p.r.site).handle(), own(p.b, p.r.site).handle(), p.r.site));
}

Tensor polar(Arg size, Arg angle) {
  const Parts p = parts_of("polar", size, angle);
  const auto times = [&](Op op) { return p.r.op(Op::multiply, p.a, p.r.op(op, p.b)); };
  return Tensor(jit::complex(times(Op::cos), times(Op::sin), p.r.site));
}

Tensor real(Arg x) {
  const Operand h("real", x);
  return is_complex(h->dtype) ? own(real_part(h), x.site()) : returned(h, x);
}

Tensor imag(Arg x) {
  const Operand h("imag", x);
  return own(imaginary_part(h, x.site()), x.site());
}

Tensor conj(Arg x) {
  const Operand h("conj", x);
  return is_complex(h->dtype) ? Tensor(detail::conjugate(h, x.site())) : returned(h, x);
}

Tensor angle(Arg x) {
  const Recorder r{"angle", x.site()};
  const Handle h = Operand(r.name, x).take();
  if (is_complex(h->dtype)) {
    const Planes p = planes_of(h);
    return r.tensor(r.op(Op::atan2, p.im, p.re));
  }
  const DType t = float_type(h->dtype);
  const Handle v = r.as(t, h),
               turned = r.where(r.op(Op::less, v, 0), std::numbers::pi, r.filled(0, t, v->shape, v));
  return r.tensor(r.where(r.op(Op::isnan, v), v, turned));
}

Tensor view_as_real(Arg x) {
  const Recorder r{"view_as_real", x.site()};
  const Operand h(r.name, x);
  need_complex(r, h);
  const Planes p = planes_of(h);
  Shape one = p.re->shape;
  one.push_back(1);
  Shape both = one;
  both[both.size() - 1] = 2;
  check_countable(r.name, both, r.site);
  Handle pairs = overwritten(p.re->dtype, both, p.re->device, r.site);
  for (const int which : {0, 1}) {
    Dims start(both.size(), 0);
    start[both.size() - 1] = which;
    pairs = put_piece(r.name, pairs, r.reshape(which == 0 ? p.re : p.im, one), start, r.site);
  }
  return r.tensor(pairs);
}

Tensor view_as_complex(Arg x) {
  const Recorder r{"view_as_complex", x.site()};
  const Handle h = Operand(r.name, x).take();
  if (h->dtype != float32 && h->dtype != float64)
    r.fail<DtypeError>(std::string("takes float32 and float64, not ") + name_of(h->dtype));
  const int rank = h->shape.size();
  if (rank == 0 || h->shape.back() != 2)
    r.fail<ShapeError>("the last axis has extent 2, not shape " + to_string(h->shape));
  Shape shape;
  for (int i = 0; i + 1 < rank; ++i) shape.push_back(h->shape[i]);
  const auto plane = [&](int which) { return r.reshape(r.part(h, rank - 1, which, 1), shape); };
  return r.tensor(jit::complex(plane(0), plane(1), r.site));
}

Tensor isreal(Arg x) {
  const Recorder r{"isreal", x.site()};
  const Operand h(r.name, x);
  return r.tensor(r.op(Op::equal, imaginary_part(h, r.site), 0));
}

Tensor iscomplex(Arg x) {
  const Recorder r{"iscomplex", x.site()};
  const Operand h(r.name, x);
  return r.tensor(r.op(Op::not_equal, imaginary_part(h, r.site), 0));
}

bool is_complex(const Tensor& x, Site s) {
  if (!x.defined()) throw_empty("is_complex", s);
  return x.is_complex(s);
}

Tensor adjoint(Arg x) {
  const Recorder r{"adjoint", x.site()};
  const Operand h(r.name, x);
  if (h->shape.size() < 2) r.fail<ShapeError>("needs two dimensions, not " + to_string(h->shape));
  return returned(detail::conjugate(detail::matrix_transpose(h, r.site), r.site), x);
}

Tensor vdot(Arg a, Arg b) {
  const Recorder r{"vdot", a.site()};
  const DType t = common_type(r.name, {&a, &b}), work = is_bool(t) ? int64 : t;
  const Operand x(r.name, a, work), y(r.name, b, work);
  const int64_t n = numel(x->shape);
  if (numel(y->shape) != n)
    r.fail<ShapeError>("as many elements are needed on both sides: " + to_string(x->shape) + " and " +
                       to_string(y->shape));
  const Handle left = detail::conjugate(r.reshape(x, {n}), r.site), right = r.reshape(y, {n});
  return r.tensor(r.as(t, r.reduce(Op::sum, r.op(Op::multiply, left, right), {})));
}

}  // namespace lazy
