#include "lazy/random/random.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "jit/backend/registry.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/sorting.hpp"
#include "support/philox.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Records what a function draws, and what it makes of it.
struct Draw : Recorder {
  Generator& generator;
  Shape shape;
  DType dtype;  // of the result
  Device device;

  /// Returns the dtype that a result is computed in.
  DType work() const { return is_half(dtype) ? float32 : dtype; }
  bool is_double() const { return dtype == float64; }
  /// Returns a constant on the draw's device, on which a draw of a single number is computed, too.
  Handle number(const Number& v, DType t) const {
    return detail::constant(to_scalar(v, t), t, {}, device, site);
  }
  Handle number(double v) const { return number(v, work()); }
  /// Returns x factor + plus, rounded once.
  Handle scaled(const Handle& x, double factor, double plus) const {
    return fma(x, number(factor), number(plus));
  }
  Tensor result(const Handle& h) const { return Tensor(as(dtype, h)); }

  /// Returns the index of each element in row-major order.
  Handle index() const {
    Handle sum;
    int64_t stride = 1;
    for (int a = shape.size() - 1; a >= 0; --a) {
      const int64_t extent = shape[a];
      if (extent == 1) continue;
      Handle i = as(uint32, iota(a, shape, device, site));
      if (stride != 1) i = op(Op::multiply, i, number(stride, uint32));
      sum = sum ? op(Op::add, i, sum) : i;
      stride *= extent;
    }
    return sum ? sum : detail::constant(to_scalar(0, uint32), uint32, shape, device, site);
  }

  /// Returns 32 random bits an element: `first`, and `second` where they are needed.
  struct Bits {
    const Draw& draw;
    Handle index, key0, key1;
    Handle word(Op op) const {
      return detail::record(op, {&index, &key0, &key1}, uint32, draw.shape, draw.site);
    }
    Handle first() const { return word(Op::philox0); }
    Handle second() const { return word(Op::philox1); }
    Handle both() const {
      const Handle upper = draw.op(Op::left_shift, draw.as(uint64, second()), draw.number(32, uint64));
      return draw.op(Op::bitwise_or, upper, draw.as(uint64, first()));
    }
  };
  /// Draws once: its key is the block that belongs to the generator's seed and position.
  Bits bits() const {
    const uint64_t seed = generator.seed(), position = generator.advance();
    const auto key = philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0},
                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    return {*this, index(), number(key[0], uint32), number(key[1], uint32)};
  }

  /// Returns (k + plus) 2^-m, where k are m random bits: m is 24, of float64 53.
  Handle fraction(double plus = 0) const {
    const Bits b = bits();
    const Handle k = is_double() ? as(int64, op(Op::right_shift, b.both(), number(11, uint64)))
                                 : as(int32, op(Op::right_shift, b.first(), number(8, uint32)));
    const double unit = is_double() ? 0x1p-53 : 0x1p-24;
    return scaled(as(work(), k), unit, plus * unit);
  }
};

void check_drawn(const char* op, const Shape& shape, const Site& s) {
  check_extents(op, shape, s);
  check_countable(op, shape, s);
  if (numel(shape) > int64_t{1} << 32)
    fail<ShapeError>(op, to_string(shape) + " has more than 2^32 elements, which one draw cannot give", s);
}

Device device_of(const MaybeDevice& d, const Site& s) { return d.given ? d.value : jit::default_device(s); }

Draw floats(const char* name, Generator& g, const Shape& shape, const MaybeDType& t, const MaybeDevice& d,
            const Site& s) {
  const DType dtype = t.or_else(get_default_dtype());
  if (!is_float(dtype))
    fail<DtypeError>(name, std::string("draws floating-point numbers, not ") + name_of(dtype), s);
  check_drawn(name, shape, s);
  return {{name, s}, g, shape, dtype, device_of(d, s)};
}

/// Returns -log(u) for u in (0, 1): a number of the exponential distribution of rate 1.
Handle exponential(const Draw& d) { return d.op(Op::negative, d.op(Op::log, d.fraction(0.5))); }

