// Compares products of bfloat16 with their definition. By tile registers, to the bit: in each 32 steps the
// even ones are added up, and the odd ones; then their sum is added to what came before. By dot products,
// whose order is the processor's: to the bit where every order gives the same.
#include <cmath>

#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "support/config.hpp"
#include "tests/backends/cpu/compare.hpp"
#include "tests/common/needs.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

constexpr int64_t kBlock = 32;

float widened(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }

/// Returns the sum over `steps` of left(i) * right(i) in the order of tile registers.
template <class Left, class Right>
float sum_in_blocks(int64_t steps, Left&& left, Right&& right) {
  float sum = 0;
  for (int64_t first = 0; first < steps; first += kBlock) {
    float part[2] = {0, 0};
    for (int64_t i = first; i < std::min(steps, first + kBlock); ++i)
      part[i % 2] = std::fma(left(i), right(i), part[i % 2]);
    sum += part[0] + part[1];
  }
  return sum;
}

struct Case {
  int64_t rows, steps, columns;
  bool left_transposed = false, right_transposed = false;
  bool wide_lanes = false;  // another result is of 8 bytes: half as many lanes
  double scale = 1;
  bool whole = false;  // small integers, of which all sums are exact
};

Fenced random_halves(int64_t count, const Case& c) {
  Fenced memory(static_cast<size_t>(count) * 2);
  for (int64_t i = 0; i < count; ++i) {
    random_element(DType::bfloat16, memory.data() + 2 * i);
    uint16_t h;
    std::memcpy(&h, memory.data() + 2 * i, 2);
    const bool special = !std::isfinite(widened(h)) || std::abs(widened(h)) > 1e6F;
    if (special && random_below(50) != 0) h = std::bit_cast<uint32_t>(1.5F) >> 16;  // most sums stay numbers
    if (c.scale != 1) h = std::bit_cast<uint32_t>(widened(h) * static_cast<float>(c.scale)) >> 16;
    if (c.whole) h = std::bit_cast<uint32_t>(static_cast<float>(random_below(17)) - 8) >> 16;
    std::memcpy(memory.data() + 2 * i, &h, 2);
  }
  return memory;
}

LoopKernel kernel_of(const Case& c) {
  KernelBuilder b(Form::contract, 3, 0);
  const Stride any = Stride::any, unit = Stride::unit, zero = Stride::zero;
  const ValueId x = b.input(DType::bfloat16,
                            {c.left_transposed ? any : unit, c.left_transposed ? unit : any, zero}),
                y = b.input(DType::bfloat16,
                            {c.right_transposed ? unit : any, zero, c.right_transposed ? any : unit});
  const int r = b.contract(b.cast(DType::float32, x), b.cast(DType::float32, y));
  b.begin_epilogue();
  const ValueId bias = b.input(DType::float32, {zero, zero, unit});
  b.store(b.op(Op::add, b.result(r), bias), {zero, any, unit});
  if (c.wide_lanes) b.store(b.cast(DType::float64, b.result(r)), {zero, any, unit});
  return b.done();
}

