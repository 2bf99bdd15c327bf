// Compares launches large enough for several threads with one thread and with the reference, to the bit.
#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/config.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

void on_threads(const LoopKernel& k, const std::vector<int64_t>& extents, Options o = {}) {
  o.fill = [&k](int operand, char* p, size_t n) {  // fast to compute; sums stay inexact
    const DType t = k.operands[static_cast<size_t>(operand)].dtype;
    auto& g = generator();
    uint64_t state = g();
    for (size_t i = 0; i + size_of(t) <= n; i += size_of(t)) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double v = static_cast<double>(state >> 40) / 1e6;
      if (t == DType::float32) {
        const auto f = static_cast<float>(v);
        std::memcpy(p + i, &f, 4);
      } else if (t == DType::float64) std::memcpy(p + i, &v, 8);
      else std::memcpy(p + i, &state, size_of(t));
    }
  };
  for (const char* threads : {"1", "2", "3", "7"}) {
    const config::Override limit("LAZY_NUM_THREADS", threads);
    compare(k, extents, o);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_launches)

BOOST_AUTO_TEST_CASE(maps) {
  KernelBuilder b(Form::map, 1);
  const ValueId x = b.input(float32, {Stride::unit});
  b.store(b.op(Op::add, x, b.cast(float32, b.iota(0))), {Stride::unit});
  Options o;
  o.origins = {17};
  on_threads(b.done(), {300007}, o);

  KernelBuilder c(Form::map, 3);
  const ValueId y = c.input(float32, {Stride::any, Stride::zero, Stride::unit});
  c.store(c.op(Op::add, y, c.cast(float32, c.iota(1))), {Stride::any, Stride::any, Stride::unit});
  on_threads(c.done(), {5, 60, 700});
  on_threads(c.k, {1, 1, 200000});
}

BOOST_AUTO_TEST_CASE(large_ones_go_up_and_down) {
  const auto l2 = static_cast<int64_t>(cpu_backend::caches().l2 / sizeof(float));
  for (const auto first : {cpu_backend::Direction::down, cpu_backend::Direction::up}) {
    cpu_backend::set_next_direction(first);
    KernelBuilder b(Form::map, 1);
    const ValueId x = b.input(float32, {Stride::unit});
    b.store(b.op(Op::add, x, b.cast(float32, b.iota(0))), {Stride::unit});
    on_threads(b.done(), {l2 + 12345});

    KernelBuilder c(Form::map, 3);
    const ValueId y = c.input(float32, {Stride::any, Stride::any, Stride::unit});
    c.store(c.op(Op::add, y, c.cast(float32, c.iota(1))), {Stride::any, Stride::any, Stride::unit});
    on_threads(c.done(), {1, l2 / 1000 + 3, 1001});
    on_threads(c.k, {13, 7, l2 / 80});

    KernelBuilder d(Form::reduce, 2, 1);
    const int rows = d.reduce(Op::sum, d.input(float32, {Stride::any, Stride::unit}));
    d.begin_epilogue();
    d.store(d.result(rows), {Stride::unit, Stride::zero});
    for (int64_t n : {7, 1003}) on_threads(d.done(), {l2 / n * 3 / 2 + 5, n});

    KernelBuilder e(Form::reduce, 3, 1);
    const int columns = e.reduce(Op::max, e.input(float32, {Stride::any, Stride::any, Stride::unit}));
    e.begin_epilogue();
    e.store(e.result(columns), {Stride::any, Stride::zero, Stride::unit});
    on_threads(e.done(), {19, l2 / 1000, 101});
    on_threads(e.k, {1, l2 / 100, 157});
  }
}

BOOST_AUTO_TEST_CASE(rows_of_reductions) {
  KernelBuilder b(Form::reduce, 2, 1);
  const int r = b.reduce(Op::sum, b.input(float32, {Stride::any, Stride::unit}));
  b.begin_epilogue();
  b.store(b.result(r), {Stride::unit, Stride::zero});
  on_threads(b.done(), {301, 1000});
}

BOOST_AUTO_TEST_CASE(split_reductions_inner) {
  KernelBuilder b(Form::reduce, 2, 1);
  const ValueId x = b.input(float32, {Stride::any, Stride::unit});
  const int sum = b.reduce(Op::sum, x), most = b.reduce(Op::max, x), where = b.reduce(Op::argmin, x),
            wide = b.reduce(Op::sum, b.cast(float64, x));
  b.begin_epilogue();
  for (int r : {sum, most, where, wide}) b.store(b.result(r), {Stride::any, Stride::zero});
  Options o;
  o.origins = {3, 1000};
  for (int64_t n : {16384 * 8, 16384 * 9 + 1, 500000}) on_threads(b.done(), {1, n}, o);
  on_threads(b.k, {2, 300001}, o);
}

BOOST_AUTO_TEST_CASE(split_reductions_outer) {
  KernelBuilder b(Form::reduce, 3, 1);
  const ValueId x = b.input(float32, {Stride::any, Stride::any, Stride::unit});
  const int sum = b.reduce(Op::sum, x), where = b.reduce(Op::argmax, x),
            product = b.reduce(Op::prod, b.cast(int32, x));
  b.begin_epilogue();
  for (int r : {sum, where, product}) b.store(b.result(r), {Stride::any, Stride::zero, Stride::unit});
  Options o;
  o.origins = {0, 50, 0};
  for (int64_t n : {1, 16, 75}) on_threads(b.done(), {1, 9000, n}, o);
  on_threads(b.k, {2, 5000, 40}, o);
}

BOOST_AUTO_TEST_CASE(scans_and_contractions) {
  KernelBuilder b(Form::scan, 2, 0);
  const int r = b.reduce(Op::cumsum, b.input(float32, {Stride::any, Stride::unit}));
  b.store(b.result(r), {Stride::any, Stride::unit});
  on_threads(b.done(), {300, 900});

  KernelBuilder c(Form::contract, 3, 1);
  const int m = c.contract(c.input(float32, {Stride::any, Stride::unit, Stride::zero}),
                           c.input(float32, {Stride::zero, Stride::any, Stride::unit}));
  c.begin_epilogue();
  c.store(c.result(m), {Stride::any, Stride::zero, Stride::unit});
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{130, 70, 200}, {37, 1700, 130}, {200, 2100, 61}, {70, 1000, 500}})
    on_threads(c.done(), shape);
}

/// Factors that are computed, transposed, or of another type; an epilogue; a batch.
BOOST_AUTO_TEST_CASE(fused_contractions) {
  for (DType t : {float32, float16, float64}) {
    KernelBuilder c(Form::contract, 4, 2);
    const ValueId x = c.input(t, {Stride::any, Stride::any, Stride::unit, Stride::zero}),
                  y = c.input(t, {Stride::zero, Stride::zero, Stride::unit, Stride::any});
    const DType w = compute_type(t);
    const auto widened = [&](ValueId v) { return w == t ? v : c.cast(w, v); };
    const ValueId scale = c.scalar(w);
    const int m = c.contract(c.op(Op::maximum, widened(x), scale), c.op(Op::multiply, widened(y), scale));
    c.begin_epilogue();
    const ValueId bias = c.input(w, {Stride::zero, Stride::zero, Stride::zero, Stride::unit});
    const ValueId out = c.op(Op::add, c.result(m), bias);
    c.store(w == t ? out : c.cast(t, out), {Stride::any, Stride::any, Stride::zero, Stride::unit});
    c.done();
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{1, 50, 100, 130}, {3, 40, 60, 70}, {1, 64, 1800, 50}})
      on_threads(c.k, shape);
  }
}

BOOST_AUTO_TEST_SUITE_END()
