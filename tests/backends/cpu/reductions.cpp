// Compares reductions, contractions and scans on both levels with the reference, to the bit.
#include "support/config.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

const std::vector<Op> kReduceOps = {Op::sum, Op::prod, Op::max,    Op::min,
                                    Op::any, Op::all,  Op::argmax, Op::argmin};

/// Builds a reduction along the last of two axes (inner) or along the first (outer).
LoopKernel reduction(Op op, DType t, bool inner) {
  KernelBuilder b(Form::reduce, 2, inner ? 1 : 0);
  const ValueId x =
      b.input(t, inner ? std::vector{Stride::any, Stride::unit} : std::vector{Stride::any, Stride::unit});
  const int r = b.reduce(op, x);
  b.begin_epilogue();
  b.store(b.result(r), {inner ? Stride::unit : Stride::zero, inner ? Stride::zero : Stride::unit});
  return b.done();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_reductions)

BOOST_AUTO_TEST_CASE(every_op_and_dtype_inner) {
  for (Op op : kReduceOps)
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto t = static_cast<DType>(d);
      if (!accepts(op, t)) continue;
      const LoopKernel k = reduction(op, t, true);
      for (int64_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 100, 129, 1000}) {
        if (n == 0 && op >= Op::argmax) continue;
        compare(k, {3, n});
      }
    }
}

BOOST_AUTO_TEST_CASE(every_op_and_dtype_outer) {
  for (Op op : kReduceOps)
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto t = static_cast<DType>(d);
      if (!accepts(op, t)) continue;
      const LoopKernel k = reduction(op, t, false);
      for (int64_t s : {0, 1, 2, 3, 4, 5, 7, 100})
        for (int64_t n : {1, 16, 31, 70}) {
          if (s == 0 && op >= Op::argmax) continue;
          compare(k, {s, n});
        }
    }
}

BOOST_AUTO_TEST_CASE(block_limits) {
  for (Op op : {Op::sum, Op::max, Op::argmin})
    for (DType t : {float32, float64, int32}) {
      for (int64_t n : {16383, 16384, 16385, 32768, 50001}) compare(reduction(op, t, true), {2, n});
      for (int64_t s : {1023, 1024, 1025, 2048, 3001}) compare(reduction(op, t, false), {s, 19});
    }
}

BOOST_AUTO_TEST_CASE(all_infinite_or_nan) {
  for (Op op : {Op::argmax, Op::argmin, Op::max, Op::min})
    for (bool inner : {true, false})
      for (float v : {INFINITY, -INFINITY, NAN}) {
        const LoopKernel k = reduction(op, float32, inner);
        Options o;
        o.fill = [&](int, char* p, size_t n) {
          for (size_t i = 0; i < n; i += 4) std::memcpy(p + i, &v, 4);
        };
        o.origins = {5, 9};
        compare(k, {20, 40}, o);
      }
}

/// Sums for mean and variance, an index, a maximum: several results of one pass, with an epilogue that only
/// they have.
BOOST_AUTO_TEST_CASE(several_at_once) {
  for (bool inner : {true, false})
    for (DType t : {float32, float64}) {
      KernelBuilder b(Form::reduce, 3, inner ? 2 : 1);
      const ValueId x = b.input(t, {Stride::any, Stride::any, Stride::unit}), s = b.scalar(t);
      const int sum = b.reduce(Op::sum, x), squares = b.reduce(Op::sum, b.op(Op::multiply, x, x)),
                most = b.reduce(Op::max, b.op(Op::add, x, s)), where = b.reduce(Op::argmax, x),
                single = b.reduce(Op::sum, b.cast(float32, x));
      b.begin_epilogue();
      const std::vector<Stride> out = inner ? std::vector{Stride::any, Stride::any, Stride::zero}
                                            : std::vector{Stride::any, Stride::zero, Stride::unit};
      const ValueId scale = b.input(t, out);
      b.store(b.op(Op::multiply, b.result(sum), scale), out);
      b.store(b.op(Op::subtract, b.result(squares), b.result(most)), out);
      b.store(b.result(where), out);
      b.store(b.cast(float16, b.cast(float32, b.result(single))), out);
      b.done();
      for (int64_t n : {1, 40, 1300})
        compare(b.k, inner ? std::vector<int64_t>{2, 3, n} : std::vector<int64_t>{2, n, 37});
    }
}

