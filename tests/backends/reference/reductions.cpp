// Tests reductions and scans: the order of the additions, ties and NaN of argmax, empty axes, matrix
// products.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>

#include "tests/backends/reference/apply.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

using Floats = std::tuple<float, double>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Sums in the order that the IR fixes, written from its text: blocks, partials by index modulo P, folding in
/// halves.
template <class T>
T ordered_sum(const std::vector<T>& x, bool inner) {
  const size_t block = inner ? 16384 : 1024, p = inner ? (sizeof(T) == 8 ? 32 : 64) : 4;
  T total = 0;
  for (size_t start = 0; start < x.size(); start += block) {
    std::vector<T> acc(p, -T(0));
    for (size_t r = 0; r < block && start + r < x.size(); ++r) acc[r % p] += x[start + r];
    for (size_t half = p / 2; half; half /= 2)
      for (size_t l = 0; l < half; ++l) acc[l] += acc[l + half];
    total = start ? total + acc[0] : acc[0];
  }
  return total;
}

/// Reduces a row-major (rows, columns) matrix along axis 0 (outer) or 1 (inner).
template <class R, class T>
std::vector<R> reduce(Op op, DType t, const std::vector<T>& x, int64_t rows, int64_t columns, int axis,
                      int64_t origin = 0) {
  KernelBuilder b(Form::reduce, 2, axis);
  const int r = b.reduce(op, b.input(t));
  b.begin_epilogue();
  b.store(b.result(r));
  std::vector<R> out(axis ? rows : columns);
  Launch args(b.done());
  args.extents({rows, columns}).origin(axis, origin);
  args.operand(0, x.data(), {columns * int64_t(sizeof(T)), sizeof(T)});
  args.operand(1, out.data(), {axis ? int64_t(sizeof(R)) : 0, axis ? 0 : int64_t(sizeof(R))});
  run(b.k, args.data());
  return out;
}

template <class T>
std::vector<T> random_values(size_t n) {
  std::mt19937 rng(12345);
  std::normal_distribution<double> d(0, 1000);
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(d(rng));
  return v;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reference_reductions)

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_have_one_order, T, Floats) {
  for (int64_t n : {1,   2,   3,    5,    31,   32,   33,   63,    64,    65,    127,  255,
                    256, 257, 1000, 1023, 1024, 1025, 2048, 16383, 16384, 16385, 40001}) {
    const auto x = random_values<T>(n);
    BOOST_CHECK_EQUAL(reduce<T>(Op::sum, dtype_of<T>(), x, 1, n, 1)[0], ordered_sum(x, true));
    BOOST_CHECK_EQUAL(reduce<T>(Op::sum, dtype_of<T>(), x, n, 1, 0)[0], ordered_sum(x, false));
  }
}

BOOST_AUTO_TEST_CASE(outer_sums_side_by_side) {
  const int64_t rows = 1500, columns = 300;  // past one strip and one block
  const auto x = random_values<float>(rows * columns);
  const auto got = reduce<float>(Op::sum, DType::float32, x, rows, columns, 0);
  for (int64_t c = 0; c < columns; ++c) {
    std::vector<float> column(rows);
    for (int64_t r = 0; r < rows; ++r) column[r] = x[r * columns + c];
    BOOST_CHECK_EQUAL(got[c], ordered_sum(column, false));
  }
}

BOOST_AUTO_TEST_CASE(zeros_and_empty_axes) {
  for (int axis : {0, 1}) {
    const auto zero = reduce<float>(Op::sum, DType::float32, std::vector<float>{-0.0f, -0.0f}, axis ? 1 : 2,
                                    axis ? 2 : 1, axis);
    BOOST_CHECK(same(zero[0], -0.0f));
    const std::vector<float> nothing;
    const auto empty = [&](Op op) {
      return reduce<float>(op, DType::float32, nothing, axis ? 1 : 0, axis ? 0 : 1, axis)[0];
    };
    BOOST_CHECK(same(empty(Op::sum), 0.0f));
    BOOST_CHECK_EQUAL(empty(Op::prod), 1.0f);
    BOOST_CHECK_EQUAL(empty(Op::max), -kInf);
    BOOST_CHECK_EQUAL(empty(Op::min), kInf);
    BOOST_CHECK_EQUAL(int{reduce<uint8_t>(Op::all, DType::bool_, std::vector<uint8_t>{}, axis ? 1 : 0,
                                          axis ? 0 : 1, axis)[0]},
                      1);
    BOOST_CHECK_EQUAL(int{reduce<uint8_t>(Op::any, DType::bool_, std::vector<uint8_t>{}, axis ? 1 : 0,
                                          axis ? 0 : 1, axis)[0]},
                      0);
    // There is no result: nothing is written.
    BOOST_CHECK(reduce<float>(Op::sum, DType::float32, nothing, axis ? 0 : 5, axis ? 5 : 0, axis).empty());
  }
}

