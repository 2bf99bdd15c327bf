// Compares convolutions by transforms of tiles with convolutions in float64, and says which ones are computed
// so.
#include "lazy/nn/functional/winograd.hpp"

#include <boost/test/unit_test.hpp>
#include <optional>

#include "lazy/lazy.hpp"
#include "tests/common/asked.hpp"

using namespace lazy;

namespace {

struct Case {
  int64_t batch, in, rows, columns, out, padding;
};

double largest(const Tensor& x) { return max(abs(x)).item<double>(); }

/// Returns the largest difference from float64, as a part of the largest result.
double error_of(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias, int64_t padding) {
  const Tensor exact = conv2d(x.astype(float64), w.astype(float64),
                              {.padding = padding, .bias = bias.defined() ? bias.astype(float64) : Tensor()});
  BOOST_TEST_REQUIRE((y.shape() == exact.shape()));
  return largest(y.astype(float64) - exact) / largest(exact);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(winograd_convolutions)

BOOST_AUTO_TEST_CASE(results_are_those_of_windows) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  const no_grad scope;
  for (const Case c : {Case{1, 32, 8, 8, 32, 1}, Case{2, 64, 14, 14, 48, 1}, Case{1, 33, 7, 5, 37, 0},
                       Case{3, 40, 3, 3, 32, 0}, Case{1, 32, 1, 9, 32, 1}, Case{1, 64, 56, 30, 64, 2},
                       Case{8, 96, 13, 17, 32, 1}, Case{1, 32, 29, 31, 64, 0}})
    for (const bool with_bias : {false, true}) {
      const Tensor x = randn(g, {c.batch, c.in, c.rows, c.columns}).to_memory_format(channels_last).eval(),
                   w = randn(g, {c.out, c.in, 3, 3}).eval();
      const Tensor bias = with_bias ? randn(g, {c.out}).eval() : Tensor();
      const detail::WinogradScope transforms;
      const Tensor y = conv2d(x, w, {.padding = c.padding, .bias = bias});
      const double e = error_of(y, x, w, bias, c.padding);
      BOOST_TEST(e < 5e-5, c.batch << "x" << c.in << "x" << c.rows << "x" << c.columns << " to " << c.out
                                   << ", padding " << c.padding << ": " << e);
    }
}

BOOST_AUTO_TEST_CASE(tiles_are_chosen_by_what_they_save) {
  const auto tile = [](const Shape& image, const Shape& weights, Dims padding, DType t = float32,
                       Dims stride = {1, 1}) {
    const Tensor x = zeros(image, t), w = zeros(weights, t);
    const detail::Problem p{.name = "conv2d",
                            .site = Site::current(),
                            .given = x.handle(),
                            .weights = w.handle(),
                            .bias = {},
                            .stride = stride,
                            .padding = padding,
                            .dilation = {1, 1},
                            .groups = 1,
                            .layout = channels_last,
                            .result = t};
    return detail::winograd_tile(p, x.handle(), w.handle(), padding);
  };
  BOOST_TEST(tile({1, 56, 56, 64}, {3, 3, 64, 64}, {1, 1}) == 4);
  BOOST_TEST(tile({1, 7, 7, 512}, {3, 3, 512, 512}, {1, 1}) == 2);  // larger tiles are mostly weights
  BOOST_TEST(tile({8, 7, 7, 512}, {3, 3, 512, 512}, {1, 1}) != 0);
  BOOST_TEST(tile({1, 56, 56, 3}, {3, 3, 3, 64}, {1, 1}) == 0);
  BOOST_TEST(tile({1, 1, 1, 64}, {3, 3, 64, 64}, {1, 1}) == 0);
  BOOST_TEST(tile({1, 2, 2, 64}, {3, 3, 64, 64}, {0, 0}) == 0);
  BOOST_TEST(tile({0, 56, 56, 64}, {3, 3, 64, 64}, {1, 1}) == 0);
  BOOST_TEST(tile({1, 56, 56, 64}, {5, 5, 64, 64}, {1, 1}) == 0);
  BOOST_TEST(tile({1, 56, 56, 64}, {3, 3, 64, 64}, {1, 1}, float64) == 0);
  BOOST_TEST(tile({1, 56, 56, 64}, {3, 3, 64, 64}, {1, 1}, float32, {2, 2}) == 0);
}

BOOST_AUTO_TEST_CASE(a_scope_allows_it_and_gradients_are_as_ever) {
  Generator g(3);
  Tensor x = randn(g, {1, 32, 12, 12}).to_memory_format(channels_last).eval();
  const Tensor w = randn(g, {32, 32, 3, 3}).eval();
  x.requires_grad_();
  const auto run = [&](bool allowed) {
    std::optional<detail::WinogradScope> scope;
    if (allowed) scope.emplace();
    x.zero_grad();
    const Tensor y = conv2d(x, w, {.padding = 1});
    sum(y * y).backward();
    return std::pair(y.detach().eval(), x.grad().eval());
  };
  const auto [before, gradient] = run(false);
  const auto [within, other] = run(true);
  const auto [after, again] = run(false);
  BOOST_TEST(all(before == after).item<bool>());
  BOOST_TEST(any(before != within).item<bool>());
  BOOST_TEST(largest(before - within) < 1e-4 * largest(before));
  BOOST_TEST(largest(gradient - other) < 1e-4 * largest(gradient));
  BOOST_TEST(all(gradient == again).item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()
