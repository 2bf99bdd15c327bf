// Compares every pointwise op on every dtype it takes, on both levels, with the reference.
#include "backends/cpu/emitter/isel.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

BOOST_AUTO_TEST_SUITE(cpu_pointwise)

BOOST_AUTO_TEST_CASE(every_row_has_an_emission) {
  for (int i = 0; i < jit::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    BOOST_CHECK_MESSAGE(
        (cpu_backend::emission(op) != nullptr) == (jit::kind_of(op) == jit::OpKind::pointwise),
        jit::name_of(op));
  }
}

BOOST_AUTO_TEST_CASE(every_op_and_dtype) {
  for (int i = 0; i < jit::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (jit::kind_of(op) != jit::OpKind::pointwise || op == Op::cast) continue;
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto t = static_cast<DType>(d);
      if (!accepts(op, t) || is_approximate(op, t)) continue;
      KernelBuilder b(Form::map, 1);
      std::vector<ValueId> v;
      for (int a = 0; a < jit::row_of(op).arity; ++a)
        v.push_back(b.input(op == Op::where && a == 0 ? bool_ : t, {Stride::unit}));
      v.resize(3, kNoValue);
      b.store(b.op(op, v[0], v[1], v[2]), {Stride::unit});
      compare(b.done(), {1500});
      for (int64_t n : {1, 7, 17}) compare(b.k, {n});
    }
  }
}

/// Divisors that are the same along a row: scalars, columns and what is computed of them.
BOOST_AUTO_TEST_CASE(divisions_of_rows) {
  const auto any_bits = [](int, char* p, size_t n) {  // all exponents alike
    for (size_t i = 0; i + 4 <= n; i += 4) {
      auto bits = static_cast<uint32_t>(generator()());
      if (generator()() % 8 == 0) bits &= 0x80000000;
      if (generator()() % 8 == 0) bits |= 0x7f800000;
      std::memcpy(p + i, &bits, 4);
    }
  };
  const auto ordinary = [](int, char* p, size_t n) {  // near the ends of what needs no true division, too
    for (size_t i = 0; i + 4 <= n; i += 4) {
      const auto f = std::ldexp(static_cast<float>(generator()() % (1u << 25)) - (1 << 24),
                                static_cast<int>(generator()() % 80) - 64);
      std::memcpy(p + i, &f, 4);
    }
  };
  for (const bool computed : {false, true}) {
    KernelBuilder b(Form::map, 2);
    const ValueId x = b.input(float32, {Stride::any, Stride::unit}),
                  y = b.input(float32, {Stride::any, Stride::zero}), s = b.scalar(float32);
    b.store(b.op(Op::divide, x, computed ? b.op(Op::sqrt, y) : y), {Stride::any, Stride::unit});
    b.store(b.op(Op::divide, b.op(Op::add, x, y), s), {Stride::any, Stride::unit});
    b.store(b.op(Op::divide, y, x), {Stride::any, Stride::unit});
    b.done();
    for (const auto& fill : std::vector<decltype(Options::fill)>{any_bits, ordinary, {}}) {
      Options options;
      options.fill = fill;
      for (int64_t n : {1, 15, 16, 63, 64, 129, 1000}) compare(b.k, {40, n}, options);
    }
  }
}

/// Quotients a / b whose distance to the middle of two floats is the least there is: with a 2^s = M b + c, c
/// is a few units and M odd.
BOOST_AUTO_TEST_CASE(quotients_near_the_middle_of_floats) {
  KernelBuilder k(Form::map, 2);
  k.store(k.op(Op::divide, k.input(float32, {Stride::unit, Stride::unit}),
               k.input(float32, {Stride::unit, Stride::zero})),
          {Stride::unit, Stride::unit});
  std::vector<float> dividends, divisors;
  while (dividends.size() < 4096) {
    const uint64_t b = 1 << 23 | (generator()() & 0x7fffff) | 1;
    uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - b * inverse;
    for (const int s : {24, 25})
      for (const int64_t c : {-5, -3, -1, 1, 3, 5}) {
        const uint64_t m = (static_cast<uint64_t>(-c) * inverse & ((uint64_t{1} << s) - 1)) |
                           (s == 24 ? uint64_t{1} << 24 : 0);
        const uint64_t a = (m * b + static_cast<uint64_t>(c)) >> s;
        if (m >> 24 != 1 || a >> 23 != 1) continue;
        dividends.push_back(static_cast<float>(a));
        divisors.push_back(static_cast<float>(b));
      }
  }
  Options options;
  options.fill = [&](int operand, char* p, size_t n) {
    std::memcpy(p, (operand == 0 ? dividends : divisors).data(), n);
  };
  compare(k.done(), {4096, 1}, options);
}

BOOST_AUTO_TEST_CASE(every_cast) {
  for (int f = 0; f < kDTypeCount; ++f)
    for (int t = 0; t < kDTypeCount; ++t) {
      KernelBuilder b(Form::map, 1);
      b.store(b.cast(static_cast<DType>(t), b.input(static_cast<DType>(f), {Stride::unit})), {Stride::unit});
      compare(b.done(), {3000});
      compare(b.k, {13});
    }
}

