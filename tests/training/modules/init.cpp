// Tests first values: what they are distributed like, and which values layers begin with.
#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"
#include "tests/lazy/random/kolmogorov.hpp"

namespace {

using namespace lazy;
namespace init = nn::init;

constexpr int64_t kOut = 96, kIn = 64, kWindow = 5;

/// Returns a weight (out, in, window), and gives initialisers a generator whose seed makes the test the same
/// every time.
struct Weight {
  Generator generator{20261122};
  Parameter w{zeros({kOut, kIn, kWindow})};
  std::vector<double> values() const { return w.to_vector<double>(); }
};

/// Checks that numbers are evenly distributed from -bound to bound.
void uniform_within(const std::vector<double>& v, double bound, Site s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line())
  BOOST_TEST(distance(v, [&](double x) { return (x + bound) / (2 * bound); }) < 1.95);
}
void normal_with(const std::vector<double>& v, double std, Site s = Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line())
  BOOST_TEST(distance(v, [&](double x) { return normal_cdf(x / std); }) < 1.95);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(modules_init)

BOOST_AUTO_TEST_CASE(constants) {
  Parameter w(zeros({2, 3}));
  init::constant_(w, 0.5);
  check::equal(w, float32, {2, 3}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  init::ones_(w);
  check::equal(w, float32, {2, 3}, {1, 1, 1, 1, 1, 1});
  init::zeros_(w);
  check::equal(w, float32, {2, 3}, {0, 0, 0, 0, 0, 0});
  init::eye_(w);
  check::equal(w, float32, {2, 3}, {1, 0, 0, 0, 1, 0});
  BOOST_TEST(w.requires_grad());
  Tensor t = zeros({2}, bfloat16);
  init::constant_(t, 3);
  check::equal(t, bfloat16, {2}, {3, 3});
  BOOST_TEST(!t.requires_grad());
  Tensor leaf = zeros({2});
  leaf.requires_grad_();
  init::ones_(leaf);
  BOOST_TEST(leaf.requires_grad());
}

BOOST_AUTO_TEST_CASE(dirac_keeps_channels) {
  nn::Conv1d conv{4, 4, 3, {.padding = 1, .groups = 2, .bias = false}};
  init::dirac_(conv.weight, 2);
  const Tensor x = reshape(arange(8.0), {1, 4, 2});
  check::same(conv(x), x);
  nn::Conv2d wide{2, 3, {3, 1}, {.padding = {1, 0}, .bias = false}};
  init::dirac_(wide.weight);
  const Tensor y = wide(reshape(arange(4.0), {1, 2, 2, 1}));
  check::equal(y, float32, {1, 3, 2, 1}, {0, 1, 2, 3, 0, 0});
}

BOOST_AUTO_TEST_CASE(drawn_values) {
  Weight a;
  init::uniform_(a.w, -2, 2, &a.generator);
  uniform_within(a.values(), 2);
  init::normal_(a.w, 0, 3, &a.generator);
  normal_with(a.values(), 3);
  init::trunc_normal_(a.w, 0, 1, -1, 1, &a.generator);
  const double low = normal_cdf(-1), high = normal_cdf(1);
  BOOST_TEST(distance(a.values(), [&](double x) { return (normal_cdf(x) - low) / (high - low); }) < 1.95);
}

BOOST_AUTO_TEST_CASE(variance_is_kept) {
  const double in = kIn * kWindow, out = kOut * kWindow;
  Weight a;
  init::xavier_uniform_(a.w, 2, &a.generator);
  uniform_within(a.values(), 2 * std::sqrt(6 / (in + out)));
  init::xavier_normal_(a.w, 1, &a.generator);
  normal_with(a.values(), std::sqrt(2 / (in + out)));
  init::kaiming_uniform_(a.w, {.a = std::sqrt(5.0), .generator = &a.generator});
  uniform_within(a.values(), 1 / std::sqrt(in));
  init::kaiming_uniform_(a.w, {.nonlinearity = init::Nonlinearity::relu, .generator = &a.generator});
  uniform_within(a.values(), std::sqrt(6 / in));
  init::kaiming_normal_(
      a.w, {.mode = init::Fan::out, .nonlinearity = init::Nonlinearity::tanh, .generator = &a.generator});
  normal_with(a.values(), 5.0 / 3 / std::sqrt(out));
}

BOOST_AUTO_TEST_CASE(gains) {
  using init::Nonlinearity;
  BOOST_TEST(init::calculate_gain(Nonlinearity::linear) == 1);
  BOOST_TEST(init::calculate_gain(Nonlinearity::sigmoid) == 1);
  BOOST_TEST(init::calculate_gain(Nonlinearity::tanh) == 5.0 / 3);
  BOOST_TEST(init::calculate_gain(Nonlinearity::relu) == std::sqrt(2.0));
  BOOST_TEST(init::calculate_gain(Nonlinearity::leaky_relu, 2) == std::sqrt(2.0 / 5));
  BOOST_TEST(init::calculate_gain(Nonlinearity::selu) == 0.75);
}

BOOST_AUTO_TEST_CASE(orthogonal_rows_or_columns) {
  const auto identity = [](int64_t n, double f) { return (eye(n) * f).to_vector<double>(); };
  Parameter wide(zeros({3, 2, 4})), tall(zeros({7, 3})), one(zeros({1, 1}));
  init::orthogonal_(wide, 2);
  const Tensor rows = reshape(wide, {3, 8});
  check::close(matmul(rows, rows.T()), identity(3, 4), 1e-5);
  init::orthogonal_(tall);
  check::close(matmul(tall.T(), tall), identity(3, 1), 1e-5);
  init::orthogonal_(one);
  check::close(abs(one), {1}, 1e-6);
  Parameter half(zeros({4, 4}, bfloat16));
  init::orthogonal_(half);
  BOOST_TEST((half.dtype() == bfloat16));
  Parameter none(zeros({0, 3}));
  init::orthogonal_(none);
}

BOOST_AUTO_TEST_CASE(sparse_columns) {
  Generator g(5);
  Parameter w(zeros({10, 200}));
  init::sparse_(w, 0.25, 0.01, &g);  // 3 zeros of 10
  const std::vector<int64_t> zeros_in = sum(w == 0, 0).to_vector<int64_t>();
  for (const int64_t n : zeros_in) BOOST_TEST(n == 3);
  const std::vector<int64_t> by_row = sum(w == 0, 1).to_vector<int64_t>();
  for (const int64_t n : by_row) BOOST_TEST(std::abs(static_cast<double>(n) - 60) < 35);
  init::sparse_(w, 0);
  BOOST_TEST(all(w != 0).item<bool>());
  init::sparse_(w, 1);
  BOOST_TEST(all(w == 0).item<bool>());
}

BOOST_AUTO_TEST_CASE(layers_begin_as_torchs) {
  Generator g(11);
  const nn::Linear linear{100, 300, {.generator = &g}};
  uniform_within(linear.weight.to_vector<double>(), 0.1);
  uniform_within(linear.bias.to_vector<double>(), 0.1);
  const nn::Conv2d conv{4, 64, 5, {.groups = 2, .generator = &g}};
  uniform_within(conv.weight.to_vector<double>(), 1 / std::sqrt(50.0));
  const nn::ConvTranspose2d transposed{64, 4, 5, {.generator = &g}};
  uniform_within(transposed.weight.to_vector<double>(), 0.1);
  const nn::Bilinear bilinear{25, 8, 30, {.generator = &g}};
  uniform_within(bilinear.weight.to_vector<double>(), 0.2);
  const nn::Embedding embedding{50, 40, {.generator = &g}};
  normal_with(embedding.weight.to_vector<double>(), 1);
  const nn::BatchNorm2d norm{3};
  check::equal(norm.weight, float32, {3}, {1, 1, 1});
  check::equal(norm.bias, float32, {3}, {0, 0, 0});
  check::equal(norm.running_var, float32, {3}, {1, 1, 1});
  check::equal(nn::PReLU(2).weight, float32, {2}, {0.25, 0.25});
  const check::DefaultDType wide(float64);
  BOOST_TEST((nn::Linear(1, 1).weight.dtype() == float64));
  BOOST_TEST((nn::LayerNorm(2).weight.dtype() == float64));
  BOOST_TEST((nn::Linear(1, 1, {.dtype = bfloat16}).weight.dtype() == bfloat16));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_model) {
  manual_seed(3);
  const nn::Sequential a{nn::Linear{2, 3}, nn::Embedding{2, 2}};
  manual_seed(3);
  const nn::Sequential b{nn::Linear{2, 3}, nn::Embedding{2, 2}};
  for (const auto& [name, t] : a.state_dict()) check::same(b.state_dict().at(name), t);
}

BOOST_AUTO_TEST_SUITE_END()