BOOST_AUTO_TEST_CASE(integers_wrap_in_their_type) {
  const std::vector<int8_t> x{100, 100, 100, -128, -128};
  for (int axis : {0, 1}) {
    const int64_t r = axis ? 1 : 5, c = axis ? 5 : 1;
    BOOST_CHECK_EQUAL(int{reduce<int8_t>(Op::sum, DType::int8, x, r, c, axis)[0]}, 44);
    BOOST_CHECK_EQUAL(int{reduce<int8_t>(Op::prod, DType::int8, x, r, c, axis)[0]}, 0);
    BOOST_CHECK_EQUAL(int{reduce<int8_t>(Op::max, DType::int8, x, r, c, axis)[0]}, 100);
    BOOST_CHECK_EQUAL(int{reduce<int8_t>(Op::min, DType::int8, x, r, c, axis)[0]}, -128);
    BOOST_CHECK_EQUAL(
        int{reduce<uint8_t>(Op::min, DType::uint8, std::vector<uint8_t>{200, 7, 255, 8, 9}, r, c, axis)[0]},
        7);
    BOOST_CHECK_EQUAL(reduce<uint64_t>(Op::prod, DType::uint64,
                                       std::vector<uint64_t>{1ull << 40, 3, 5, 1, 1ull << 20}, r, c, axis)[0],
                      15ull << 60);
  }
}

BOOST_AUTO_TEST_CASE(nan_wins_and_so_does_truth) {
  const std::vector<float> x{1, kNaN, kInf, -kInf};
  for (int axis : {0, 1}) {
    const int64_t r = axis ? 1 : 4, c = axis ? 4 : 1;
    BOOST_CHECK(std::isnan(reduce<float>(Op::max, DType::float32, x, r, c, axis)[0]));
    BOOST_CHECK(std::isnan(reduce<float>(Op::min, DType::float32, x, r, c, axis)[0]));
    BOOST_CHECK(same(
        reduce<float>(Op::max, DType::float32, std::vector<float>{-0.0f, 0.0f, -0.0f, -1}, r, c, axis)[0],
        0.0f));
    BOOST_CHECK(
        same(reduce<float>(Op::min, DType::float32, std::vector<float>{0.0f, -0.0f, 0.0f, 1}, r, c, axis)[0],
             -0.0f));
    BOOST_CHECK_EQUAL(
        int{reduce<uint8_t>(Op::any, DType::bool_, std::vector<uint8_t>{0, 0, 1, 0}, r, c, axis)[0]}, 1);
    BOOST_CHECK_EQUAL(
        int{reduce<uint8_t>(Op::any, DType::bool_, std::vector<uint8_t>{0, 0, 0, 0}, r, c, axis)[0]}, 0);
    BOOST_CHECK_EQUAL(
        int{reduce<uint8_t>(Op::all, DType::bool_, std::vector<uint8_t>{1, 1, 1, 1}, r, c, axis)[0]}, 1);
    BOOST_CHECK_EQUAL(
        int{reduce<uint8_t>(Op::all, DType::bool_, std::vector<uint8_t>{1, 1, 0, 1}, r, c, axis)[0]}, 0);
  }
}

