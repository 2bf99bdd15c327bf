// Tests products that read what a copy would have copied (jit/compile/folded_copies.hpp).
#include <random>

#include "tests/common/asked.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor numbers(const Shape& shape, DType t) {
  const Tensor n = fresh::numbers({numel(shape)});
  return reshape(is_float(t) ? sin(n * 0.7f) : remainder(n * 7, 23), shape).astype(t).eval();
}

/// Returns the windows of x (N, C, H, W) as columns (N, C K K, R R').
Tensor columns(const Tensor& x, int64_t window, int64_t step) {
  const Tensor w = sliding_window_view(x, {window, window}, {2, 3}, step);  // (N, C, R, R', K, K)
  return reshape(permute(w, {0, 1, 4, 5, 2, 3}),
                 {x.size(0), x.size(1) * window * window, w.size(2) * w.size(3)});
}

/// Returns the windows of x (N, H, W, C) as rows (N R R', K K C).
Tensor rows(const Tensor& x, int64_t window, int64_t step) {
  const Tensor w = sliding_window_view(x, {window, window}, {1, 2}, step);  // (N, R, R', C, K, K)
  return reshape(permute(w, {0, 1, 2, 4, 5, 3}),
                 {x.size(0) * w.size(1) * w.size(2), window * window * x.size(3)});
}

uint64_t launches_of(const std::function<void()>& f) {
  const uint64_t before = metrics().launches;
  f();
  return metrics().launches - before;
}

