// Compares contractions of two loaded sides, with every layout, to the reference, to the bit.
#include "backends/cpu/emitter/kernel_writer.hpp"
#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/packing/pack.hpp"
#include "backends/cpu/products/grid.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/config.hpp"
#include "tests/backends/cpu/compare.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Says how a side lies in memory: the strides of its two axes.
enum class Lies { rows, columns, anyhow };
constexpr Lies kAllLies[] = {Lies::rows, Lies::columns, Lies::anyhow};

struct Product {
  DType left = DType::float32, right = DType::float32, sum = DType::float32;
  Lies left_lies = Lies::rows, right_lies = Lies::rows;
  bool batch_left = true, batch_right = true;
  int epilogue = 0;  // number of instructions besides the store
};

/// Builds a product with axes k, batch, m, n. With Lies::columns m (or k) is the contiguous axis.
LoopKernel product(const Product& p) {
  KernelBuilder b(Form::contract, 4, 0);
  const auto stride = [](Lies lies, bool row_like) {
    return lies == Lies::anyhow ? Stride::any : (lies == Lies::rows) == row_like ? Stride::any : Stride::unit;
  };
  const auto widened = [&](ValueId v) { return b.k.body[v].type == p.sum ? v : b.cast(p.sum, v); };
  const ValueId x = b.input(p.left, {stride(p.left_lies, false), p.batch_left ? Stride::any : Stride::zero,
                                     stride(p.left_lies, true), Stride::zero});
  const ValueId y = b.input(p.right, {stride(p.right_lies, true), p.batch_right ? Stride::any : Stride::zero,
                                      Stride::zero, stride(p.right_lies, false)});
  const int r = b.contract(widened(x), widened(y));
  b.begin_epilogue();
  ValueId v = b.result(r);
  if (p.epilogue > 0) {
    const ValueId bias = b.input(p.sum, {Stride::zero, Stride::zero, Stride::zero, Stride::unit}),
                  rest = b.input(p.sum, {Stride::zero, Stride::any, Stride::any, Stride::any});
    for (int i = 0; i < p.epilogue; ++i) v = b.op(i % 3 == 1 ? Op::maximum : Op::add, v, i % 2 ? rest : bias);
    b.store(b.cast(DType::float64, b.cast(p.sum, b.iota(2))),
            {Stride::zero, Stride::zero, Stride::any, Stride::zero});
  }
  b.store(v, {Stride::zero, Stride::any, Stride::any, Stride::unit});
  return b.done();
}

