#include "lazy/core/build.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {

using namespace detail;
using jit::Op;

Handle floats(const char* name, Arg& x) {
  const Operand h(name, x);
  return cast(h, float_type(h->dtype), x.site());
}

Tensor float_only(const char* name, Op op, Arg& x) { return Tensor(unary(op, floats(name, x), x.site(), 1)); }

/// True for dtypes of whose elements not all are whole and finite.
bool has_fractions(DType t) { return is_float(t) || is_complex(t); }

Handle numbers(const char* name, Arg& x) {
  Handle h = Operand(name, x).take();
  if (is_bool(h->dtype)) fail<DtypeError>(name, "takes numbers, not bool: convert with astype", x.site());
  return h;
}

/// Rounds to integers; returns values of integral dtypes unchanged.
Tensor rounding(const char* name, Op op, Arg& x) {
  const Operand h(name, x);
  return Tensor(has_fractions(h->dtype) ? unary(op, h, x.site()) : h);
}

/// Records isnan and the like; the result is fixed where the dtype has no such values.
Tensor predicate(const char* name, Op op, bool of_integers, Arg& x) {
  const Operand h(name, x);
  if (!has_fractions(h->dtype))
    return Tensor(constant(ScalarNumber(of_integers), bool_, h->shape, h, x.site()));
  return Tensor(unary(op, h, x.site()));
}

}  // namespace

#define LAZY_FLOAT_ONLY(name) \
  Tensor name(Arg x) { return float_only(#name, Op::name, x); }
LAZY_FLOAT_ONLY(sqrt)
LAZY_FLOAT_ONLY(rsqrt)
LAZY_FLOAT_ONLY(exp)
LAZY_FLOAT_ONLY(expm1)
LAZY_FLOAT_ONLY(log)
LAZY_FLOAT_ONLY(log1p)
LAZY_FLOAT_ONLY(log2)
LAZY_FLOAT_ONLY(log10)
LAZY_FLOAT_ONLY(sin)
LAZY_FLOAT_ONLY(cos)
LAZY_FLOAT_ONLY(tan)
LAZY_FLOAT_ONLY(sinh)
LAZY_FLOAT_ONLY(cosh)
LAZY_FLOAT_ONLY(tanh)
LAZY_FLOAT_ONLY(asin)
LAZY_FLOAT_ONLY(acos)
LAZY_FLOAT_ONLY(atan)
LAZY_FLOAT_ONLY(asinh)
LAZY_FLOAT_ONLY(acosh)
LAZY_FLOAT_ONLY(atanh)
LAZY_FLOAT_ONLY(erf)
LAZY_FLOAT_ONLY(erfc)
LAZY_FLOAT_ONLY(sigmoid)
LAZY_FLOAT_ONLY(gelu)
#undef LAZY_FLOAT_ONLY

Tensor ceil(Arg x) { return rounding("ceil", Op::ceil, x); }
Tensor floor(Arg x) { return rounding("floor", Op::floor, x); }
Tensor trunc(Arg x) { return rounding("trunc", Op::trunc, x); }
Tensor round(Arg x) { return rounding("round", Op::round, x); }

Tensor isnan(Arg x) { return predicate("isnan", Op::isnan, false, x); }
Tensor isinf(Arg x) { return predicate("isinf", Op::isinf, false, x); }
Tensor isfinite(Arg x) { return predicate("isfinite", Op::isfinite, true, x); }

Tensor signbit(Arg x) {
  const Operand h("signbit", x);
  if (has_fractions(h->dtype)) return Tensor(unary(Op::signbit, h, x.site()));
  if (!is_signed_int(h->dtype)) return Tensor(constant(ScalarNumber(false), bool_, h->shape, h, x.site()));
  return Tensor(binary("signbit", Op::less, h, constant(ScalarNumber(0), h->dtype, {}, x.site()), x.site()));
}

Tensor negative(Arg x) { return Tensor(unary(Op::negative, numbers("negative", x), x.site())); }
Tensor sign(Arg x) { return Tensor(unary(Op::sign, numbers("sign", x), x.site())); }
Tensor positive(Arg x) { return returned(Operand("positive", x).take(), x); }

Tensor abs(Arg x) {
  const Handle h = Operand("abs", x).take();
  return Tensor(has_fractions(h->dtype) || is_signed_int(h->dtype) ? unary(Op::abs, h, x.site()) : h);
}

Tensor square(Arg x) {
  const Operand h("square", x);
  return Tensor(binary("square", is_bool(h->dtype) ? Op::bitwise_and : Op::multiply, h, h, x.site()));
}

Tensor reciprocal(Arg x) {
  const Handle h = floats("reciprocal", x);
  return Tensor(
      binary("reciprocal", Op::divide, constant(ScalarNumber(1), h->dtype, {}, x.site()), h, x.site()));
}

Tensor relu(Arg x) {
  const Recorder r{"relu", x.site()};
  const Handle h = numbers(r.name, x);
  Composite whole(r.name, {&h}, r.site);
  // 0 has no gradient.
  return r.tensor(whole.result(r.op(Op::maximum, h, 0), [](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r{"relu", d.site};
    return {r.where(r.op(Op::less_equal, d.result, 0), 0, d.gradient)};
  }));
}

Tensor bitwise_invert(Arg x) {
  const Operand h("bitwise_invert", x);
  if (is_float(h->dtype))
    fail<DtypeError>("bitwise_invert", std::string("takes integers and bool, not ") + name_of(h->dtype),
                     x.site());
  return Tensor(unary(Op::bitwise_invert, h, x.site()));
}

Tensor logical_not(Arg x) {
  return Tensor(unary(Op::bitwise_invert, Operand("logical_not", x, bool_), x.site()));
}

Tensor astype(Arg x, DType dtype) {
  const Operand h("astype", x);
  if (is_complex(h->dtype) && !is_complex(dtype) && !is_bool(dtype))
    return Tensor(cast(real_part(h), dtype, x.site()));
  return returned(cast(h, dtype, x.site()), x);
}

Tensor operator!(const Tensor& x) { return logical_not(Arg(x, x.defined() ? x.handle()->site : Site())); }

}  // namespace lazy