/// Returns sqrt(-2 log u) cos(2 pi v). u and v have 32 bits each; of float64 53 and 64, of two draws.
Handle standard_normal(const Draw& d) {
  Handle u, turn;
  if (d.is_double()) {
    u = d.fraction(0.5);
    turn = d.scaled(d.as(float64, d.as(int64, d.bits().both())), 2 * std::numbers::pi * 0x1p-64, 0);
  } else {
    const Draw::Bits bits = d.bits();
    u = d.scaled(d.as(float32, bits.first()), 0x1p-32, 0x1p-33);
    turn = d.scaled(d.as(float32, d.as(int32, bits.second())), 2 * std::numbers::pi * 0x1p-32, 0);
  }
  const Handle radius = d.op(Op::sqrt, d.op(Op::multiply, d.op(Op::log, u), d.number(-2)));
  return d.op(Op::multiply, radius, d.op(Op::cos, turn));
}

}  // namespace

Tensor random_bits(Generator& g, ShapeArg shape, MaybeDevice device, Site s) {
  check_drawn("random_bits", shape, s);
  const Draw d{{"random_bits", s}, g, shape, uint64, device_of(device, s)};
  return Tensor(d.bits().both());
}

Tensor rand(Generator& g, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  const Draw d = floats("rand", g, shape, t, device, s);
  return d.result(d.fraction());
}

Tensor uniform(Generator& g, Number low, Number high, ShapeArg shape, MaybeDType t, MaybeDevice device,
               Site s) {
  const Draw d = floats("uniform", g, shape, t, device, s);
  return d.result(d.scaled(d.fraction(), high.as_double() - low.as_double(), low.as_double()));
}

Tensor randn(Generator& g, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  const Draw d = floats("randn", g, shape, t, device, s);
  return d.result(standard_normal(d));
}

Tensor normal(Generator& g, Number mean, Number std, ShapeArg shape, MaybeDType t, MaybeDevice device,
              Site s) {
  const Draw d = floats("normal", g, shape, t, device, s);
  return d.result(d.scaled(standard_normal(d), std.as_double(), mean.as_double()));
}

Tensor exponential(Generator& g, Number rate, ShapeArg shape, MaybeDType t, MaybeDevice device, Site s) {
  const Draw d = floats("exponential", g, shape, t, device, s);
  return d.result(d.op(Op::divide, exponential(d), d.number(rate.as_double())));
}

Tensor randint(Generator& g, Integer low, Integer high, ShapeArg shape, MaybeDType t, MaybeDevice device,
               Site s) {
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
  const Operand x(name, p);
  check_drawn(name, x->shape, s);
  if (!is_float(x->dtype))
    fail<DtypeError>(name, std::string("takes floating-point numbers, not ") + name_of(x->dtype), s);
  const Draw d{{name, s}, g, x->shape, x->dtype, x->device};
  return d.result(d.as(d.work(), d.op(Op::less, d.fraction(), d.as(d.work(), x))));
}

Tensor permutation(Generator& g, Integer n, MaybeDevice device, Site s) {
  const Shape shape = ShapeArg({n}, s);
  check_drawn("permutation", shape, s);
  const Draw d{{"permutation", s}, g, shape, uint64, device_of(device, s)};
  return argsort(Arg(d.bits().both(), s));
}

Tensor shuffle(Generator& g, Arg x, Integer axis) {
  constexpr const char* name = "shuffle";
  const Site s = x.site();
  const Shape shape = shape_of(name, x);
  const int a = normal_axis(name, axis, shape.size(), s);
  const Operand h(name, x);
  const Draw d{{name, s}, g, {shape[a]}, uint64, h->device};
  return take(Arg(h, s), Arg(argsort(Arg(d.bits().both(), s)).handle(), s), a);
}

Tensor multinomial(Generator& g, Arg weights, Integer samples, bool replacement) {
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
  if (!training || p == 0) return Tensor(cast(h, t, s));
  const Draw d{{name, s}, g, h->shape, t, h->device};
  Composite whole(name, {&static_cast<const Handle&>(h)}, s);
  const Handle kept = d.op(Op::greater_equal, d.fraction(), d.number(p));
  const Handle scaled = p == 1 ? cast(h, t, s) : d.op(Op::multiply, cast(h, t, s), d.number(1 / (1 - p), t));
  return Tensor(whole.result(where(name, kept, scaled, d.number(0, t), s)));
}

}  // namespace lazy