/// An inner reduction's epilogue is computed in few lanes, its rare cases too; later code of its row, and the
/// rows after it, are not.
BOOST_AUTO_TEST_CASE(epilogues_of_rows) {
  for (DType t : {DType::float32, DType::float64})
    for (Op op : {Op::exp, Op::log, Op::sin, Op::tanh, Op::sqrt, Op::power}) {
      KernelBuilder b(Form::reduce, 2, 1);
      const ValueId x = b.input(t, {Stride::any, Stride::unit});
      const ValueId large = b.op(Op::multiply, x, b.input(t, {Stride::any, Stride::zero}));
      const int sum = b.reduce(Op::sum, large), most = b.reduce(Op::max, x);
      b.store(large, {Stride::any, Stride::unit});
      b.begin_epilogue();
      const ValueId s = b.result(sum), m = b.result(most);
      b.store(op == Op::power ? b.op(op, s, m) : b.op(op, s), {Stride::any, Stride::zero});
      b.store(b.op(Op::less, s, m), {Stride::any, Stride::zero});
      b.store(b.cast(DType::int64, b.op(Op::where, b.op(Op::less, s, m), s, m)), {Stride::any, Stride::zero});
      b.done();
      Options options;
      options.tolerance = 1e-6;
      for (int64_t n : {0, 1, 16, 33, 64, 100, 129, 16500}) compare(b.k, {n > 1000 ? 2 : 9, n}, options);
    }
}

BOOST_AUTO_TEST_CASE(long_bodies) {
  for (bool inner : {true, false}) {
    KernelBuilder b(Form::reduce, 2, inner ? 1 : 0);
    ValueId x = b.input(float32, {Stride::any, Stride::unit});
    const ValueId y = b.input(
        float32, inner ? std::vector{Stride::any, Stride::zero} : std::vector{Stride::zero, Stride::unit});
    ValueId v = x;
    for (int i = 0; i < 300; ++i) v = b.op(i % 3 ? Op::add : Op::multiply, v, i % 7 ? y : x);
    const int r = b.reduce(Op::sum, v), m = b.reduce(Op::min, v);
    b.begin_epilogue();
    const std::vector<Stride> out =
        inner ? std::vector{Stride::unit, Stride::zero} : std::vector{Stride::zero, Stride::unit};
    b.store(b.result(r), out);
    b.store(b.result(m), out);
    b.done();
    for (int64_t n : {3, 90, 2000})
      compare(b.k, inner ? std::vector<int64_t>{4, n} : std::vector<int64_t>{n, 50});
  }
}

BOOST_AUTO_TEST_CASE(matmul) {
  for (DType t : {float32, float64, int32, int64, uint8}) {
    KernelBuilder b(Form::contract, 4, 2);
    const ValueId x = b.input(t, {Stride::any, Stride::any, Stride::unit, Stride::zero});
    const ValueId y = b.input(t, {Stride::any, Stride::zero, Stride::any, Stride::unit});
    const int r = b.contract(x, y);
    b.begin_epilogue();
    const ValueId bias = b.input(t, {Stride::zero, Stride::zero, Stride::zero, Stride::unit});
    b.store(b.op(Op::add, b.result(r), bias), {Stride::any, Stride::any, Stride::zero, Stride::unit});
    b.done();
    for (int64_t m : {1, 3, 8, 17})
      for (int64_t k : {0, 1, 33})
        for (int64_t n : {1, 16, 48, 75, 100}) compare(b.k, {2, m, k, n});
  }
}

BOOST_AUTO_TEST_CASE(matmul_by_a_vector_and_transposed) {
  for (DType t : {float32, int16}) {
    KernelBuilder b(Form::contract, 2, 0);
    const int r =
        b.contract(b.input(t, {Stride::unit, Stride::any}), b.input(t, {Stride::any, Stride::zero}));
    b.begin_epilogue();
    b.store(b.result(r), {Stride::zero, Stride::unit});
    for (int64_t n : {0, 1, 50}) compare(b.done(), {n, 5});

    KernelBuilder c(Form::contract, 3, 1);
    const int q = c.contract(c.input(t, {Stride::unit, Stride::any, Stride::zero}),
                             c.input(t, {Stride::zero, Stride::unit, Stride::any}));
    c.begin_epilogue();
    c.store(c.result(q), {Stride::any, Stride::zero, Stride::any});
    compare(c.done(), {13, 21, 50});
  }
}

BOOST_AUTO_TEST_CASE(scans) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto t = static_cast<DType>(d);
    for (const Op op : {Op::cumsum, Op::cumprod, Op::cummax, Op::cummin}) {
      if (!accepts(op, t)) continue;
      KernelBuilder b(Form::scan, 3, 1);
      const ValueId x = b.input(t, {Stride::any, Stride::any, Stride::unit});
      const int r = b.reduce(op, x);
      b.store(b.result(r), {Stride::any, Stride::any, Stride::unit});
      b.done();
      for (int64_t s : {0, 1, 2, 30})
        for (int64_t n : {1, 16, 100}) compare(b.k, {2, s, n});

      KernelBuilder line(Form::scan, 2, 0);  // has work for one lane
      const int q = line.reduce(op, line.input(t, {Stride::unit, Stride::zero}));
      line.store(line.result(q), {Stride::unit, Stride::zero});
      line.done();
      for (int64_t s : {0, 1, 2, 30, 1000}) compare(line.k, {s, 1});
    }
  }
}