void check(const Case& c, cpu_backend::Isa isa) {
  const Fenced left = random_halves(c.rows * c.steps, c), right = random_halves(c.steps * c.columns, c);
  const auto n = static_cast<size_t>(c.rows * c.columns);
  Fenced out(n * 4), wide(n * 8);
  std::vector<float> bias(static_cast<size_t>(c.columns));
  for (size_t j = 0; j < bias.size(); ++j) bias[j] = static_cast<float>(j) / 8;
  const LoopKernel k = kernel_of(c);
  const auto kernel = backend_of(isa).compile(k);
  const int64_t left_row = c.left_transposed ? 2 : 2 * c.steps,
                left_step = c.left_transposed ? 2 * c.rows : 2,
                right_step = c.right_transposed ? 2 : 2 * c.columns,
                right_column = c.right_transposed ? 2 * c.steps : 2;
  Launch l(k);
  l.extents({c.steps, c.rows, c.columns})
      .operand(0, left.data(), {left_step, left_row, 0})
      .operand(1, right.data(), {right_step, 0, right_column})
      .operand(2, bias.data(), {0, 0, 4})
      .operand(3, out.data(), {0, 4 * c.columns, 4});
  if (c.wide_lanes) l.operand(4, wide.data(), {0, 8 * c.columns, 8});
  kernel->launch(l.data());
  BOOST_TEST(out.intact_before());
  const auto at = [](const Fenced& f, int64_t offset) {
    uint16_t h;
    std::memcpy(&h, f.data() + offset, 2);
    return widened(h);
  };
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.columns; ++j) {
      const float sum = sum_in_blocks(
          c.steps, [&](int64_t s) { return at(left, i * left_row + s * left_step); },
          [&](int64_t s) { return at(right, s * right_step + j * right_column); });
      const float wanted = sum + bias[static_cast<size_t>(j)];
      float got;
      std::memcpy(&got, out.data() + 4 * (i * c.columns + j), 4);
      double got_wide = sum;
      if (c.wide_lanes) std::memcpy(&got_wide, wide.data() + 8 * (i * c.columns + j), 8);
      const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
      if (same(got, wanted) && same(got_wide, sum)) continue;
      BOOST_ERROR("(" << i << ", " << j << ") of " << c.rows << "x" << c.steps << "x" << c.columns << " is "
                      << got << ", not " << wanted << "\n"
                      << print(k));
      return;
    }
}

bool has_tiles() { return cpu_backend::best_isa() >= cpu_backend::Isa::amx; }

void each_layout(const Case& of, cpu_backend::Isa isa = cpu_backend::Isa::amx) {
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      Case c = of;
      c.left_transposed = left;
      c.right_transposed = right;
      check(c, isa);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tile_registers)

BOOST_AUTO_TEST_CASE(shapes, *test::needs("tile registers", has_tiles)) {
  for (const int64_t rows : {2, 3, 15, 16, 17, 31, 32, 33, 71})
    for (const int64_t steps : {0, 1, 2, 31, 32, 33, 64, 97})
      for (const int64_t columns : {1, 7, 16, 17, 32, 45})
        for (const bool wide : {false, true})
          each_layout({.rows = rows, .steps = steps, .columns = columns, .wide_lanes = wide});
}

/// Sums in parts, blocks of rows, several threads.
BOOST_AUTO_TEST_CASE(large, *test::needs("tile registers", has_tiles)) {
  for (const char* threads : {"1", "3"}) {
    const config::Override set("LAZY_NUM_THREADS", threads);
    each_layout({.rows = 5, .steps = 9000, .columns = 70});
    each_layout({.rows = 150, .steps = 2080, .columns = 50});
    each_layout({.rows = 301, .steps = 1601, .columns = 33});
    each_layout({.rows = 130, .steps = 700, .columns = 1500});
  }
}

/// Tile registers flush subnormal numbers; products that are small, but not that small, they keep.
BOOST_AUTO_TEST_CASE(small_numbers, *test::needs("tile registers", has_tiles)) {
  each_layout({.rows = 17, .steps = 65, .columns = 33, .scale = 1e-9});
}

BOOST_AUTO_TEST_CASE(dot_products, *test::needs("products of bfloat16", [] {
                       return cpu_backend::best_isa() >= cpu_backend::Isa::avx512_bf16;
                     })) {
  constexpr auto level = cpu_backend::Isa::avx512_bf16;
  for (const int64_t rows : {2, 3, 8, 17, 41})
    for (const int64_t steps : {0, 1, 2, 33, 64})
      for (const int64_t columns : {1, 7, 16, 45, 64, 97})
        for (const bool wide : {false, true})
          each_layout({.rows = rows, .steps = steps, .columns = columns, .wide_lanes = wide, .whole = true},
                      level);
  for (const char* threads : {"1", "3"}) {
    const config::Override set("LAZY_NUM_THREADS", threads);
    each_layout({.rows = 5, .steps = 9000, .columns = 70, .whole = true}, level);
    each_layout({.rows = 301, .steps = 1601, .columns = 33, .whole = true}, level);
    each_layout({.rows = 130, .steps = 700, .columns = 1500, .whole = true}, level);
  }
}

BOOST_AUTO_TEST_SUITE_END()
