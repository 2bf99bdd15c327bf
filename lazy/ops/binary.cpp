#include "lazy/core/build.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/float_function.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {

using namespace detail;
using jit::Op;

[[gnu::always_inline]] inline Tensor in_type(const char* name, Op op, Arg& a, Arg& b, DType t) {
  Operand x(name, a, t), y(name, b, t);
  return Tensor(binary(name, op, x, y, a.site(), x.given() | y.given() << 1));
}

/// Records arithmetic, for which two bools have a logical op.
Tensor arithmetic(const char* name, Op op, Op of_bools, Arg& a, Arg& b) {
  const Handle &x = a.handle(), &y = b.handle();
  const bool same = x && y && x->dtype == y->dtype;  // mostly
  const DType t = same ? x->dtype : common_type(name, {&a, &b});
  return in_type(name, is_bool(t) ? of_bools : op, a, b, t);
}

Tensor numbers_only(const char* name, Op op, Arg& a, Arg& b) {
  const DType t = common_type(name, {&a, &b});
  if (is_bool(t)) fail<DtypeError>(name, "takes numbers, not two of bool: convert with astype", a.site());
  return in_type(name, op, a, b, t);
}

Tensor float_only(const char* name, Op op, Arg& a, Arg& b) {
  return in_type(name, op, a, b, float_type(common_type(name, {&a, &b})));
}

DType bits_type(const char* name, Arg& a, Arg& b) {
  const DType t = common_type(name, {&a, &b});
  if (is_float(t))
    fail<DtypeError>(name, std::string("takes integers and bool, not ") + name_of(t), a.site());
  return t;
}

Tensor shift(const char* name, Op op, Arg& a, Arg& b) {
  const DType t = bits_type(name, a, b);
  if (is_bool(t)) fail<DtypeError>(name, "takes integers, not two of bool: convert with astype", a.site());
  return in_type(name, op, a, b, t);
}

Tensor logical(const char* name, Op op, Arg& a, Arg& b) {
  const Operand x(name, a, bool_), y(name, b, bool_);
  return Tensor(binary(name, op, x, y, a.site()));
}

}  // namespace

Tensor add(Arg a, Arg b) { return arithmetic("add", Op::add, Op::bitwise_or, a, b); }
Tensor multiply(Arg a, Arg b) { return arithmetic("multiply", Op::multiply, Op::bitwise_and, a, b); }
Tensor maximum(Arg a, Arg b) { return arithmetic("maximum", Op::maximum, Op::bitwise_or, a, b); }
Tensor minimum(Arg a, Arg b) { return arithmetic("minimum", Op::minimum, Op::bitwise_and, a, b); }
Tensor subtract(Arg a, Arg b) { return numbers_only("subtract", Op::subtract, a, b); }
Tensor floor_divide(Arg a, Arg b) { return numbers_only("floor_divide", Op::floor_divide, a, b); }
Tensor remainder(Arg a, Arg b) { return numbers_only("remainder", Op::remainder, a, b); }
Tensor pow(Arg a, Arg b) {
  // A literal exponent of 2 is a product: exact where a general power costs forty instructions. The program's
  // text decides that, so it is part of the graph (and its key), fused or eager.
  if (a.is_tensor() && !b.is_tensor() && b.number().as_double() == 2) {
    const DType t = common_type("pow", {&a, &b});
    if (!is_bool(t)) {
      const Operand x("pow", a, t);
      return Tensor(binary("pow", Op::multiply, x, x, a.site()));
    }
  }
  return numbers_only("pow", Op::power, a, b);
}
Tensor divide(Arg a, Arg b) { return float_only("divide", Op::divide, a, b); }
Tensor atan2(Arg y, Arg x) { return float_only("atan2", Op::atan2, y, x); }
Tensor hypot(Arg a, Arg b) { return float_only("hypot", Op::hypot, a, b); }
Tensor copysign(Arg a, Arg b) { return float_only("copysign", Op::copysign, a, b); }

Tensor logical_and(Arg a, Arg b) { return logical("logical_and", Op::bitwise_and, a, b); }
Tensor logical_or(Arg a, Arg b) { return logical("logical_or", Op::bitwise_or, a, b); }
Tensor logical_xor(Arg a, Arg b) { return logical("logical_xor", Op::bitwise_xor, a, b); }