BOOST_AUTO_TEST_CASE(positions) {
  const auto at = [](Op op, std::vector<float> x, int axis, int64_t origin = 0) {
    const int64_t n = static_cast<int64_t>(x.size());
    return reduce<int64_t>(op, DType::float32, x, axis ? 1 : n, axis ? n : 1, axis, origin)[0];
  };
  for (int axis : {0, 1}) {
    BOOST_CHECK_EQUAL(at(Op::argmax, {1, 3, 2, 3}, axis), 1);
    BOOST_CHECK_EQUAL(at(Op::argmin, {1, 0, 2, 0}, axis), 1);
    BOOST_CHECK_EQUAL(at(Op::argmax, {1, kInf, kNaN, 5, kNaN}, axis), 2);
    BOOST_CHECK_EQUAL(at(Op::argmin, {1, -kInf, kNaN, 5, kNaN}, axis), 2);
    BOOST_CHECK_EQUAL(at(Op::argmax, {-0.0f, 0.0f}, axis), 0);
    BOOST_CHECK_EQUAL(at(Op::argmin, {0.0f, -0.0f}, axis), 0);
    BOOST_CHECK_EQUAL(at(Op::argmax, {-kInf, -kInf}, axis), 0);
    BOOST_CHECK_EQUAL(at(Op::argmax, {1, 3, 2, 3}, axis, 100), 101);
    std::vector<float> longer(3000, 1.0f);
    longer[2049] = longer[2999] = 2.0f;
    BOOST_CHECK_EQUAL(at(Op::argmax, longer, axis), 2049);
  }
  const std::vector<uint64_t> u{5, ~0ull, 1, 1};
  BOOST_CHECK_EQUAL(reduce<int64_t>(Op::argmax, DType::uint64, u, 1, 4, 1)[0], 1);
  BOOST_CHECK_EQUAL(reduce<int64_t>(Op::argmin, DType::uint64, u, 1, 4, 1)[0], 2);
}

// Computes softmax's denominator and uses it: a body, two reductions, an epilogue with a scalar and another
// load.
BOOST_AUTO_TEST_CASE(several_reductions_and_an_epilogue) {
  KernelBuilder b(Form::reduce, 2, 1);
  const ValueId x = b.input(DType::float32), twice = b.op(Op::add, x, x);
  const int total = b.reduce(Op::sum, twice), top = b.reduce(Op::max, x), where = b.reduce(Op::argmax, x);
  b.begin_epilogue();
  const ValueId scale = b.scalar(DType::float32);
  const ValueId bias = b.input(DType::float32, {Stride::any, Stride::zero});
  const ValueId y = b.op(Op::add, b.op(Op::multiply, b.result(total), scale), bias);
  const int out = b.store(b.op(Op::subtract, y, b.result(top))), index = b.store(b.result(where));
  const std::vector<float> v{1, 2, 3, 6, 5, 4}, biases{10, 20};
  std::vector<float> result(2);
  std::vector<int64_t> at(2);
  Launch args(b.done());
  args.extents({2, 3}).scalar(0, 0.5f).operand(0, v.data(), {12, 4}).operand(1, biases.data(), {4, 0});
  args.operand(out, result.data(), {4, 0}).operand(index, at.data(), {8, 0});
  run(b.k, args.data());
  BOOST_CHECK_EQUAL(result[0], 6 + 10 - 3);
  BOOST_CHECK_EQUAL(result[1], 15 + 20 - 6);
  BOOST_CHECK_EQUAL(at[0], 2);
  BOOST_CHECK_EQUAL(at[1], 0);
}