/// Rows that are processed several at a time: one operand moves from row to row, the other does not.
BOOST_AUTO_TEST_CASE(several_rows) {
  for (DType t : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
    for (Op op : {Op::sum, Op::prod}) {
      KernelBuilder b(Form::reduce, 3, 2);
      const DType wide = t == DType::float64 ? t : DType::float32;
      const auto widened = [&](ValueId v) { return t == wide ? v : b.cast(wide, v); };
      const ValueId x = widened(b.input(t, {Stride::any, Stride::any, Stride::unit})),
                    y = widened(b.input(t, {Stride::any, Stride::zero, Stride::unit}));
      const int r = b.reduce(op, b.op(Op::multiply, x, y));
      b.begin_epilogue();
      const ValueId bias = b.input(wide, {Stride::zero, Stride::unit, Stride::zero});
      b.store(b.op(Op::add, b.result(r), bias), {Stride::any, Stride::unit, Stride::zero});
      b.done();
      for (int64_t rows : {1, 3, 4, 5, 8, 11})
        for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 130, 200})
          compare(b.k, {2, rows, n});
    }
}

/// Several rows have one epilogue, a lane each: what it loads and stores lies side by side or apart, in any
/// dtype; and each row one element of its own, as the mean in a variance.
BOOST_AUTO_TEST_CASE(one_epilogue_of_several_rows) {
  for (DType t : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int32})
    for (Op op : {Op::sum, Op::prod, Op::max, Op::min}) {
      KernelBuilder b(Form::reduce, 3, 2);
      const DType wide = t == DType::float16 || t == DType::bfloat16 ? DType::float32 : t;
      const auto widened = [&](ValueId v) { return t == wide ? v : b.cast(wide, v); };
      const std::vector<Stride> apart{Stride::any, Stride::any, Stride::zero},
          near{Stride::any, Stride::unit, Stride::zero};
      const ValueId x = widened(b.input(t, {Stride::any, Stride::any, Stride::unit})),
                    y = widened(b.input(t, {Stride::zero, Stride::zero, Stride::unit})),
                    mean = widened(b.input(t, apart));
      const ValueId centred = b.op(Op::subtract, b.op(Op::multiply, x, b.scalar(wide)), mean);
      const int r = b.reduce(op, b.op(Op::add, centred, y));
      b.begin_epilogue();
      const ValueId result = b.result(r), one = b.op(Op::subtract, result, widened(b.input(t, near)));
      b.store(b.op(Op::add, one, widened(b.input(t, apart))), apart);
      b.store(t == wide ? one : b.cast(t, one), near);
      b.store(t == wide ? result : b.cast(t, result), apart);
      b.done();
      for (const bool backwards : {false, true}) {
        Options options;
        options.backwards = backwards;
        for (int64_t rows : {1, 3, 4, 5, 8, 11})
          for (int64_t n : {0, 1, 3, 4, 5, 8, 9, 16, 17, 64, 65, 130, 16400})
            compare(b.k, {2, rows, n}, options);
      }
    }
}

/// Reductions of no dtype wider than a lane: the number of a row in the epilogue, and NaN, infinities and
/// zeros of both signs among the rows' elements.
BOOST_AUTO_TEST_CASE(numbers_and_edges_of_several_rows) {
  for (Op op : {Op::sum, Op::max, Op::min}) {
    KernelBuilder b(Form::reduce, 2, 1);
    const int r = b.reduce(op, b.input(float32, {Stride::any, Stride::unit}));
    b.begin_epilogue();
    const ValueId number = b.cast(float32, b.cast(DType::int32, b.iota(0)));
    b.store(b.op(Op::multiply, b.result(r), number), {Stride::unit, Stride::zero});
    b.store(b.result(r), {Stride::any, Stride::zero});
    b.done();
    Options options;
    options.origins = {5, 0};
    options.fill = [](int, char* data, size_t bytes) {
      const float edges[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.5f, -3.0f};
      for (size_t i = 0; i + 4 <= bytes; i += 4) {
        const auto kind = random_below(40);
        const float v = kind < 7 ? edges[kind] : kind < 20 ? -0.0f : -1.25f;
        std::memcpy(data + i, &v, 4);
      }
    };
    for (int64_t rows : {4, 7, 20})
      for (int64_t n : {1, 2, 4, 7, 8, 12, 16, 30, 64, 100}) compare(b.k, {rows, n}, options);
  }
}