Tensor bitwise_and(Arg a, Arg b) {
  return in_type("bitwise_and", Op::bitwise_and, a, b, bits_type("bitwise_and", a, b));
}
Tensor bitwise_or(Arg a, Arg b) {
  return in_type("bitwise_or", Op::bitwise_or, a, b, bits_type("bitwise_or", a, b));
}
Tensor bitwise_xor(Arg a, Arg b) {
  return in_type("bitwise_xor", Op::bitwise_xor, a, b, bits_type("bitwise_xor", a, b));
}
Tensor bitwise_left_shift(Arg a, Arg b) { return shift("bitwise_left_shift", Op::left_shift, a, b); }
Tensor bitwise_right_shift(Arg a, Arg b) { return shift("bitwise_right_shift", Op::right_shift, a, b); }

// Computes max + log1p(exp(min - max)), where the difference of two equal infinities (a NaN) counts as 0. A
// NaN operand gives NaN through max.
Tensor logaddexp(Arg a, Arg b) {
  constexpr const char* name = "logaddexp";
  const Site& s = a.site();
  const DType t = float_type(common_type(name, {&a, &b}));
  const Operand x(name, a, t), y(name, b, t);
  const Handle &first = x, &second = y;
  Composite whole(name, {&first, &second}, s);
  const Handle high = binary(name, Op::maximum, x, y, s), low = binary(name, Op::minimum, x, y, s);
  const Handle zero = constant(ScalarNumber(0), t, {}, s);
  const Handle gap = detail::where(name, binary(name, Op::equal, x, y, s), zero,
                                   binary(name, Op::subtract, low, high, s), s);
  const Handle sum = binary(name, Op::add, high, unary(Op::log1p, unary(Op::exp, gap, s), s), s);
  return Tensor(whole.result(sum, [name](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r{name, d.site};
    const Handle &x = d.operands[0], &y = d.operands[1];
    const Handle apart = difference(r, x, y);
    return {r.op(Op::multiply, r.op(Op::sigmoid, apart), d.gradient),
            r.op(Op::multiply, r.op(Op::sigmoid, r.op(Op::negative, apart)), d.gradient)};
  }));
}

Tensor where(Arg condition, Arg a, Arg b) {
  constexpr const char* name = "where";
  const DType t = common_type(name, {&a, &b});
  if (const Handle& given = condition.handle(); given && (is_float(given->dtype) || is_complex(given->dtype)))
    fail<DtypeError>(name,
                     std::string("the condition is of ") + name_of(given->dtype) +
                         ", not bool: a comparison makes one, as x != 0",
                     condition.site());
  const Operand c(name, condition, bool_), x(name, a, t), y(name, b, t);
  return Tensor(detail::where(name, c, x, y, condition.site()));
}

Tensor fma(Arg a, Arg b, Arg c) {
  constexpr const char* name = "fma";
  const DType t = float_type(common_type(name, {&a, &b, &c}));
  const Operand x(name, a, t), y(name, b, t), z(name, c, t);
  return Tensor(detail::fma(name, x, y, z, a.site()));
}

namespace {

/// Keeps x within bounds, of which one may be missing. At a bound that is a number there is no gradient, as
/// in torch; one that is a tensor has half of it.
Handle bounded(const Handle& x, Arg* low, Arg* high, const Site& s) {
  const bool numbers = !(low && low->is_tensor()) && !(high && high->is_tensor());
  const Handle least = low ? Operand("clip", *low, x->dtype).take() : Handle();
  const Handle most = high ? Operand("clip", *high, x->dtype).take() : Handle();
  Composite whole("clip", {&x}, s);
  const bool bits = is_bool(x->dtype);
  Handle y = x;
  if (low) y = binary("clip", bits ? Op::bitwise_or : Op::maximum, y, least, s);
  if (high) y = binary("clip", bits ? Op::bitwise_and : Op::minimum, y, most, s);
  if (!numbers) return whole.result(y);
  return whole.result(y, [least, most](const Differentiated& d) -> std::vector<Handle> {
    const Recorder r{"clip", d.site};
    const Handle& x = d.operands[0];
    Handle within = least ? r.op(Op::greater, x, least) : Handle();
    if (most) {
      const Handle below = r.op(Op::less, x, most);
      within = within ? r.both(within, below) : below;
    }
    return {r.where(within, d.gradient, 0)};
  });
}

}  // namespace

Tensor clip(Arg x, Arg low, Arg high) {
  const Handle h = Operand("clip", x, common_type("clip", {&x, &low, &high})).take();
  return Tensor(bounded(h, &low, &high, x.site()));
}
Tensor clip(Arg x, NoneType, Arg high) {
  const Handle h = Operand("clip", x, common_type("clip", {&x, &high})).take();
  return Tensor(bounded(h, nullptr, &high, x.site()));
}
Tensor clip(Arg x, Arg low, NoneType) {
  const Handle h = Operand("clip", x, common_type("clip", {&x, &low})).take();
  return Tensor(bounded(h, &low, nullptr, x.site()));
}

}  // namespace lazy
