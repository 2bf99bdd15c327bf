#include "lazy/random/random.hpp"

#include <numbers>

#include "lazy/core/planes.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/ops/sorting.hpp"
#include "lazy/random/draw.hpp"

namespace lazy {
namespace {
using namespace detail;
}  // namespace

Tensor random_bits(Generator& g, ShapeArg shape, MaybeDevice device, Site s) {
  check_drawn("random_bits", shape, s);
  const Draw d{{"random_bits", s}, g, shape, uint64, device_of(device, s)};
  return Tensor(d.bits().both());
}

namespace {

/// Draws both parts of complex numbers, each times a factor.
template <class Part>
Tensor of_parts(const MaybeDType& t, double factor, const Site& s, Part&& part) {
  const DType plane = plane_type(t.value);
  const auto drawn = [&] {
    const Handle h = part(plane).handle();
    return factor == 1 ? h : binary("randn", Op::multiply, h, constant(factor, plane, {}, s), s);
  };
  const Handle re = drawn(), im = drawn();
  return Tensor(jit::complex(re, im, s));
}

}  // namespace

Tensor rand(Generator& g, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  if (t.given && is_complex(t.value))
    return of_parts(t, 1, s, [&](DType plane) { return rand(g, shape, plane, device, s); });
  const Draw d = floats("rand", g, shape, t, device, s);
  return d.result(d.fraction());
}

Tensor uniform(Generator& g, ScalarNumber low, ScalarNumber high, ShapeArg shape, MaybeDType t,
               MaybeDevice device, Site s) {
  const Draw d = floats("uniform", g, shape, t, device, s);
  return d.result(d.scaled(d.fraction(), high.as_double() - low.as_double(), low.as_double()));
}

Tensor randn(Generator& g, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  if (t.given && is_complex(t.value))  // of variance 1, half of it in each part
    return of_parts(t, std::numbers::sqrt2 / 2, s,
                    [&](DType plane) { return randn(g, shape, plane, device, s); });
  const Draw d = floats("randn", g, shape, t, device, s);
  return d.result(standard_normal(d));
}

Tensor normal(Generator& g, ScalarNumber mean, ScalarNumber std, ShapeArg shape, MaybeDType t,
              MaybeDevice device, Site s) {
  const Draw d = floats("normal", g, shape, t, device, s);
  return d.result(d.scaled(standard_normal(d), std.as_double(), mean.as_double()));
}

Tensor exponential(Generator& g, ScalarNumber rate, ShapeArg shape, MaybeDType t, MaybeDevice device,
                   Site s) {
  const Draw d = floats("exponential", g, shape, t, device, s);
  return d.result(d.op(Op::divide, exponential(d), d.number(rate.as_double())));
}

Tensor randint(Generator& g, IntegerArg low, IntegerArg high, ShapeArg shape, MaybeDType t,
               MaybeDevice device, Site s) {
  constexpr const char* name = "randint";
  const DType dtype = t.or_else(int64);
  if (!is_int(dtype)) fail<DtypeError>(name, std::string("draws integers, not ") + name_of(dtype), s);
  if (low.value >= high.value)
    fail<ShapeError>(
        name, "no integer in [" + std::to_string(low.value) + ", " + std::to_string(high.value) + ")", s);
  for (const int64_t end : {low.value, high.value - 1})
    if (!number_fits(end, dtype))
      fail<DtypeError>(name, std::to_string(end) + " does not fit " + name_of(dtype), s);
  check_drawn(name, shape, s);
  const Draw d{{name, s}, g, shape, dtype, device_of(device, s)};
  const uint64_t count = static_cast<uint64_t>(high.value) - static_cast<uint64_t>(low.value);
  // k / 2^32 of `count`, for 32 bits k; of more integers the remainder of 64 bits.
  const Draw::Bits bits = d.bits();
  const auto word = [&](uint64_t v) { return d.number(v, uint64); };
  const Handle at = count >> 32 ? d.op(Op::remainder, bits.both(), word(count))
                                : d.op(Op::right_shift,
                                       d.op(Op::multiply, d.as(uint64, bits.first()), word(count)), word(32));
  return d.result(d.op(Op::add, at, word(static_cast<uint64_t>(low.value))));
}

Tensor bernoulli(Generator& g, Arg p) {
  constexpr const char* name = "bernoulli";
  const Site s = p.site();
  if (!p.is_tensor() && p.number().kind == ScalarNumber::Kind::real &&
      !(p.number().d >= 0 && p.number().d <= 1))
    fail<Error>(name, "p is a probability, 0 to 1, not " + text(p.number()), s);
  const Operand x(name, p);
  check_drawn(name, x->shape, s);
  if (!is_float(x->dtype))
    fail<DtypeError>(name, std::string("takes floating-point numbers, not ") + name_of(x->dtype), s);
  const Draw d{{name, s}, g, x->shape, x->dtype, x->device};
  return d.result(d.as(d.work(), d.op(Op::less, d.fraction(), d.as(d.work(), x))));
}

Tensor permutation(Generator& g, IntegerArg n, MaybeDevice device, Site s) {
  const Shape shape = ShapeArg({n}, s);
  check_drawn("permutation", shape, s);
  const Draw d{{"permutation", s}, g, shape, uint64, device_of(device, s)};
  return argsort(Arg(d.bits().both(), s));
}

namespace {
/// Draws positions below n.
Tensor positions(Generator& g, int64_t n, const Shape& shape, bool replace, const MaybeTensor& p,
                 Device where, const Site& s) {
  constexpr const char* name = "choice";
  if (n < 1) fail<ShapeError>(name, "there are no elements to draw from", s);
  check_drawn(name, shape, s);
  const int64_t count = numel(shape);
  if (!replace && count > n)
    fail<ShapeError>(
        name, std::to_string(count) + " draws of " + std::to_string(n) + " elements without replacement", s);
  const jit::Purpose purpose(name);
  if (p.defined()) {
    if (p.shape() != Shape{n})
      fail<ShapeError>(name, "p has shape " + to_string(p.shape()) + ", not " + to_string(Shape{n}), s);
    return multinomial(g, Arg(p, s), count, replace).reshape(shape, s);
  }
  if (replace) return randint(g, 0, n, shape, int64, where, s);
  const Tensor order = permutation(g, n, where, s);
  return order.narrow(0, 0, count, s).reshape(shape, s);
}
}  // namespace

Tensor choice(Generator& g, TensorArg x, ShapeArg shape, bool replace, MaybeTensor p) {
  constexpr const char* name = "choice";
  const Site s = x.site();
  const Operand h(name, x);
  if (h->shape.size() != 1)
    fail<ShapeError>(name, "takes a tensor of one dimension, not " + to_string(h->shape), s);
  const Tensor at = positions(g, h->shape[0], shape, replace, p, h->device, s);
  const jit::Purpose purpose(name);
  return take(Arg(h, s), Arg(at, s), 0);
}

Tensor choice(Generator& g, IntegerArg n, ShapeArg shape, bool replace, MaybeTensor p, Site s) {
  return positions(g, n, shape, replace, p, device_of(MaybeDevice(), s), s);
}

Tensor shuffle(Generator& g, Arg x, IntegerArg axis) {
  constexpr const char* name = "shuffle";
  const Site s = x.site();
  const Shape shape = shape_of(name, x);
  const int a = normal_axis(name, axis, shape.size(), s);
  const Operand h(name, x);
  const Draw d{{name, s}, g, {shape[a]}, uint64, h->device};
  return take(Arg(h, s), Arg(argsort(Arg(d.bits().both(), s)).handle(), s), a);
}

Tensor multinomial(Generator& g, Arg weights, IntegerArg samples, bool replacement) {
  constexpr const char* name = "multinomial";
  const Site s = weights.site();
  const Operand given(name, weights);
  const DType t = given->dtype;
  if (!is_float(t)) fail<DtypeError>(name, std::string("takes floating-point numbers, not ") + name_of(t), s);
  if (given->shape.size() == 0) fail<ShapeError>(name, "weights have no dimension", s);
  const int64_t n = given->shape.back(), count = samples;
  if (count < 0 || n == 0 || (!replacement && count > n))
    fail<ShapeError>(name, std::to_string(count) + " samples of " + std::to_string(n) + " positions", s);
  const DType work = is_half(t) ? float32 : t;
  Handle w = cast(given, work, s);
  Shape rows, shape = w->shape;  // without the last axis; of what is drawn
  for (int i = 0; i + 1 < shape.size(); ++i) rows.push_back(shape[i]);
  Shape result = rows;
  result.push_back(count);
  if (replacement) {
    shape = result;
    shape.push_back(n);
    rows.push_back(1);
    rows.push_back(n);
    w = detail::reshape(w, rows, s);
  }
  check_drawn(name, shape, s);
  // The first of exponential waiting times of rates w: position i with probability w[i] / sum(w).
  const Draw d{{name, s}, g, shape, work, w->device};
  const Handle waits = d.op(Op::divide, exponential(d), w);
  if (replacement) return Tensor(reduce(name, Op::argmin, waits, {-1}, dropdims, s));
  const Tensor order = argsort(Arg(waits, s));
  Dims zeros, ones;
  for (int i = 0; i < shape.size(); ++i) zeros.push_back(0), ones.push_back(1);
  return Tensor(detail::slice(order.handle(), zeros, ones, result, s));
}

Tensor dropout(Generator& g, Arg x, double p, bool training) {
  constexpr const char* name = "dropout";
  const Site s = x.site();
  if (!(p >= 0 && p <= 1)) fail<Error>(name, "p is " + std::to_string(p) + ", not in [0, 1]", s);
  const Operand h(name, x);
  check_drawn(name, h->shape, s);
  const DType t = float_type(h->dtype);
  if (!training || p == 0) return returned(cast(h, t, s), x);
  const Draw d{{name, s}, g, h->shape, plane_type(t), h->device};  // complex numbers stay or go as a whole
  Composite whole(name, {&static_cast<const Handle&>(h)}, s);
  const Handle kept = d.op(Op::greater_equal, d.fraction(), d.number(p));
  const Handle scaled =
      p == 1 ? cast(h, t, s) : d.op(Op::multiply, cast(h, t, s), d.number(1 / (1 - p), d.dtype));
  return Tensor(whole.result(where(name, kept, scaled, d.number(0, d.dtype), s)));
}

}  // namespace lazy