/// Builds a reduction of rows whose elements come of one or two operands that move from row to row, with so
/// many instructions after it. What these load and store lies side by side or apart.
LoopKernel rows_with_epilogue(Op op, DType t, bool two, int length) {
  KernelBuilder b(Form::reduce, 3, 2);
  const DType wide = is_half(t) ? DType::float32 : t;
  const auto widened = [&](ValueId v) { return t == wide ? v : b.cast(wide, v); };
  const std::vector<Stride> row{Stride::any, Stride::any, Stride::unit},
      apart{Stride::any, Stride::any, Stride::zero}, near{Stride::any, Stride::unit, Stride::zero};
  ValueId x = widened(b.input(t, row));
  if (two) x = b.op(Op::multiply, x, widened(b.input(t, row)));
  const int r = b.reduce(op, x);
  b.begin_epilogue();
  ValueId v = b.result(r);
  const ValueId first = widened(b.input(t, near)), second = widened(b.input(t, apart));
  const ValueId number = b.cast(wide, b.cast(DType::int32, b.iota(1)));
  for (int i = 0; i < length; ++i)
    v = b.op(i % 3 == 0   ? Op::multiply
             : i % 3 == 1 ? Op::maximum
                          : Op::subtract,
             v,
             i % 4 == 0   ? first
             : i % 4 == 1 ? number
                          : second);
  b.store(v, apart);
  b.store(t == wide ? v : b.cast(t, v), near);
  return b.done();
}

/// A long epilogue waits until a vector of rows is there, whether these go one by one or several at a time.
BOOST_AUTO_TEST_CASE(long_epilogues_of_rows) {
  for (DType t : {DType::float32, DType::float64, DType::float16, DType::int32})
    for (Op op : {Op::sum, Op::max})
      for (const bool two : {false, true}) {
        const LoopKernel k = rows_with_epilogue(op, t, two, 24);
        for (int64_t rows : {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 53})
          for (int64_t n : {0, 1, 4, 9, 17, 65, 130}) compare(k, {2, rows, n});
        compare(k, {1, 19, 16400});
        const config::Override three("LAZY_NUM_THREADS", "3");
        compare(k, {3, 1003, 70});
      }
}

/// A body that needs all registers leaves partial results, and the row's result, in memory.
BOOST_AUTO_TEST_CASE(long_epilogues_after_bodies_without_registers) {
  for (DType t : {DType::float32, DType::float64})
    for (Op op : {Op::sum, Op::max}) {
      KernelBuilder b(Form::reduce, 2, 1);
      const int r = b.reduce(op, b.op(Op::log, b.input(t, {Stride::any, Stride::any})));
      b.begin_epilogue();
      ValueId v = b.cast(t, b.cast(DType::int32, b.iota(0)));
      const ValueId y = b.input(t, {Stride::unit, Stride::zero});
      for (int i = 0; i < 24; ++i) v = b.op(i % 2 ? Op::maximum : Op::multiply, v, y);
      b.store(v, {Stride::unit, Stride::zero});
      b.store(b.op(Op::maximum, b.result(r), b.result(r)), {Stride::any, Stride::zero});
      b.done();
      Options options;
      options.tolerance = 1e-3;
      options.fill = [&](int, char* data, size_t bytes) {
        for (size_t i = 0; i + size_of(t) <= bytes; i += size_of(t)) {
          const double d = 2 + static_cast<double>(random_below(64));
          const auto f = static_cast<float>(d);
          if (t == DType::float64) std::memcpy(data + i, &d, 8);
          else std::memcpy(data + i, &f, 4);
        }
      };
      for (int64_t rows : {1, 8, 16, 37})
        for (int64_t n : {1, 5, 130}) compare(b.k, {rows, n}, options);
    }
}

/// A short epilogue does not wait: it costs less than that would.
BOOST_AUTO_TEST_CASE(short_epilogues_do_not_wait) {
  for (const cpu_backend::Isa isa : levels()) {
    const auto schedule = [&](DType t, int length) {
      return backend_of(isa).compile(rows_with_epilogue(Op::sum, t, true, length))->schedule();
    };
    for (const DType t : {DType::float32, DType::float64}) {
      const std::string rows = t == DType::float32 ? "16" : "8";
      const bool waits = schedule(t, 24).find(", an epilogue for " + rows + " rows") != std::string::npos;
      BOOST_TEST(waits == (isa >= cpu_backend::Isa::avx512));
      BOOST_TEST(schedule(t, 2).find("an epilogue for") == std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