/// A cast whose value is used again, not only stored.
BOOST_AUTO_TEST_CASE(rounding_between_ops) {
  for (DType half : {float16, bfloat16})
    for (DType wide : {float32, float64}) {
      KernelBuilder b(Form::map, 1);
      const ValueId x = b.input(wide, {Stride::unit});
      const ValueId h = b.cast(half, x);
      const ValueId back = b.cast(wide, h);
      b.store(b.op(Op::subtract, x, back), {Stride::unit});
      b.store(h, {Stride::unit});
      compare(b.done(), {4000});
    }
}

BOOST_AUTO_TEST_CASE(tails) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto t = static_cast<DType>(d);
    KernelBuilder b(Form::map, 1);
    const ValueId x = b.input(t, {Stride::unit});
    b.store(x, {Stride::unit});
    b.done();
    for (int64_t n = 0; n <= 140; ++n) compare(b.k, {n});
  }
}

BOOST_AUTO_TEST_CASE(strides_and_broadcasts) {
  const Stride classes[] = {Stride::zero, Stride::unit, Stride::any};
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto t = static_cast<DType>(d);
    for (Stride in : classes)
      for (Stride out : {Stride::unit, Stride::any})
        for (bool wide : {false, true}) {
          KernelBuilder b(Form::map, 3);
          const ValueId x = b.input(t, {Stride::any, Stride::zero, in});
          const ValueId y = b.input(t, {Stride::zero, Stride::any, Stride::unit});
          const ValueId s = b.scalar(t);
          const auto computed = [&](ValueId v) { return is_half(t) ? b.cast(float32, v) : v; };
          const ValueId chosen =
              b.op(Op::where, b.op(Op::less, b.cast(int32, x), b.cast(int32, y)), computed(x), computed(s));
          b.store(is_half(t) ? b.cast(t, chosen) : chosen, {Stride::any, Stride::any, out});
          for (auto& o : b.k.operands) o.wide = wide;
          b.done();
          Options o;
          o.backwards = true;
          for (int64_t n : {1, 5, 16, 33}) compare(b.k, {3, 2, n}, o);
        }
  }
}

// Two loads and a permutation, which must not read beyond the last element.
BOOST_AUTO_TEST_CASE(every_second_element) {
  Options every_second;
  every_second.gap = 1;
  for (const DType t : {float32, int32, float64, int64}) {
    KernelBuilder b(Form::map, 2);
    const ValueId x = b.input(t, {Stride::any, Stride::any}), y = b.input(t, {Stride::any, Stride::unit});
    b.store(b.op(Op::add, b.op(Op::multiply, x, y), x), {Stride::any, Stride::unit});
    b.done();
    for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65, 131})
      compare(b.k, {3, n}, every_second);
    for (const cpu_backend::Isa isa : levels()) {
      const bool wide = size_of(t) == 8, avx2 = isa == cpu_backend::Isa::avx2;
      const char* const name = avx2 ? (wide ? "vshufpd" : "vshufps") : wide ? "vpermi2pd" : "vpermi2ps";
      BOOST_TEST(backend_of(isa).compile(b.k)->disassembly().find(name) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(scalars_of_every_dtype) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto t = static_cast<DType>(d);
    KernelBuilder b(Form::map, 1);
    const ValueId s = b.scalar(t), r = b.scalar(t);
    b.store(b.cast(float64, s), {Stride::unit});
    b.store(r, {Stride::unit});
    compare(b.done(), {21});
  }
}

BOOST_AUTO_TEST_CASE(iota_of_every_axis) {
  for (DType t : {int64, float32, float64, uint8})
    for (int axis = 0; axis < 3; ++axis) {
      KernelBuilder b(Form::map, 3);
      b.store(b.cast(t, b.iota(axis)), {Stride::any, Stride::any, Stride::unit});
      Options o;
      o.origins = {100, -20, 7};
      compare(b.done(), {3, 4, 45}, o);
    }
}

BOOST_AUTO_TEST_CASE(many_operands) {
  for (int inputs : {9, 14, 30}) {
    KernelBuilder b(Form::map, 2);
    ValueId sum = b.input(float32, {Stride::any, Stride::unit});
    for (int i = 1; i < inputs; ++i)
      sum = b.op(i % 2 ? Op::add : Op::multiply, sum,
                 b.input(float32, {Stride::any, i % 3 ? Stride::unit : Stride::any}));
    b.store(sum, {Stride::any, Stride::unit});
    compare(b.done(), {3, 77});
  }
}

// With three ops an output the body is one loop, always under the tail mask, even if that has all lanes.
BOOST_AUTO_TEST_CASE(many_outputs) {
  for (const DType t : {float32, float64, int16})
    for (const int ops : {1, 3})
      for (const int64_t extent : {100, 96}) {
        KernelBuilder b(Form::map, 1);
        ValueId x = b.input(t, {Stride::unit});
        std::vector<ValueId> results;
        for (int i = 0; i < 24; ++i) {
          for (int k = 0; k < ops; ++k) x = b.op(Op::add, x, b.scalar(t));
          results.push_back(x);
        }
        for (const ValueId r : results) b.store(r, {Stride::unit});
        compare(b.done(), {extent});
      }
}

BOOST_AUTO_TEST_SUITE_END()