/// Expects the bits and one launch less than with a copy that was asked for; `less` launches.
template <class F>
void same_as_copied(const std::vector<Tensor>& sides, F&& f, uint64_t less = 1) {
  std::vector<Tensor> made;
  for (const Tensor& s : sides) made.push_back(s.contiguous().eval());
  std::vector<double> a, b;
  const Tensor through = f(sides), copied = f(made);
  const uint64_t folded = launches_of([&] { a = through.astype(float64).to_vector<double>(); }),
                 plain = launches_of([&] { b = copied.astype(float64).to_vector<double>(); });
  BOOST_TEST(a == b, boost::test_tools::per_element());
  BOOST_TEST(folded <= plain + sides.size() - less);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(folded_copies, fresh::Fixture)

BOOST_AUTO_TEST_CASE(windows_are_read_in_the_image) {
  for (const DType t : {DType::float32, DType::float64, DType::int32})
    for (const int64_t step : {1, 2, 3})
      for (const int64_t extent : {5, 9, 20, 37}) {
        const Tensor x = numbers({2, 3, extent, extent + 2}, t), w = numbers({33, 27}, t);
        BOOST_TEST_CONTEXT(extent << " in steps of " << step)
        same_as_copied({columns(x, 3, step)}, [&](const auto& s) { return matmul(w, s[0]); });
      }
}

BOOST_AUTO_TEST_CASE(either_side_or_both) {
  const Tensor x = numbers({2, 4, 18, 17}, DType::float32), y = numbers({2, 4, 20, 19}, DType::float32);
  const Tensor one = columns(x, 3, 1), other = columns(y, 5, 1);  // (2, 36, 240), (2, 100, 240)
  const Tensor w = numbers({240, 70}, DType::float32);
  same_as_copied({one}, [&](const auto& s) { return matmul(s[0], w); });
  same_as_copied({one, other}, [&](const auto& s) { return matmul(s[0], s[1].swapaxes(1, 2)); });
}

// Runs of windows are multiplied where they lie, a row of a window at a time: runs of one tile, of several
// and of parts, right sides of every width, those that a near cache holds and those that it does not.
BOOST_AUTO_TEST_CASE(rows_are_read_in_the_image) {
  struct Case {
    int64_t images, height, width, channels, window, step, results;
  };
  const Case cases[] = {{1, 14, 14, 64, 3, 1, 64},   {1, 30, 58, 64, 3, 1, 70}, {2, 29, 31, 70, 3, 2, 40},
                        {3, 18, 17, 33, 2, 1, 16},   {1, 20, 16, 64, 1, 1, 33}, {1, 18, 150, 24, 5, 1, 130},
                        {1, 20, 20, 128, 3, 1, 301}, {2, 9, 67, 64, 3, 3, 1}};
  for (const DType t : {DType::float32, DType::float64, DType::int32})
    for (const char* threads : {"1", "3"})
      for (const Case& c : cases) {
        const Override some("LAZY_NUM_THREADS", threads);
        const Tensor x = numbers({c.images, c.height, c.width, c.channels}, t),
                     w = numbers({c.window * c.window * c.channels, c.results}, t),
                     b = numbers({c.results}, t);
        BOOST_TEST_CONTEXT(c.height << " x " << c.width << ", " << c.channels << " channels, " << threads
                                    << " threads")
        same_as_copied(
            {rows(x, c.window, c.step)}, [&](const auto& s) { return matmul(s[0], w) + b; }, 0);
      }
}

// A run that has overwritten an input allocates what is left of it before: not for a copy that is not made.
BOOST_AUTO_TEST_CASE(no_memory_is_reserved_for_a_folded_copy) {
  constexpr uint64_t kCopy = 72 * 28 * 28 * 4;
  const Tensor w = numbers({5, 72}, DType::float32), image = numbers({1, 8, 30, 30}, DType::float32);
  const std::vector<float> expected =
      matmul(w, columns(image * 2.0f, 3, 1).eval().contiguous()).to_vector<float>();
  int folded = 0;
  for (int i = 0; i < 8;
       ++i) {  // the first runs are those of a program for any extents, which makes the copy
    Tensor x = numbers({1, 8, 30, 30}, DType::float32);
    reset_metrics();
    const uint64_t live = metrics().bytes_live;
    x = x * 2.0f;
    const Tensor product = matmul(w, columns(x, 3, 1));
    eval({x, product});
    const uint64_t bytes = metrics().bytes_peak - live;
    BOOST_TEST(metrics().bytes_donated == 8u * 30 * 30 * 4);
    BOOST_TEST((metrics().launches == 2 ? bytes < kCopy : bytes >= kCopy));
    folded += metrics().launches == 2;
    BOOST_TEST(product.to_vector<float>() == expected, boost::test_tools::per_element());
  }
  BOOST_TEST(folded > 0);
}

BOOST_AUTO_TEST_CASE(long_sums_and_many_rows) {
  const Tensor x = numbers({1, 200, 16, 16}, DType::float32), w = numbers({300, 1800}, DType::float32);
  for (const char* threads : {"1", "3"}) {
    const Override some("LAZY_NUM_THREADS", threads);
    same_as_copied({columns(x, 3, 1)}, [&](const auto& s) { return maximum(matmul(w, s[0]), 0.5f); });
  }
}

// What the copy reads may die with the product, or be written to after it.
BOOST_AUTO_TEST_CASE(the_source_stays_as_it_is) {
  for (int i = 0; i < 3; ++i) {
    Tensor x = numbers({1, 8, 12, 12}, DType::float32), w = numbers({8, 8}, DType::float32);
    const std::vector<float> before = x.to_vector<float>();
    const Tensor plain = reshape((x * 1.0f).eval(), {8, 144});
    const std::vector<float> expected = (matmul(w, plain) + plain * 2).eval().to_vector<float>();
    const Tensor shifted = x * 1.0f;
    const Tensor square = reshape(permute(reshape(shifted, {8, 12, 12}), {0, 1, 2}), {8, 144});
    Tensor y = matmul(w, square) + square * 2;
    x += 1.0f;
    BOOST_TEST(y.to_vector<float>() == expected, boost::test_tools::per_element());
    BOOST_TEST(x.to_vector<float>()[0] == before[0] + 1.0f);
  }
}

BOOST_AUTO_TEST_CASE(a_value_that_others_read_is_copied) {
  const Tensor x = numbers({1, 3, 12, 12}, DType::float32), w = numbers({5, 27}, DType::float32);
  const Tensor s = columns(x, 3, 1), copied = s.contiguous().eval();
  const Tensor y = matmul(w, s), z = s.sum({2});
  eval({y, z, s});
  BOOST_TEST(y.to_vector<float>() == matmul(w, copied).to_vector<float>(), boost::test_tools::per_element());
  BOOST_TEST(s.to_vector<float>() == copied.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(random_windows) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto from = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 60; ++i) {
    const int64_t window = from(1, 5), step = from(1, 4), channels = from(1, 9), rows = from(1, 120);
    const Tensor x = numbers({from(1, 4), channels, from(window, 40), from(window, 40)},
                             random() % 4 ? DType::float32 : DType::float64);
    const Tensor w = numbers({rows, channels * window * window}, x.dtype());
    BOOST_TEST_CONTEXT("seed " << seed << ", case " << i)
    same_as_copied(
        {columns(x, window, step)}, [&](const auto& s) { return matmul(w, s[0]) * 2 + 1; }, 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