BOOST_AUTO_TEST_CASE(scans_ascend) {
  // Computes running sums of squares along axis 0 of (rows, columns), and twice the sum.
  const int64_t rows = 700, columns = 261;
  KernelBuilder b(Form::scan, 2, 0);
  const ValueId x = b.input(DType::float32), square = b.op(Op::multiply, x, x);
  const int r = b.reduce(Op::cumsum, square);
  const ValueId sum = b.result(r);
  const int first = b.store(sum), second = b.store(b.op(Op::add, sum, sum));
  const auto v = random_values<float>(rows * columns);
  std::vector<float> sums(v.size()), doubled(v.size());
  Launch args(b.done());
  args.extents({rows, columns});
  const auto step = [&](int i, const void* p) { args.operand(i, p, {columns * 4, 4}); };
  step(0, v.data());
  step(first, sums.data());
  step(second, doubled.data());
  run(b.k, args.data());
  for (int64_t c = 0; c < columns; ++c) {
    float s = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const float e = v[i * columns + c];
      s = i ? s + e * e : e * e;
      BOOST_REQUIRE_EQUAL(sums[i * columns + c], s);
      BOOST_REQUIRE_EQUAL(doubled[i * columns + c], s + s);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_scan_starts_with_its_first_element) {
  KernelBuilder b(Form::scan, 2, 0);
  b.store(b.result(b.reduce(Op::cumsum, b.input(DType::float64))));
  // The added -0 shows that nothing is added to the first element.
  const std::vector<double> x{-0.0, -0.0, 1};
  std::vector<double> out(3);
  Launch args(b.done());
  args.extents({3, 1}).operand(0, x.data(), {8, 0}).operand(1, out.data(), {8, 0});
  run(b.k, args.data());
  LAZY_CHECK_LIST(out, {-0.0, -0.0, 1.0});
}

BOOST_AUTO_TEST_CASE(scans_show_what_reductions_have_so_far) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x{-0.0, 0.0, 2, -3, nan, 5};
  const std::pair<Op, std::vector<double>> all[] = {{Op::cumsum, {-0.0, 0.0, 2, -1, nan, nan}},
                                                    {Op::cumprod, {-0.0, -0.0, -0.0, 0.0, nan, nan}},
                                                    {Op::cummax, {-0.0, 0.0, 2, 2, nan, nan}},
                                                    {Op::cummin, {-0.0, -0.0, -0.0, -3, nan, nan}}};
  for (const auto& [op, expected] : all) {
    KernelBuilder b(Form::scan, 2, 0);
    b.store(b.result(b.reduce(op, b.input(DType::float64))));
    std::vector<double> out(x.size());
    Launch args(b.done());
    args.extents({static_cast<int64_t>(x.size()), 1})
        .operand(0, x.data(), {8, 0})
        .operand(1, out.data(), {8, 0});
    run(b.k, args.data());
    for (size_t i = 0; i < x.size(); ++i) {
      BOOST_TEST(std::isnan(out[i]) == std::isnan(expected[i]));
      if (!std::isnan(expected[i]))
        BOOST_TEST((out[i] == expected[i] && std::signbit(out[i]) == std::signbit(expected[i])));
    }
  }
}

template <class T>
std::vector<T> matmul(DType t, const std::vector<T>& a, const std::vector<T>& b, int64_t m, int64_t k,
                      int64_t n, bool depth_first) {
  const Stride A = Stride::any, Z = Stride::zero;
  KernelBuilder kb(Form::contract, 3, depth_first ? 0 : 1);
  const ValueId x = kb.input(t, {A, A, Z}),
                y = kb.input(t, depth_first ? std::vector{A, Z, A} : std::vector{Z, A, A});
  const int r = kb.contract(x, y);
  kb.begin_epilogue();
  kb.store(kb.result(r));
  std::vector<T> out(m * n);
  Launch args(kb.done());
  const int64_t s = sizeof(T);
  if (depth_first)
    args.extents({k, m, n})
        .operand(0, a.data(), {s, k * s, 0})
        .operand(1, b.data(), {n * s, 0, s})
        .operand(2, out.data(), {0, n * s, s});
  else
    args.extents({m, k, n})
        .operand(0, a.data(), {k * s, s, 0})
        .operand(1, b.data(), {0, n * s, s})
        .operand(2, out.data(), {n * s, 0, s});
  run(kb.k, args.data());
  return out;
}

BOOST_AUTO_TEST_CASE(matrix_products) {
  for (bool depth_first : {false, true}) {
    LAZY_CHECK_LIST(
        matmul<float>(DType::float32, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, 2, 3, 2, depth_first),
        {22, 28, 49, 64});
    LAZY_CHECK_LIST(matmul<int8_t>(DType::int8, {100, 100}, {100, 100}, 1, 2, 1, depth_first),
                    {int8_t(20000)});
    LAZY_CHECK_LIST(matmul<float>(DType::float32, {}, {}, 2, 0, 1, depth_first), {0, 0});
    // There is one rounding a step: the product's low half survives its cancellation.
    const double e = 0x1p-30;
    LAZY_CHECK_LIST(matmul<double>(DType::float64, {-1.0, 1 + e}, {1.0, 1 - e}, 1, 2, 1, depth_first),
                    {-e * e});
    const auto a = random_values<float>(7 * 300), b = random_values<float>(300 * 5);
    const auto c = matmul<float>(DType::float32, a, b, 7, 300, 5, depth_first);
    for (int i = 0; i < 7; ++i)
      for (int j = 0; j < 5; ++j) {
        float s = 0;
        for (int p = 0; p < 300; ++p) s = std::fma(a[i * 300 + p], b[p * 5 + j], s);
        BOOST_CHECK_EQUAL(c[i * 5 + j], s);
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
