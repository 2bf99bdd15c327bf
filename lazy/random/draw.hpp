// Records draws: what functions of random numbers have in common. Internal to lazy/.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

#include "jit/backend/registry.hpp"
#include "jit/graph/capturing.hpp"
#include "lazy/core/samples.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/random/random.hpp"
#include "support/philox.hpp"

namespace lazy::detail {

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
  Handle number(const ScalarNumber& v, DType t) const {
    return detail::constant(to_scalar(v, t), t, {}, device, site);
  }
  Handle number(double v) const { return number(v, work()); }
  /// Returns x factor + plus, rounded once.
  Handle scaled(const Handle& x, double factor, double plus) const {
    return fma(x, number(factor), number(plus));
  }
  Tensor result(const Handle& h) const { return Tensor(as(dtype, h)); }

  /// Returns the index of each element in row-major order. Where the shape is that of samples which draw
  /// numbers of their own, it is the index in what all of them draw.
  Handle index() const {
    Handle all = index_in_shape();
    int64_t drawn = numel(shape);
    for (SampleDraws* d = SampleDraws::innermost(); d; d = d->outer()) {
      const Handle sample = d->number(name, device, site);
      if (!sample) continue;
      all = op(Op::add, all, op(Op::multiply, as(uint32, sample), number(drawn, uint32)));
      drawn *= d->count();
      if (drawn > int64_t{1} << 32)
        fail<ShapeError>("all samples together draw more than 2^32 numbers, which one draw cannot give");
    }
    return all;
  }
  Handle index_in_shape() const {
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
    if (jit::Capturing::current()) [[unlikely]]
      fail<Error>("a replay would draw the same numbers each time: pass them as an argument");
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

inline void check_drawn(const char* op, const Shape& shape, const Site& s) {
  check_extents(op, shape, s);
  check_countable(op, shape, s);
  if (numel(shape) > int64_t{1} << 32)
    fail<ShapeError>(op, to_string(shape) + " has more than 2^32 elements, which one draw cannot give", s);
}

inline Device device_of(const MaybeDevice& d, const Site& s) {
  return d.given ? d.value : jit::default_device(s);
}

inline Draw floats(const char* name, Generator& g, const Shape& shape, const MaybeDType& t,
                   const MaybeDevice& d, const Site& s) {
  const DType dtype = t.or_else(get_default_dtype());
  if (!is_float(dtype))
    fail<DtypeError>(name, std::string("draws floating-point numbers, not ") + name_of(dtype), s);
  check_drawn(name, shape, s);
  return {{name, s}, g, shape, dtype, device_of(d, s)};
}

/// Returns -log(u) for u in (0, 1): a number of the exponential distribution of rate 1.
inline Handle exponential(const Draw& d) { return d.op(Op::negative, d.op(Op::log, d.fraction(0.5))); }

/// Returns sqrt(-2 log u) cos(2 pi v). u and v have 32 bits each; of float64 53 and 64, of two draws.
inline Handle standard_normal(const Draw& d) {
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

}  // namespace lazy::detail
