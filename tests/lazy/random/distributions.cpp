// Tests distributions by Kolmogorov and Smirnov, by chi-square and by moments, with fixed seeds, and that
// draws are the same however they are computed.
#include "lazy/random/distributions.hpp"

#include <algorithm>
#include <map>

#include "support/config.hpp"
#include "tests/common/check.hpp"
#include "tests/lazy/random/kolmogorov.hpp"

using namespace lazy;
using config::Override;

namespace {

constexpr int64_t kMany = 100000;

template <class F>
double distance(const Tensor& x, F&& cdf) {
  return ::distance(x.to_vector<double>(), std::forward<F>(cdf));
}

/// Returns the regularised incomplete gamma function P(a, x): its power series, or Legendre's fraction
/// beyond.
double gamma_cdf(double a, double x) {
  if (x <= 0) return 0;
  const double scale = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double sum = 1 / a, term = sum;
    for (int k = 1; k < 2000 && term > sum * 1e-16; ++k) sum += term *= x / (a + k);
    return sum * scale;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, f = d;
  for (int k = 1; k < 2000; ++k) {
    const double an = -k * (k - a);
    b += 2;
    d = 1 / (an * d + b), c = b + an / c;
    f *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return 1 - f * scale;
}

/// Checks counts against probabilities by chi-square: values of few expected draws are put together. The mean
/// of the statistic is its number of classes less one; it is to be within 4.5 standard deviations.
template <class F>
void fits(const Tensor& x, F&& probability, int64_t most) {
  std::map<int64_t, double> counts;
  for (const double v : x.to_vector<double>()) ++counts[static_cast<int64_t>(v)];
  const auto n = static_cast<double>(x.size());
  double statistic = 0, expected = 0, found = 0, rest = n, left = n;
  int classes = 0;
  for (int64_t k = 0; k < most; ++k) {
    expected += n * probability(k), found += counts[k];
    if (expected < 10) continue;
    statistic += (found - expected) * (found - expected) / expected;
    rest -= expected, left -= found;
    expected = found = 0;
    ++classes;
  }
  rest = std::max(rest, 1.0);
  statistic += (left - rest) * (left - rest) / rest;
  BOOST_TEST(std::abs(statistic - classes) < 4.5 * std::sqrt(2.0 * classes) + 4);
}

double poisson_probability(double rate, int64_t k) {
  return std::exp(static_cast<double>(k) * std::log(rate) - rate - std::lgamma(static_cast<double>(k) + 1));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributions)

BOOST_AUTO_TEST_CASE(continuous_ones) {
  for (const DType t : {float32, float64}) {
    Generator g(20261122);
    BOOST_TEST_CONTEXT("seed 20261122, " << name_of(t)) {
      BOOST_TEST(distance(laplace(g, 1, 2, {kMany}, t), [](double x) {
                   const double z = (x - 1) / 2;
                   return z < 0 ? std::exp(z) / 2 : 1 - std::exp(-z) / 2;
                 }) < 1.95);
      BOOST_TEST(distance(cauchy(g, -1, 3, {kMany}, t),
                          [](double x) { return std::atan((x + 1) / 3) / 3.141592653589793 + 0.5; }) < 1.95);
      BOOST_TEST(distance(gumbel(g, 2, 0.5, {kMany}, t),
                          [](double x) { return std::exp(-std::exp(-(x - 2) / 0.5)); }) < 1.95);
      BOOST_TEST(distance(log_normal(g, 0.5, 1.5, {kMany}, t),
                          [](double x) { return normal_cdf((std::log(x) - 0.5) / 1.5); }) < 1.95);
      for (const auto& [low, high] : {std::pair(-1.0, 2.0), {-9.0, -3.0}, {4.0, 40.0}, {-1e9, 1e9}}) {
        const Tensor x = truncated_normal(g, 0, 1, low, high, {kMany}, t);
        const bool above = low > 0;  // where probabilities are differences of numbers near 1
        const double from = normal_cdf(above ? -high : low), to = normal_cdf(above ? -low : high);
        BOOST_TEST(distance(x, [&](double v) {
                     return above ? (to - normal_cdf(-v)) / (to - from)
                                  : (normal_cdf(v) - from) / (to - from);
                   }) < 1.95);
        BOOST_TEST(x.min().item<double>() >= low);
        BOOST_TEST(x.max().item<double>() <= high);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(those_of_gamma) {
  for (const DType t : {float32, float64}) {
    Generator g(7);
    BOOST_TEST_CONTEXT("seed 7, " << name_of(t)) {
      for (const double a : {0.3, 0.999, 1.0, 2.5, 40.0, 1000.0})
        BOOST_TEST(distance(standard_gamma(g, full({kMany}, a, t)),
                            [&](double x) { return gamma_cdf(a, x); }) < 1.95);
      BOOST_TEST(distance(lazy::gamma(g, 3, 0.5, {kMany}, t), [](double x) { return gamma_cdf(3, 2 * x); }) <
                 1.95);
      BOOST_TEST(distance(chi2(g, full({kMany}, 5, t)), [](double x) { return gamma_cdf(2.5, x / 2); }) <
                 1.95);
      // Of 2 degrees of freedom Student's distribution has a closed form, and beta(2, 3) a polynomial.
      BOOST_TEST(distance(student_t(g, full({kMany}, 2, t)),
                          [](double x) { return 0.5 + x / (2 * std::sqrt(2 + x * x)); }) < 1.95);
      BOOST_TEST(distance(lazy::beta(g, full({kMany}, 2, t), 3),
                          [](double x) { return x * x * (6 - 8 * x + 3 * x * x); }) < 1.95);
      const Tensor shares = dirichlet(g, broadcast_to(tensor({1.0, 2.0, 3.0}, t), {kMany / 4, 3}));
      BOOST_TEST(allclose(sum(shares, -1), ones({kMany / 4}, t)).item<bool>());
      BOOST_TEST(allclose(mean(shares, 0), tensor({1 / 6., 2 / 6., 3 / 6.}, t), 0.02).item<bool>());
    }
  }
  BOOST_TEST(isnan(standard_gamma(tensor({-1.0f, 0.0f}))).all().item<bool>());
}

BOOST_AUTO_TEST_CASE(counts) {
  Generator g(11);
  for (const double rate : {0.01, 1.0, 4.5, 20.0, 31.9, 32.0, 50.0, 700.0, 1e5}) {
    BOOST_TEST_CONTEXT("seed 11, rate " << rate) {
      const Tensor x = poisson(g, full({kMany}, rate, float64));
      fits(
          x, [&](int64_t k) { return poisson_probability(rate, k); },
          static_cast<int64_t>(rate + 10 * std::sqrt(rate) + 20));
      BOOST_TEST(std::abs(x.mean().item<double>() - rate) < 4.5 * std::sqrt(rate / kMany));
    }
  }
  check::equal(poisson(g, tensor({0.0f, 0.0f})), float32, {2}, {0, 0});
  BOOST_TEST(poisson(g, tensor({3.0f}, float16)).dtype() == float16);
  BOOST_TEST(isnan(poisson(g, tensor({-1.0f}))).item<bool>());
  for (const double p : {0.9, 0.3, 0.01}) {
    const Tensor x = geometric(g, p, {kMany});
    BOOST_TEST((x.dtype() == int64));
    fits(
        x, [&](int64_t k) { return k < 1 ? 0 : p * std::pow(1 - p, static_cast<double>(k - 1)); }, 2000);
  }
  BOOST_TEST((geometric(g, 1, {100}) == 1).all().item<bool>());
}

// Values depend on seed and position alone: not on fusion, instruction sets or the number of elements beside.
BOOST_AUTO_TEST_CASE(draws_repeat) {
  const auto drawn = [] {
    Generator g(3);
    const Tensor a = full({1000}, 0.7);
    return std::vector<Tensor>{standard_gamma(g, a), lazy::beta(g, a, 2), poisson(g, a * 9),
                               truncated_normal(g, 0, 1, -2, 2, {1000}), student_t(g, a)};
  };
  std::vector<std::vector<double>> once;
  for (const Tensor& x : drawn()) once.push_back(x.to_vector<double>());
  const Override eager("LAZY_EAGER", "on");
  size_t i = 0;
  for (const Tensor& x : drawn()) BOOST_TEST((x.to_vector<double>() == once[i++]));
}

BOOST_AUTO_TEST_CASE(drawing_again_compiles_nothing) {
  Generator g(5);
  const Tensor a = full({64}, 2.0).copy();
  for (int i = 0; i < 3; ++i) (standard_gamma(g, a) + poisson(g, a)).eval();
  const auto before = metrics().program_misses;
  for (int i = 0; i < 5; ++i) (standard_gamma(g, a) + poisson(g, a)).eval();
  // The loop above and this one are two places of the program, each compiled once at most.
  BOOST_TEST(metrics().program_misses - before <= 1u);
}

BOOST_AUTO_TEST_CASE(likenesses) {
  Generator g(1), h(1);
  const Tensor x = ones({3, 2}, float64);
  BOOST_TEST(array_equal(rand_like(g, x), rand(h, {3, 2}, float64)).item<bool>());
  BOOST_TEST(array_equal(randn_like(g, x), randn(h, {3, 2}, float64)).item<bool>());
  BOOST_TEST(array_equal(randint_like(g, x, 0, 9, int64), randint(h, 0, 9, {3, 2})).item<bool>());
}

BOOST_AUTO_TEST_CASE(layers) {
  Generator g(9);
  const Tensor x = ones({400, 50, 3});
  const Tensor y = feature_dropout(g, x, 0.25);
  BOOST_TEST(array_equal(y.min(2), y.max(2)).item<bool>());  // channels as a whole
  BOOST_TEST(std::abs(y.mean().item<double>() - 1) < 0.02);
  const Tensor n = randn(g, {200000}), a = alpha_dropout(g, n, 0.3, true);
  BOOST_TEST(std::abs(a.mean().item<double>()) < 0.02);
  BOOST_TEST(std::abs(a.var().item<double>() - 1) < 0.02);
  BOOST_TEST(array_equal(alpha_dropout(g, n), n).item<bool>());
  const Tensor f = feature_alpha_dropout(g, x, 0.5, true);
  BOOST_TEST(array_equal(f.min(2), f.max(2)).item<bool>());
  const Tensor r = rrelu(g, -ones({100000}), 0.1, 0.5, true);
  BOOST_TEST(std::abs(r.mean().item<double>() + 0.3) < 0.003);
  BOOST_TEST(r.min().item<double>() >= -0.5);
  check::equal(rrelu(tensor({-2.0f, 3.0f}), 0.25, 0.75), float32, {2}, {-1, 3});
  // The largest of logits and noise is class i with probability softmax(logits)[i].
  const Tensor logits = broadcast_to(log(tensor({0.2f, 0.5f, 0.3f})), {50000, 3});
  const Tensor hard = gumbel_softmax(g, logits, 0.5, true);
  BOOST_TEST((sum(hard, -1) == 1).all().item<bool>());
  BOOST_TEST(allclose(mean(hard, 0), tensor({0.2f, 0.5f, 0.3f}), 0.05).item<bool>());
  BOOST_TEST(allclose(sum(gumbel_softmax(g, logits), -1), ones({50000}), 1e-5).item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()