void all_shapes(const LoopKernel& k, int64_t batch = 2) {
  for (int64_t m : {1, 2, 7, 17, 41})
    for (int64_t steps : {0, 1, 2, 35})
      for (int64_t n : {1, 13, 16, 53, 97}) compare(k, {steps, batch, m, n});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(contractions)

BOOST_AUTO_TEST_CASE(layouts) {
  for (Lies l : kAllLies)
    for (Lies r : kAllLies) all_shapes(product({.left_lies = l, .right_lies = r}));
}

BOOST_AUTO_TEST_CASE(dtypes) {
  using D = DType;
  const D sides[][3] = {{D::float64, D::float64, D::float64},  {D::float16, D::float16, D::float32},
                        {D::bfloat16, D::float32, D::float32}, {D::float32, D::float16, D::float32},
                        {D::int32, D::int32, D::int32},        {D::uint32, D::uint32, D::uint32},
                        {D::int8, D::int8, D::int8},           {D::int8, D::uint8, D::int32},
                        {D::int8, D::int8, D::int32},          {D::uint8, D::int8, D::int32},
                        {D::int16, D::int8, D::int32},         {D::uint16, D::int8, D::int32},
                        {D::uint8, D::uint8, D::uint8},        {D::int16, D::int16, D::int16},
                        {D::int64, D::int64, D::int64},        {D::int8, D::int32, D::int32}};
  for (const auto& t : sides)
    for (Lies lies : kAllLies)
      all_shapes(product({.left = t[0], .right = t[1], .sum = t[2], .left_lies = lies, .right_lies = lies}));
}

/// Few rows of integers, multiplied along the sum: complete chunks and what is left of them.
BOOST_AUTO_TEST_CASE(few_rows_of_integers) {
  using D = DType;
  for (const D left : {D::int8, D::uint8, D::int16})
    for (const D right : {D::int8, D::uint8, D::int16})
      for (const Lies lies : {Lies::rows, Lies::anyhow}) {
        const LoopKernel k = product({.left = left,
                                      .right = right,
                                      .sum = D::int32,
                                      .left_lies = lies,
                                      .right_lies = Lies::columns,
                                      .epilogue = 1});
        for (const int64_t rows : {1, 2, 3, 4, 5})
          for (const int64_t steps : {31, 32, 63, 64, 65, 131, 800})
            for (const int64_t columns : {1, 3, 4, 5, 50}) compare(k, {steps, 2, rows, columns});
      }
  const config::Override three("LAZY_NUM_THREADS", "3");
  for (const Lies lies : {Lies::columns, Lies::rows}) {
    const LoopKernel k = product(
        {.left = D::int8, .right = D::int8, .sum = D::int32, .right_lies = lies, .batch_right = false});
    for (const int64_t rows : {1, 3}) compare(k, {700, 2, rows, 2500});
  }
}

/// One row of bytes by rows of bytes: quads of steps, chunks of columns, and what is left of both.
BOOST_AUTO_TEST_CASE(one_row_of_bytes) {
  using D = DType;
  for (const D left : {D::int8, D::uint8})
    for (const D right : {D::int8, D::uint8})
      for (const Lies lies : {Lies::rows, Lies::anyhow}) {
        const LoopKernel k =
            product({.left = left, .right = right, .sum = D::int32, .left_lies = lies, .epilogue = 1});
        for (const int64_t steps : {31, 32, 33, 62, 131})
          for (const int64_t columns : {1, 17, 63, 64, 65, 128, 4099}) compare(k, {steps, 2, 1, columns});
      }
}

/// Pieces of a matrix cover it, once, and no thread waits long for another.
BOOST_AUTO_TEST_CASE(grids) {
  cpu_backend::ContractionForm f;
  f.row_axis = 2;
  f.lanes = 16, f.vectors = 3, f.rows = 8;
  for (const int64_t threads : {1, 2, 3, 8})
    for (const int64_t rows : {1, 7, 8, 100, 128, 512})
      for (const int64_t columns : {1, 16, 47, 128, 512, 1000}) {
        const cpu_backend::ContractionGrid g = cpu_backend::grid_of(f, rows, columns, threads, false);
        BOOST_TEST(g.pieces <= threads);
        int64_t covered = 0, most = 0;
        for (int64_t p = 0; p < g.pieces; ++p) {
          const cpu_backend::ContractionBlock b = g.block(p);
          BOOST_TEST((b.rows > 0 && b.columns > 0));
          covered += b.rows * b.columns;
          most = std::max(most, b.rows * b.columns);
        }
        BOOST_TEST(covered == rows * columns);
        if (threads == 2 && rows % 16 == 0 && columns % 32 == 0) BOOST_TEST(most * 2 == covered);
      }
}

BOOST_AUTO_TEST_CASE(epilogues) {
  for (int n : {1, 3, 20})
    for (DType t : {DType::float32, DType::float64, DType::int32})
      all_shapes(product({.left = t, .right = t, .sum = t, .epilogue = n}));
}

/// Three operands in one instruction beside a complete tile of accumulators: each must find registers.
BOOST_AUTO_TEST_CASE(epilogues_of_three_operands) {
  for (DType t : {DType::float64, DType::float32})
    for (Stride along : {Stride::any, Stride::unit})
      for (bool chosen : {false, true}) {
        KernelBuilder b(Form::contract, 3, 0);
        const int r = b.contract(b.input(DType::uint16, {Stride::unit, Stride::any, Stride::zero}),
                                 b.input(DType::uint16, {Stride::any, Stride::zero, Stride::unit}));
        b.begin_epilogue();
        const std::vector<Stride> strides{Stride::zero, Stride::any, along};
        const ValueId x = b.input(chosen ? DType::bool_ : t, strides), y = b.input(t, strides),
                      z = b.input(t, strides);
        b.store(b.op(chosen ? Op::where : Op::fma, x, y, z), {Stride::zero, Stride::any, Stride::unit});
        b.store(b.result(r), {Stride::zero, Stride::any, Stride::unit});
        b.done();
        for (int64_t m : {1, 5, 13})
          for (int64_t n : {1, 7, 53}) compare(b.k, {9, m, n});
      }
}

/// More results than registers, stored under a tail mask that has all lanes: values that are spilled to make
/// room for the mask must be spilled on every path through the code.
BOOST_AUTO_TEST_CASE(many_results_of_whole_vectors) {
  for (const DType t : {DType::float64, DType::float32, DType::int64}) {
    KernelBuilder b(Form::contract, 3, 0);
    const int r = b.contract(b.input(t, {Stride::zero, Stride::any, Stride::zero}),
                             b.input(t, {Stride::zero, Stride::zero, Stride::unit}));
    b.begin_epilogue();
    std::vector<ValueId> results{b.result(r)};
    for (int i = 0; i < 8; ++i) results.push_back(b.op(Op::add, results.back(), b.scalar(t)));
    for (const ValueId v : results) b.store(v, {Stride::zero, Stride::any, Stride::unit});
    b.done();
    for (const int64_t m : {1, 3, 4, 6, 8})
      for (const int64_t n : {4, 8, 16, 12, 24}) compare(b.k, {1, m, n});
  }
}

BOOST_AUTO_TEST_CASE(batches) {
  for (bool left : {true, false})
    all_shapes(product({.batch_left = left, .batch_right = !left, .epilogue = 1}), 3);
}

/// Sums in parts, blocks of rows, several threads.
BOOST_AUTO_TEST_CASE(large) {
  for (const char* threads : {"1", "3"}) {
    const config::Override set("LAZY_NUM_THREADS", threads);
    for (Lies lies : kAllLies) {
      const LoopKernel k = product({.left_lies = lies, .right_lies = lies, .epilogue = 2});
      compare(k, {1700, 1, 101, 131});
      compare(k, {3333, 1, 3, 300});
      compare(k, {3333, 1, 1, 300});
      compare(k, {65, 1, 300, 200});
      compare(k, {300, 1, 120, 1100});
      compare(k, {40, 5, 100, 50});
      const LoopKernel words = product({.left = DType::int8,
                                        .right = DType::uint8,
                                        .sum = DType::int32,
                                        .left_lies = lies,
                                        .right_lies = lies});
      compare(words, {2051, 1, 101, 131});
      compare(words, {2051, 2, 5, 131});
      const LoopKernel bytes = product({.left = DType::int8,
                                        .right = DType::int8,
                                        .sum = DType::int32,
                                        .left_lies = lies,
                                        .right_lies = lies});
      compare(bytes, {2051, 1, 101, 131});
      compare(bytes, {8195, 2, 5, 131});
    }
  }
}

/// Right sides of few columns that the second-level cache does not hold pass in parts.
BOOST_AUTO_TEST_CASE(long_and_narrow) {
  const auto elements = static_cast<int64_t>(cpu_backend::caches().l2 / 2 / sizeof(float));
  for (const char* threads : {"1", "3"}) {
    const config::Override set("LAZY_NUM_THREADS", threads);
    for (const DType t : {DType::float32, DType::float64}) {
      const LoopKernel k = product({.left = t, .right = t, .sum = t, .epilogue = 2});
      compare(k, {elements / 64 + 77, 1, 41, 64});
      compare(k, {elements / 13 + 1, 2, 9, 13});
      compare(k, {elements / 97 + 130, 1, 17, 97});
    }
  }
}

BOOST_AUTO_TEST_CASE(vectors) {
  for (Lies lies : kAllLies) {
    KernelBuilder b(Form::contract, 3, 0);
    const Stride k = lies == Lies::columns ? Stride::unit : Stride::any,
                 n = lies == Lies::rows ? Stride::unit : Stride::any;
    const int r = b.contract(b.input(DType::float32, {Stride::any, Stride::zero, Stride::zero}),
                             b.input(DType::float32, {k, Stride::zero, n}));
    b.begin_epilogue();
    b.store(b.result(r), {Stride::zero, Stride::zero, Stride::unit});
    b.done();
    for (int64_t steps : {1, 50, 700})
      for (int64_t columns : {1, 15, 64, 300, 1000}) compare(b.k, {steps, 1, columns});
    if (lies != Lies::rows) continue;
    const auto near = static_cast<int64_t>(cpu_backend::caches().l2 / sizeof(float));
    for (int64_t columns : {1, 3, 16, 100, 1021}) compare(b.k, {near / columns + 77, 1, columns});
    for (int64_t steps : {17, 31}) compare(b.k, {steps, 1, near / steps + 77});
    const auto far =
        static_cast<int64_t>(cpu_backend::caches().l3 / 2 / sizeof(float));  // a few rows are read at a time
    compare(b.k, {97, 1, far / 97 + 77});
    const config::Override one("LAZY_NUM_THREADS", "1");
    const int64_t columns = far / 9 / 64 * 64 + 128;
    {  // sums begin at zero, not with what reused memory holds
      const cpu_backend::Scratch used(columns * 4);
      std::memset(used.data(), 0x3f, static_cast<size_t>(columns) * 4);
    }
    compare(b.k, {9, 1, columns});
  }
}

/// Builds a vector times a matrix whose rows lie one after the other.
LoopKernel vector_times_matrix(DType t) {
  KernelBuilder b(Form::contract, 3, 0);
  const int r = b.contract(b.input(t, {Stride::unit, Stride::zero, Stride::zero}),
                           b.input(t, {Stride::any, Stride::zero, Stride::unit}));
  b.begin_epilogue();
  b.store(b.result(r), {Stride::zero, Stride::zero, Stride::unit});
  return b.done();
}

/// A vector times 16-bit floats, whose columns lie side by side or not: whole groups of steps and of columns,
/// what is left of both, and blocks of columns.
BOOST_AUTO_TEST_CASE(vectors_times_sixteen_bits) {
  for (const DType left : {DType::float32, DType::float16, DType::bfloat16})
    for (const DType right : {DType::float16, DType::bfloat16})
      for (const Stride apart : {Stride::unit, Stride::any}) {
        KernelBuilder b(Form::contract, 4, 0);
        const auto widened = [&](ValueId v) {
          return b.k.body[v].type == DType::float32 ? v : b.cast(DType::float32, v);
        };
        const ValueId x = b.input(left, {apart, Stride::any, Stride::zero, Stride::zero}),
                      y = b.input(right, {Stride::any, Stride::any, Stride::zero, apart});
        const int r = b.contract(widened(x), widened(y));
        b.begin_epilogue();
        const ValueId bias =
            b.input(DType::float32, {Stride::zero, Stride::zero, Stride::zero, Stride::unit});
        b.store(b.cast(right, b.op(Op::add, b.result(r), bias)),
                {Stride::zero, Stride::any, Stride::zero, Stride::unit});
        b.done();
        for (const int64_t steps : {0, 1, 7, 8, 9, 35})
          for (const int64_t columns : {1, 15, 16, 17, 31, 32, 33, 63, 100, 1000})
            compare(b.k, {steps, 2, 1, columns});
        for (const char* threads : {"1", "3"}) {
          const config::Override set("LAZY_NUM_THREADS", threads);
          compare(b.k, {21, 1, 1, 9001});
        }
      }
}

/// A right side that no near cache holds passes in parts unless one tile has all columns.
BOOST_AUTO_TEST_CASE(vectors_times_far_matrices) {
  for (const DType t : {DType::float32, DType::float64}) {
    const LoopKernel k = vector_times_matrix(t);
    for (const cpu_backend::Isa isa : levels()) {
      const auto writer = cpu_backend::KernelWriter::of(k, isa);
      writer->write();
      const cpu_backend::ContractionForm f = *writer->contraction();
      for (const int vectors : {1, 4, f.vectors}) BOOST_TEST(f.one_tile(vectors * f.lanes));
      for (const int columns :
           {4 * f.lanes + 1, 7 * f.lanes, f.vectors * f.lanes - 1, f.vectors * f.lanes + 1})
        BOOST_TEST(!f.one_tile(columns));
    }
    const auto elements = static_cast<int64_t>(cpu_backend::caches().l2 / size_of(t));
    for (const char* threads : {"1", "3"}) {
      const config::Override set("LAZY_NUM_THREADS", threads);
      for (int64_t columns : {61, 64, 65, 100, 127, 128, 250, 256, 257})
        compare(k, {elements / columns + 3, 1, columns});
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
