// Tests random numbers: Random123's known answers, distributions by moments and by Kolmogorov and Smirnov,
// and that a draw depends on its seed and position alone.
#include "lazy/random/random.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "support/config.hpp"
#include "support/philox.hpp"
#include "tests/common/check.hpp"
#include "tests/lazy/random/kolmogorov.hpp"

using namespace lazy;
using config::Override;

namespace {

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};
Moments moments(const std::vector<double>& v) {
  Moments m;
  const auto n = static_cast<double>(v.size());
  for (double x : v) m.mean += x / n;
  for (double x : v) m.variance += (x - m.mean) * (x - m.mean) / n;
  for (double x : v) {
    const double z = (x - m.mean) / std::sqrt(m.variance);
    m.skew += z * z * z / n;
    m.kurtosis += z * z * z * z / n;
  }
  return m;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_numbers)

/// From kat_vectors of Random123 (Salmon et al.), philox4x32 of 10 rounds.
BOOST_AUTO_TEST_CASE(known_answers) {
  using Block = std::array<uint32_t, 4>;
  constexpr uint32_t all = 0xffffffff;
  BOOST_TEST((philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  BOOST_TEST(
      (philox({all, all, all, all}, {all, all}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_TEST((philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(a_draw_depends_on_seed_and_position) {
  Generator g(7), h(7);
  const Tensor first = rand(g, {1000}), second = rand(g, {1000});
  BOOST_TEST(g.position() == 2u);
  BOOST_TEST(!bool(any(first == second)));
  check::same(rand(h, {1000}), first);
  check::same(rand(h, {10, 1, 100}), reshape(second, {10, 1, 100}));
  h.set_position(1);
  check::same(rand(h, {500}), second(slice(0, 500)));
  h.manual_seed(8);
  BOOST_TEST(h.position() == 0u);
  BOOST_TEST(!bool(any(rand(h, {1000}) == first)));
  manual_seed(7);
  check::same(rand({1000}), first);
}

BOOST_AUTO_TEST_CASE(fused_strided_and_on_any_number_of_threads) {
  const auto draw = [] {
    Generator g(1);
    return transpose(randn(g, {301, 1, 67, 5}) * 2 + 1).to_vector<float>();
  };
  Generator g(1);
  const Tensor plain = randn(g, {301, 1, 67, 5});
  plain.eval();
  const std::vector<float> expected = transpose(plain * 2 + 1).to_vector<float>();
  BOOST_TEST((draw() == expected));
  for (const char* threads : {"1", "3"}) {
    const Override set("LAZY_NUM_THREADS", threads);
    BOOST_TEST((draw() == expected));
  }
  const Override eager("LAZY_EAGER", "on");
  BOOST_TEST((draw() == expected));
}

BOOST_AUTO_TEST_CASE(drawing_again_compiles_nothing) {
  const auto step = [](int64_t n) { dropout(randn({n, 8}), 0.25).eval(); };
  step(100);
  step(101);
  const uint64_t before = metrics().kernels_compiled;
  for (int64_t n = 102; n < 110; ++n) step(n);
  manual_seed(99);
  step(7);
  BOOST_TEST(metrics().kernels_compiled == before);
}

BOOST_AUTO_TEST_CASE(uniform_numbers) {
  for (DType t : {float32, float64}) {
    Generator g(3);
    const std::vector<double> v = rand(g, {200000}, t).to_vector<double>();
    BOOST_TEST(*std::min_element(v.begin(), v.end()) >= 0);
    BOOST_TEST(*std::max_element(v.begin(), v.end()) < 1);
    BOOST_TEST(distance(v, [](double x) { return x; }) < 1.95);
    const Moments m = moments(v);
    BOOST_TEST(std::abs(m.mean - 0.5) < 0.003);
    BOOST_TEST(std::abs(m.variance - 1.0 / 12) < 0.001);
    const std::vector<double> w = uniform(g, -3, 5, {100000}, t).to_vector<double>();
    BOOST_TEST(distance(w, [](double x) { return (x + 3) / 8; }) < 1.95);
  }
  Generator g;
  BOOST_TEST(name_of(rand(g, {3}, float16).dtype()) == std::string("float16"));
  BOOST_TEST(moments(rand(g, {10000}, bfloat16).to_vector<double>()).mean == 0.5,
             boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(normal_numbers) {
  for (DType t : {float32, float64}) {
    Generator g(5);
    const std::vector<double> v = randn(g, {400000}, t).to_vector<double>();
    BOOST_TEST(distance(v, normal_cdf) < 1.95);
    const Moments m = moments(v);
    BOOST_TEST(std::abs(m.mean) < 0.005);
    BOOST_TEST(std::abs(m.variance - 1) < 0.008);
    BOOST_TEST(std::abs(m.skew) < 0.012);
    BOOST_TEST(std::abs(m.kurtosis - 3) < 0.025);
    const auto beyond = std::count_if(v.begin(), v.end(), [](double x) { return std::abs(x) > 4; });
    BOOST_TEST(beyond > 8);  // 25 expected
    BOOST_TEST(beyond < 50);
    // Neighbours know nothing of each other.
    double together = 0;
    for (size_t i = 1; i < v.size(); ++i) together += v[i] * v[i - 1] / static_cast<double>(v.size());
    BOOST_TEST(std::abs(together) < 0.006);
    const Moments n = moments(normal(g, 10, 0.5, {100000}, t).to_vector<double>());
    BOOST_TEST(std::abs(n.mean - 10) < 0.01);
    BOOST_TEST(std::abs(n.variance - 0.25) < 0.01);
  }
}

BOOST_AUTO_TEST_CASE(exponential_numbers) {
  Generator g(11);
  const std::vector<double> v = exponential(g, 2, {200000}).to_vector<double>();
  BOOST_TEST(*std::min_element(v.begin(), v.end()) > 0);
  BOOST_TEST(distance(v, [](double x) { return 1 - std::exp(-2 * x); }) < 1.95);
}

BOOST_AUTO_TEST_CASE(integers) {
  Generator g(13);
  const std::vector<int64_t> v = randint(g, -2, 5, {70000}).to_vector<int64_t>();
  std::vector<int> count(7);
  for (int64_t x : v) ++count.at(static_cast<size_t>(x + 2));
  double chi = 0;
  for (int c : count) chi += (c - 1e4) * (c - 1e4) / 1e4;
  BOOST_TEST(chi < 22.5);  // of 6 degrees of freedom, with probability 0.999
  const int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> wide = randint(g, low, high, {1000}).to_vector<int64_t>();
  BOOST_TEST((*std::min_element(wide.begin(), wide.end()) < low / 2));
  BOOST_TEST((*std::max_element(wide.begin(), wide.end()) > high / 2));
  const std::vector<uint8_t> bytes = randint(g, 250, 256, {600}, uint8).to_vector<uint8_t>();
  BOOST_TEST(std::set<uint8_t>(bytes.begin(), bytes.end()).size() == 6u);
  BOOST_TEST(int(*std::min_element(bytes.begin(), bytes.end())) == 250);
  BOOST_TEST(randint(g, 3, 4, {}).item<int64_t>() == 3);
}

BOOST_AUTO_TEST_CASE(coins_and_dropout) {
  Generator g(17);
  const Tensor p = asarray(std::vector<float>{0, 0.25f, 1});
  const std::vector<double> v = mean(bernoulli(g, broadcast_to(p, {40000, 3})), {0}).to_vector<double>();
  BOOST_TEST(v[0] == 0);
  BOOST_TEST(std::abs(v[1] - 0.25) < 0.01);
  BOOST_TEST(v[2] == 1);
  const Tensor x = full({100, 400}, 3.0f), y = dropout(g, x, 0.25);
  for (float e : y.to_vector<float>()) BOOST_REQUIRE((e == 0 || e == 4));
  BOOST_TEST(std::abs(mean(y).item<double>() - 3) < 0.05);
  check::same(dropout(g, x, 0.25, false), x);
  check::same(dropout(g, x, 1), zeros({100, 400}));
  check::same(dropout(g, x, 0), x);
}

BOOST_AUTO_TEST_CASE(dropout_is_part_of_an_epilogue) {
  const Tensor x = randn({64, 32}), w = randn({32, 48});
  eval(x, w);
  const Explanation e = explain([&] { dropout(relu(matmul(x, w)), 0.5).eval(); });
  BOOST_REQUIRE(e.flushes.size() == 1u);
  BOOST_TEST(e.flushes[0].kernels == 1u);
}

BOOST_AUTO_TEST_CASE(orders) {
  Generator g(19);
  std::vector<int64_t> v = permutation(g, 1000).to_vector<int64_t>();
  BOOST_TEST(!std::is_sorted(v.begin(), v.end()));
  std::sort(v.begin(), v.end());
  for (size_t i = 0; i < v.size(); ++i) BOOST_REQUIRE(v[i] == static_cast<int64_t>(i));
  const Tensor x = reshape(arange(12), {3, 4});
  const Tensor y = shuffle(g, x, 1);
  check::same(sort(y).values, x);
  BOOST_TEST(y.to_vector<int64_t>()[4] - y.to_vector<int64_t>()[0] == 4);  // columns stay together
  BOOST_TEST(permutation(g, 0).size() == 0);
  // All orders of three are equally likely.
  std::map<std::vector<int64_t>, int> seen;
  for (int i = 0; i < 600; ++i) ++seen[permutation(g, 3).to_vector<int64_t>()];
  BOOST_TEST(seen.size() == 6u);
  for (const auto& [order, n] : seen) BOOST_TEST(std::abs(n - 100) < 40);
}

BOOST_AUTO_TEST_CASE(samples_by_weight) {
  Generator g(23);
  const Tensor w = asarray(std::vector<float>{1, 0, 2, 5});
  const std::vector<int64_t> v = multinomial(g, w, 40000, true).to_vector<int64_t>();
  std::vector<double> count(4);
  for (int64_t i : v) ++count.at(static_cast<size_t>(i));
  BOOST_TEST(count[1] == 0);
  BOOST_TEST(std::abs(count[0] - 5000) < 300);
  BOOST_TEST(std::abs(count[2] - 10000) < 400);
  const Tensor each = multinomial(g, broadcast_to(w, {2000, 4}), 3);
  BOOST_TEST(to_string(each.shape()) == to_string(Shape{2000, 3}));
  const std::vector<int64_t> e = each.to_vector<int64_t>();
  double first = 0;
  for (size_t r = 0; r < 2000; ++r) {
    BOOST_REQUIRE(std::set<int64_t>({e[3 * r], e[3 * r + 1], e[3 * r + 2]}) == std::set<int64_t>({0, 2, 3}));
    first += e[3 * r] == 3;
  }
  BOOST_TEST(std::abs(first - 1250) < 120);
}

BOOST_AUTO_TEST_CASE(edges_and_errors) {
  Generator g;
  BOOST_TEST(rand(g, {0, 3}).size() == 0);
  BOOST_TEST(randn(g, {}).ndim() == 0);
  BOOST_TEST(g.position() == 2u);
  BOOST_CHECK_THROW(rand(g, {3}, int32), DtypeError);
  BOOST_CHECK_THROW(rand(g, {-1}), ShapeError);
  BOOST_CHECK_THROW(rand(g, {1 << 16, 1 << 16, 2}), ShapeError);
  BOOST_CHECK_THROW(randint(g, 3, 3, {2}), ShapeError);
  BOOST_CHECK_THROW(randint(g, 0, 300, {2}, uint8), DtypeError);
  BOOST_CHECK_THROW(randint(g, 0, 3, {2}, float32), DtypeError);
  BOOST_CHECK_THROW(bernoulli(g, ones({2}, int32)), DtypeError);
  BOOST_CHECK_THROW(multinomial(g, ones({3}), 4), ShapeError);
  BOOST_CHECK_THROW(shuffle(g, ones({3}), 1), IndexError);
  BOOST_CHECK_THROW(dropout(g, ones({3}), 1.5), Error);
}

BOOST_AUTO_TEST_SUITE_END()
