// Tests ranges that are found by counting, and weights that are rounded by what their layers are given.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/quant/sensitivity.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/thrown.hpp"

using namespace lazy;
using nn::utils::parametrize::parametrizations;

namespace {

using quant::Granularity;

std::mt19937_64& numbers() {
  static std::mt19937_64 g = [] {
    const uint64_t seed = lazy::test::asked_seed();
    std::printf("LAZY_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return std::mt19937_64(seed);
  }();
  return g;
}
std::vector<double> normal(size_t n, double deviation = 1) {
  std::normal_distribution<double> d(0, deviation);
  std::vector<double> v(n);
  for (double& x : v) x = d(numbers());
  return v;
}
Tensor matrix(const std::vector<double>& v, int64_t rows, int64_t columns, DType t = float32) {
  return from_span(std::span<const double>(v), {rows, columns}).astype(t);
}

/// Returns rows whose columns depend on each other, as a layer's inputs do.
Tensor correlated(int64_t rows, int64_t k) {
  const Tensor mix =
      matrix(normal(static_cast<size_t>(k * k)), k, k) * (1 / std::sqrt(static_cast<double>(k)));
  return (matmul(matrix(normal(static_cast<size_t>(rows * k)), rows, k), mix) +
          matrix(normal(static_cast<size_t>(rows)), rows, 1))
      .eval();
}

/// Rounds column by column with the whole inverse, which loses each column as it is rounded.
std::vector<double> by_elimination(std::vector<double> w, std::vector<double> h, int64_t n, int64_t k,
                                   double scale, double most) {
  const auto at = [k](int64_t i, int64_t j) { return static_cast<size_t>(i * k + j); };
  double mean = 0;
  for (int64_t i = 0; i < k; ++i) mean += h[at(i, i)] / static_cast<double>(k);
  for (int64_t i = 0; i < k; ++i) h[at(i, i)] += 0.01 * mean;
  auto inverse = linalg::inv(from_span(std::span<const double>(h), {k, k})).to_vector<double>();
  std::vector<double> q(w.size());
  for (int64_t c = 0; c < k; ++c) {
    for (int64_t r = 0; r < n; ++r) {
      double& x = w[static_cast<size_t>(r * k + c)];
      const double i = std::clamp(std::nearbyint(x / scale), -most - 1, most);
      q[static_cast<size_t>(r * k + c)] = i;
      const double error = (x - i * scale) / inverse[at(c, c)];
      for (int64_t j = c + 1; j < k; ++j) w[static_cast<size_t>(r * k + j)] -= error * inverse[at(c, j)];
    }
    const std::vector<double> before = inverse;
    for (int64_t i = c + 1; i < k; ++i)
      for (int64_t j = c + 1; j < k; ++j)
        inverse[at(i, j)] -= before[at(i, c)] * before[at(c, j)] / before[at(c, c)];
  }
  return q;
}

double change_of_results(const Tensor& w, const quant::RoundedWeights& rounded, const quant::Scheme& how,
                         const Tensor& x) {
  Tensor near = quant::dequantize(rounded.integers, rounded.affine, how);
  if (near.shape() != w.shape()) near = near(_, slice(0, w.size(1)));
  return sum(square(matmul(x, (near - w).mT()))).item<double>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quant_ranges_and_rounding)

BOOST_AUTO_TEST_CASE(columns_are_rounded_as_by_elimination) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{3, 5}, {2, 128}, {4, 131}, {1, 1}}) {
    const Tensor x = correlated(2 * k + 7, k).astype(float64);
    const auto h = matmul(x.mT(), x).to_vector<double>();
    const auto w = normal(static_cast<size_t>(n * k));
    const quant::Scheme how{.bits = 4, .granularity = Granularity::tensor};
    const auto got = quant::round_second_order(matrix(w, n, k, float64),
                                               from_span(std::span<const double>(h), {k, k}), how);
    // Columns that count most are rounded first.
    const Tensor products = from_span(std::span<const double>(h), {k, k});
    const Tensor order = argsort(diagonal(products), -1, true);
    const auto in_order = [&](const Tensor& t, int axis) { return take(t, order, axis); };
    const double scale = got.affine.scale.item<double>();
    BOOST_TEST(in_order(got.integers.astype(float64), 1).to_vector<double>() ==
                   by_elimination(in_order(matrix(w, n, k, float64), 1).to_vector<double>(),
                                  in_order(in_order(products, 0), 1).to_vector<double>(), n, k, scale, 7),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(where_nothing_is_correlated_it_is_the_nearest) {
  for (const auto& how :
       {quant::Scheme{}, quant::Scheme{.bits = 4, .granularity = Granularity::group, .group = 32},
        quant::int4_weights(64).weights, quant::Scheme{.symmetric = false}}) {
    const Tensor w = matrix(normal(6 * 150), 6, 150);
    const auto got = quant::round_second_order(w, eye(150), how);
    const auto affine = quant::affine_of(w, how);
    BOOST_TEST(got.affine.scale.to_vector<float>() == affine.scale.to_vector<float>(),
               boost::test_tools::per_element());
    const auto nearest = quant::quantize(w, affine, how).astype(int64).to_vector<int64_t>();
    const auto found = got.integers.astype(int64).to_vector<int64_t>();
    size_t differ = 0,
           far = 0;  // the largest of a set is at a tie, and a reciprocal's product not quite a quotient
    for (size_t i = 0; i < found.size(); ++i)
      differ += found[i] != nearest[i], far += std::abs(found[i] - nearest[i]) > 1;
    BOOST_TEST(differ <= 30u);
    BOOST_TEST(far == 0u);
  }
}

BOOST_AUTO_TEST_CASE(results_change_less_than_by_the_nearest) {
  for (const auto& how :
       {quant::int4_weights(32).weights, quant::int4_weights(128).weights, quant::Scheme{.bits = 3},
        quant::Scheme{.bits = 4, .granularity = Granularity::tensor}}) {
    const Tensor x = correlated(600, 200), w = matrix(normal(24 * 200, 0.3), 24, 200);
    const auto affine = quant::affine_of(w, how);
    const double nearest = change_of_results(w, {quant::quantize(w, affine, how), affine}, how, x);
    const double second = change_of_results(w, quant::round_second_order(w, matmul(x.mT(), x), how), how, x);
    BOOST_TEST(second < 0.75 * nearest);
  }
}

BOOST_AUTO_TEST_CASE(biases_take_back_what_rounding_changes_in_the_mean) {
  const Tensor x = correlated(400, 96) + 3;
  const no_grad scope;
  for (const bool has_bias : {true, false}) {
    const nn::Linear exact(96, 24, {.bias = has_bias});
    nn::Linear own = exact;
    quant::Config config = quant::int4_weights(32);
    config.rounding = quant::Rounding::second_order;
    quant::prepare_(own, config);
    (void)own(x).eval();
    quant::convert_(own);
    const Tensor change = own(x) - exact(x);
    const double of_mean = sqrt(sum(square(mean(change, 0)))).item<double>(),
                 all = sqrt(mean(sum(square(change), 1))).item<double>();
    nn::Linear halved = exact;
    halved.to(bfloat16);
    quant::prepare_(halved, config);
    (void)halved(x.astype(bfloat16)).eval();
    quant::convert_(halved);
    if (has_bias) BOOST_TEST((halved.bias.dtype() == bfloat16));
    BOOST_TEST((halved(x.astype(bfloat16)).dtype() == bfloat16));
    if (has_bias) BOOST_TEST(of_mean < 1e-3 * all);
    else BOOST_TEST(!own.bias.defined());
    BOOST_TEST(quant::sqnr(exact(x), own(x)) > 20);
  }
}

BOOST_AUTO_TEST_CASE(columns_that_are_given_nothing_become_0) {
  std::vector<double> h(9, 0);
  h[0] = 2, h[8] = 3;
  const auto got = quant::round_second_order(matrix({1, 5, -2}, 1, 3), matrix(h, 3, 3), {});
  BOOST_TEST(got.integers.astype(int64).to_vector<int64_t>()[1] == 0);
  BOOST_TEST(got.affine.scale.item<float>() == 2 / 127.5f);
}

BOOST_AUTO_TEST_CASE(a_model_is_prepared_and_converted) {
  struct Net : nn::Module {
    nn::Linear first{96, 64}, second{64, 16};
    Tensor operator()(const Tensor& x) const { return second(relu(first(x))); }
    LAZY_MODULE(first, second)
  };
  const Tensor x = correlated(400, 96);
  Net exact;
  exact.eval();
  const no_grad scope;
  const Tensor wanted = exact(x).eval();
  for (quant::Config config : {quant::int4_weights(32), quant::int4_dynamic(32)}) {
    Net nearest = exact, second = exact;
    quant::quantize_(nearest, config);
    config.rounding = quant::Rounding::second_order;
    quant::prepare_(second, config);
    for (int i = 0; i < 4; ++i) second(x(slice(100 * i, 100 * (i + 1)))).eval();
    BOOST_TEST(quant::convert_(second).size() == 2u);
    const double by_nearest = quant::sqnr(wanted, nearest(x)), by_second = quant::sqnr(wanted, second(x));
    BOOST_TEST(by_second > by_nearest + 0.5);
    // The integers are those of the state, which another model loads.
    Net other = exact;
    quant::quantize_(other, [&] {
      quant::Config c = config;
      c.rounding = quant::Rounding::nearest;
      return c;
    }());
    other.load_state_dict(second.state_dict());
    BOOST_TEST(other(x).to_vector<float>() == second(x).to_vector<float>(), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(errors) {
  nn::Sequential model(nn::Linear(8, 4));
  quant::Config c = quant::int8_weights();
  c.rounding = quant::Rounding::second_order;
  const auto says = [](const std::string& text, const char* part) {
    BOOST_TEST(text.find(part) != text.npos, text);
  };
  says(test::thrown<Error>([&] { quant::quantize_(model, c); }), "what is given to 0 has to be found first");
  quant::prepare_(model, c);
  says(test::thrown<Error>([&] { quant::convert_(model); }), "0 has been given nothing: run the model first");
  model(full({2, 8}, INFINITY)).eval();
  says(test::thrown<Error>([&] { quant::convert_(model); }), "numbers that are not finite");
  says(test::thrown<ShapeError>([&] {
         quant::round_second_order(ones({2, 3}), ones({2, 2}), {});
       }),
       "products (k, k)");
}

BOOST_AUTO_TEST_CASE(magnitudes_by_counts) {
  std::vector<double> counts(100, 0);
  BOOST_TEST(quant::magnitude_of(counts, 1, quant::Range::percentile, {}) == 0);
  counts[9] = 99990, counts[50] = 9, counts[99] = 1;
  BOOST_TEST(quant::magnitude_of(counts, 0.5, quant::Range::percentile, {}) == 5.0);
  counts[50] = 200;
  BOOST_TEST(quant::magnitude_of(counts, 0.5, quant::Range::percentile, {}) == 25.5);
  // All alike: nothing is gained by cutting.
  const std::vector<double> uniform(2048, 5);
  BOOST_TEST(quant::magnitude_of(uniform, 1, quant::Range::entropy, {}) > 2000);
  BOOST_TEST(quant::magnitude_of(uniform, 1, quant::Range::least_error, {}) > 2000);
}

BOOST_AUTO_TEST_CASE(counts_move_as_ranges_grow) {
  quant::Histogram h(cpu);
  std::vector<double> all;
  for (const double deviation : {0.1, 3.0, 1.0, 20.0, 2.0}) {
    const auto some = normal(4000, deviation);
    all.insert(all.end(), some.begin(), some.end());
    h.add(matrix(some, 40, 100), Site::current());
  }
  std::vector<double> sizes;
  for (double x : all) sizes.push_back(std::abs(x));
  std::sort(sizes.begin(), sizes.end());
  const double width = 2 * sizes.back() / quant::Histogram::kBins;
  const double wanted = sizes[static_cast<size_t>(0.9999 * static_cast<double>(sizes.size())) - 1];
  BOOST_TEST(std::abs(h.magnitude(quant::Range::percentile, {}, Site::current()) - wanted) < 4 * width);
  quant::Histogram none(cpu);
  BOOST_TEST(none.magnitude(quant::Range::entropy, {}, Site::current()) == 0);
}

BOOST_AUTO_TEST_CASE(the_least_error_is_found) {
  auto x = normal(20000);
  x[7] = 60, x[99] = -45;
  quant::Histogram h(cpu);
  h.add(matrix(x, 200, 100), Site::current());
  const quant::Scheme how = quant::kActivationScheme;
  const auto error = [&](double most) {
    const double scale = most / 127.5;
    double sum = 0;
    for (double v : x) {
      const double d = v - scale * std::clamp(std::nearbyint(v / scale), -128.0, 127.0);
      sum += d * d;
    }
    return sum;
  };
  double best = INFINITY;
  for (double m = 0.5; m <= 60; m += 0.1) best = std::min(best, error(m));
  const double found = h.magnitude(quant::Range::least_error, how, Site::current());
  BOOST_TEST(error(found) < 1.1 * best);
  BOOST_TEST(error(found) < error(60));
}

BOOST_AUTO_TEST_CASE(fixed_activations_by_every_range) {
  nn::Sequential exact(nn::Linear(64, 48), nn::ReLU(), nn::Linear(48, 8));
  exact.eval();
  auto values = normal(500 * 64);
  values[1234] = 400;  // once, far away
  const Tensor x = matrix(values, 500, 64), usual = matrix(normal(200 * 64), 200, 64);
  const no_grad scope;
  const Tensor wanted = exact(usual).eval();
  const auto of = [&](quant::Range range) {
    nn::Sequential m = exact;
    quant::Config c = quant::int8_fixed();
    c.range = range;
    quant::prepare_(m, c);
    for (int i = 0; i < 5; ++i) m(x(slice(100 * i, 100 * (i + 1)))).eval();
    quant::convert_(m);
    return quant::sqnr(wanted, m(usual));
  };
  const double all = of(quant::Range::min_max);
  for (const auto range : {quant::Range::percentile, quant::Range::entropy}) BOOST_TEST(of(range) > all + 10);
  BOOST_TEST(of(quant::Range::least_error) > all - 1);
}

BOOST_AUTO_TEST_SUITE_END()
