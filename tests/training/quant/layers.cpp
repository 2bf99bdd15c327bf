// Tests layers and models of integers: what they give beside integer arithmetic and beside the numbers that
// the integers stand for, preparing and converting, rules, files, sessions, and the same bits everywhere.
#include <fstream>

#include "lazy/inference/session.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/quant/sensitivity.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/common/folder.hpp"
#include "tests/common/run_again.hpp"

using namespace lazy;
using nn::utils::parametrize::parametrizations;

namespace {

std::vector<float> all_of(const Tensor& t) { return t.astype(float32).to_vector<float>(); }

void close(const Tensor& a, const Tensor& b, float tolerance = 2e-5f) {
  BOOST_REQUIRE((a.shape() == b.shape()));
  const auto x = all_of(a), y = all_of(b);
  float top = 1e-6f, worst = 0;
  for (float v : y) top = std::max(top, std::abs(v));
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(x[i] - y[i]));
  BOOST_TEST(worst <= tolerance * top);
}

/// Checks that y is x w^T + bias but for rounding, which is in proportion to the products and the bias: their
/// sums may be much smaller.
void near_product(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias, float tolerance) {
  BOOST_REQUIRE((y.shape() == linear(x, w, bias).shape()));
  const Tensor sizes = linear(abs(x), abs(w), bias.defined() ? abs(bias) : bias);
  BOOST_TEST(all(abs(linear(x, w, bias) - y) <= tolerance * sizes).item<bool>());
}

quant::Config by_tensor(quant::Activations a) {
  return {.weights = {.granularity = quant::Granularity::tensor}, .activations = a};
}
std::vector<std::pair<const char*, quant::Config>> configs() {
  using quant::Activations;
  return {
      {"int8", quant::int8_weights()},
      {"int8 by tensor", by_tensor(Activations::none)},
      {"int8 affine", {.weights = {.symmetric = false}}},
      {"uint8 affine", {.weights = {.is_signed = false, .symmetric = false}}},
      {"int4", quant::int4_weights(32)},
      {"int4 by 128", quant::int4_weights(128)},
      {"uint4 symmetric",
       {.weights = {.bits = 4, .is_signed = false, .granularity = quant::Granularity::group, .group = 64}}},
      {"int8 by 64", {.weights = {.granularity = quant::Granularity::group, .group = 64}}},
      {"int8 by 16", {.weights = {.granularity = quant::Granularity::group, .group = 16}}},
      {"int8 affine by 32",
       {.weights = {.symmetric = false, .granularity = quant::Granularity::group, .group = 32}}},
      {"5 bits", {.weights = {.bits = 5}}},
      {"e4m3", quant::float8_weights()},
      {"e5m2 by tensor",
       {.weights = {.granularity = quant::Granularity::tensor, .format = quant::Format::e5m2}}},
      {"e4m3 by 32",
       {.weights = {.granularity = quant::Granularity::group, .group = 32, .format = quant::Format::e4m3}}},
      {"int4 by 32", {.weights = {.bits = 4, .granularity = quant::Granularity::group, .group = 32}}},
      {"int3 affine by 32",
       {.weights = {.bits = 3, .symmetric = false, .granularity = quant::Granularity::group, .group = 32}}},
      {"uint8 by 32",
       {.weights = {.is_signed = false, .granularity = quant::Granularity::group, .group = 32}}}};
}

/// Returns what the layer's weights stand for.
Tensor value_of(const nn::Module& layer) {
  const auto* const l = dynamic_cast<const nn::Linear*>(&layer);
  return l ? Tensor(l->weight) : Tensor(dynamic_cast<const nn::Conv2d&>(layer).weight);
}

struct Net : nn::Module {
  nn::Conv2d first{1, 6, 3, {.padding = 1}};
  nn::Conv2d second{6, 8, 3, {.stride = 2, .bias = false}};
  nn::Linear hidden{8 * 3 * 3, 40};
  nn::Linear head{40, 4};
  LAZY_MODULE(first, second, hidden, head)
  Tensor operator()(const Tensor& x) const {
    const Tensor a = relu(second(relu(first(x))));
    return head(relu(hidden(a.reshape({x.size(0), 8 * 3 * 3}))));
  }
};

struct Batch {
  Tensor x, labels;
};
/// Draws images whose label is the brightest quarter.
Batch batch_of(Generator& g, int64_t n) {
  const Tensor x = rand(g, {n, 1, 8, 8}), quarters = mean(x.reshape({n, 2, 4, 2, 4}), {2, 4}).reshape({n, 4});
  return {x.eval(), argmax(quarters, 1).eval()};
}
double accuracy(const Net& net, const Batch& b) {
  const no_grad scope;
  return mean((argmax(net(b.x), 1) == b.labels).astype(float32)).item<float>();
}

/// Trains a net to some accuracy.
void train(Net& net, Generator& g, int steps, double lr = 3e-3) {
  optim::Adam o(net.named_parameters(), {.lr = lr});
  for (int i = 0; i < steps; ++i) {
    const Batch b = batch_of(g, 64);
    o.zero_grad();
    Tensor loss = cross_entropy(net(b.x), b.labels);
    loss.backward();
    o.step();
    (void)loss.eval();
  }
}

/// Converts a net that was trained to be rounded, and checks that it gives what it gave.
void convert_checked(Net& trained, const Tensor& x) {
  const no_grad scope;
  trained.eval();
  const Tensor before = trained(x).eval();
  quant::convert_(trained);
  BOOST_TEST(quant::sqnr(before, trained(x)) > 40);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quant_layers)

BOOST_AUTO_TEST_CASE(linear_multiplies_by_what_its_integers_stand_for) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  for (const auto& [name, config] : configs())
    for (const auto& [in, out] : {std::pair{1, 1}, {7, 3}, {64, 5}, {96, 9}, {100, 17}, {256, 33}})
      for (const Shape& rows :
           {Shape{}, Shape{1}, Shape{2}, Shape{3, 2}, Shape{5}, Shape{8}, Shape{11}, Shape{41}, Shape{0}})
        BOOST_TEST_CONTEXT(name << " " << in << " to " << out << " of " << to_string(rows)) {
          const no_grad scope;
          nn::Linear layer(in, out, {.bias = rows.size() != 1, .generator = &g});
          quant::quantize_(layer, config);
          Shape shape = rows;
          shape.push_back(in);
          const Tensor x = randn(g, shape);
          near_product(layer(x), x, value_of(layer), layer.bias, 2e-5f);
        }
}

BOOST_AUTO_TEST_CASE(weights_that_lie_transposed_are_those_of_the_outputs) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  auto all = configs();
  all.emplace_back("int8 dynamic", quant::int8_dynamic());
  all.emplace_back("int4 dynamic", quant::int4_dynamic(32));
  for (const auto& [name, config] : all)
    for (const auto& [in, out] : {std::pair{1, 1}, {7, 3}, {100, 17}})
      for (const Shape& rows : {Shape{}, Shape{3, 2}, Shape{41}, Shape{0}})
        BOOST_TEST_CONTEXT(name << " " << in << " to " << out << " of " << to_string(rows)) {
          const no_grad scope;
          nn::Linear upright(in, out, {.generator = &g});
          nn::TransposedLinear lying(matrix_transpose(upright.weight), upright.bias, Site::current());
          const auto done = quant::quantize_(lying, config), same = quant::quantize_(upright, config);
          BOOST_TEST(done.size() == 1u);
          BOOST_TEST(done[0].bytes_after == same[0].bytes_after);
          BOOST_TEST((lying.weight.shape() == Shape{in, out}));
          close(matrix_transpose(lying.weight), upright.weight, 0);
          Shape shape = rows;
          shape.push_back(in);
          const Tensor x = randn(g, shape);
          close(lying(x), upright(x), 1e-6f);
          near_product(lying(x), x, matrix_transpose(lying.weight), lying.bias,
                       config.activations == quant::Activations::none ? 2e-5f : 0.05f);
        }
}

BOOST_AUTO_TEST_CASE(weights_that_lie_transposed_are_prepared_and_converted) {
  Generator g(1);
  for (const auto prepare : {quant::Prepare::calibrate, quant::Prepare::train})
    for (const quant::Config& config :
         {quant::int8_fixed(),
          quant::Config{.activations = quant::Activations::dynamic,
          .balance = prepare == quant::Prepare::calibrate ? 0.5 : 0},
          quant::Config{.rounding = prepare == quant::Prepare::calibrate ? quant::Rounding::second_order
                                                                         : quant::Rounding::nearest}}) {
      const no_grad scope;
      nn::Linear upright(24, 10, {.generator = &g});
      nn::TransposedLinear lying(matrix_transpose(upright.weight), upright.bias, Site::current());
      quant::prepare_(upright, config, prepare);
      quant::prepare_(lying, config, prepare);
      const Tensor x = randn(g, {12, 24});
      close(lying(x), upright(x), 1e-6f);
      quant::convert_(upright);
      quant::convert_(lying);
      close(matrix_transpose(lying.weight), upright.weight, 1e-6f);
      close(lying(x), upright(x), 1e-6f);
    }
}

BOOST_AUTO_TEST_CASE(products_of_integers_are_exact) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  std::mt19937_64 random(seed);
  for (uint64_t i = 0, cases = test::asked_cases(60); i < cases; ++i) {
    const auto in = static_cast<int64_t>(random() % 300 + 1), out = static_cast<int64_t>(random() % 40 + 1),
               rows = static_cast<int64_t>(random() % 20 + 1);
    BOOST_TEST_CONTEXT(rows << " rows, " << in << " to " << out) {
      const no_grad scope;
      nn::Linear layer(in, out, {.bias = false, .generator = &g});
      quant::quantize_(layer, quant::int8_dynamic());
      const Tensor x = randn(g, {rows, in}) * 10;
      // Row by row, in integers of 64 bits.
      const quant::Affine a = quant::affine_of(x, quant::Scheme{});
      const Tensor q = quant::quantize(x, a, quant::Scheme{});
      auto& list = parametrizations(layer.weight);
      const Tensor w = Tensor(list.original(0)), scale = Tensor(list.original(1));
      const Tensor sums = matmul(q.astype(int64), w.astype(int64).T()).astype(float32);
      BOOST_TEST(all_of(layer(x)) == all_of(sums * scale * a.scale.reshape({rows, 1})),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(rounded_rows_by_4_bits) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  for (const int64_t group : {32, 64, 128, 256})
    for (const auto& [in, out] : {std::pair{1, 1}, {33, 3}, {128, 9}, {300, 17}, {1000, 6}})
      for (const int64_t rows : {1, 2, 3, 4, 7, 12, 193})
        BOOST_TEST_CONTEXT(rows << " rows, " << in << " to " << out << ", groups of " << group) {
          const no_grad scope;
          nn::Linear layer(in, out, {.generator = &g});
          quant::quantize_(layer, quant::int4_dynamic(group));
          const Tensor x = randn(g, {rows, in});
          const quant::Affine a = quant::affine_of(x, quant::Scheme{});
          const Tensor near = quant::dequantize(quant::quantize(x, a, quant::Scheme{}), a, quant::Scheme{});
          close(layer(x), linear(near, value_of(layer), layer.bias));
        }
}

BOOST_AUTO_TEST_CASE(convolutions) {
  Generator g(5);
  for (const auto& [name, config] : configs())
    for (const int64_t groups : {1, 2}) BOOST_TEST_CONTEXT(name << " groups " << groups) {
        const no_grad scope;
        nn::Conv2d layer(4, 6, {3, 2}, {.stride = 2, .padding = 1, .groups = groups, .generator = &g});
        quant::quantize_(layer, config);
        const Tensor x = randn(g, {2, 4, 9, 8});
        close(layer(x),
              conv2d(x, value_of(layer), {.stride = 2, .padding = 1, .groups = groups, .bias = layer.bias}));
        close(layer(x.to_memory_format(channels_last)), layer(x));
      }
  const no_grad scope;
  nn::Conv2d layer(4, 6, 3, {.generator = &g});
  const Tensor x = randn(g, {2, 4, 9, 8}), before = layer(x).eval();
  quant::quantize_(layer, quant::int8_dynamic());
  BOOST_TEST(quant::sqnr(before, layer(x)) > 30);
  const quant::Affine a = quant::affine_of(x, quant::kActivationScheme);
  const Tensor rounded =
      quant::dequantize(quant::quantize(x, a, quant::kActivationScheme), a, quant::kActivationScheme);
  close(layer(x), conv2d(rounded, value_of(layer), {.bias = layer.bias}));
}

BOOST_AUTO_TEST_CASE(gradients_go_through) {
  Generator g(6);
  for (const auto& [name, config] : configs()) BOOST_TEST_CONTEXT(name) {
      nn::Linear layer(64, 5, {.generator = &g});
      quant::quantize_(layer, config);
      Tensor x = randn(g, {3, 64});
      x.requires_grad_();
      const Tensor y = randn(g, {3, 5});
      sum(layer(x) * y).backward();
      close(x.grad(), matmul(y, value_of(layer)));
      close(layer.bias.grad(), sum(y, {0}));
    }
  // Activations are not rounded where a gradient goes through them.
  nn::Linear layer(64, 5, {.generator = &g});
  quant::quantize_(layer, quant::int8_dynamic());
  Tensor x = randn(g, {3, 64});
  x.requires_grad_();
  sum(layer(x)).backward();
  close(x.grad(), matmul(ones({3, 5}), value_of(layer)));
}

BOOST_AUTO_TEST_CASE(embeddings) {
  Generator g(7);
  nn::Embedding table(50, 64, {.generator = &g});
  quant::Config config = quant::int4_weights(32);
  BOOST_TEST(quant::quantize_(table, config).empty());
  config.embeddings = true;
  const Tensor before = Tensor(table.weight).eval();
  BOOST_TEST(quant::quantize_(table, config).size() == 1);
  const no_grad scope;
  const Tensor ids = tensor({3, 49, 0, 3}), rows = table(ids);
  BOOST_TEST(all_of(rows) == all_of(take(Tensor(table.weight), ids, 0)), boost::test_tools::per_element());
  BOOST_TEST(quant::sqnr(take(before, ids, 0), rows) > 15);
}

BOOST_AUTO_TEST_CASE(rules) {
  Net net;
  const auto done = quant::quantize_(
      net, {{"head", {}},
            {"fir?t", quant::int8_dynamic()},
            {"*", quant::int8_weights(), [](const nn::Module& m) { return m.name() == "Linear"; }}});
  BOOST_REQUIRE(done.size() == 2);
  BOOST_TEST(done[0].layer == "first");
  BOOST_TEST((done[0].config == quant::int8_dynamic()));
  BOOST_TEST(done[1].layer == "hidden");
  BOOST_TEST(done[1].bytes_before == 72 * 40 * 4);
  BOOST_TEST(done[1].bytes_after == 72 * 40 + 40 * 4);
  BOOST_TEST(!net.head.weight.parametrized());
  // Again: what has a parametrization stays.
  BOOST_TEST(quant::quantize_(net, quant::int8_weights()).size() == 2);
  BOOST_TEST(to_string(quant::int4_weights(32)) == "uint4 by groups of 32, affine");
  Net other;
  const quant::Config wrong{.weights = {.bits = 9}}, fixed = quant::int8_fixed();
  test::fails_at<Error>("layers.cpp", __LINE__, "9 bits", [&] { quant::quantize_(other, wrong); });
  test::fails_at<Error>("layers.cpp", __LINE__, "prepare_()", [&] { quant::quantize_(other, fixed); });
  BOOST_TEST(!other.first.weight.parametrized());
  quant::prepare_(other, fixed);
  test::fails_at<Error>("layers.cpp", __LINE__, "seen none", [&] { quant::convert_(other); });
}

BOOST_AUTO_TEST_CASE(files_and_copies) {
  Generator g(8);
  const Batch b = batch_of(g, 5);
  for (const auto& config : {quant::int8_dynamic(), quant::int4_weights(32), quant::float8_weights()}) {
    Net net;
    quant::quantize_(net, config);
    const no_grad scope;
    const auto expected = all_of(net(b.x));
    Net copy = net;
    BOOST_TEST(all_of(copy(b.x)) == expected, boost::test_tools::per_element());
    Net loaded;
    quant::quantize_(loaded, config);
    BOOST_TEST(all_of(loaded(b.x)) != expected);
    const test::Folder folder;
    save_safetensors(folder / "net.safetensors", net.state_dict());
    loaded.load_state_dict(load_safetensors(folder / "net.safetensors"));
    BOOST_TEST(all_of(loaded(b.x)) == expected, boost::test_tools::per_element());
    const auto s = inference::session(loaded, {.example = b.x});
    BOOST_TEST(all_of(s(b.x)) == expected, boost::test_tools::per_element());
    // Assigned to, it rounds anew.
    copy.head.weight = Tensor(net.head.weight) * 2;
    BOOST_TEST(quant::sqnr(Tensor(net.head.weight) * 2, Tensor(copy.head.weight)) > 15);
  }
}

BOOST_AUTO_TEST_CASE(calibrated_and_trained) {
  Generator g(9);
  manual_seed(9);
  Net net;
  train(net, g, 400);
  const Batch test = batch_of(g, 1000);
  const double before = accuracy(net, test);
  BOOST_TEST(before > 0.8);

  Net calibrated = net;
  BOOST_TEST(quant::prepare_(calibrated, quant::int8_fixed()).size() == 4);
  {
    const no_grad scope;
    BOOST_TEST(all_of(calibrated(test.x)) == all_of(net(test.x)), boost::test_tools::per_element());
    for (int i = 0; i < 3; ++i) (void)calibrated(batch_of(g, 64).x).eval();
  }
  BOOST_TEST(quant::convert_(calibrated).size() == 4);
  BOOST_TEST(std::abs(accuracy(calibrated, test) - before) < 0.01);
  BOOST_TEST(quant::sqnr(net(test.x), calibrated(test.x)) > 25);

  // Few bits cost accuracy, which training gets back.
  const quant::Config few{.weights = {.bits = 2}, .activations = quant::Activations::fixed};
  Net trained = net;
  quant::prepare_(trained, few, quant::Prepare::train);
  train(trained, g, 200, 1e-3);
  convert_checked(trained, test.x);
  const no_grad scope;
  Net at_once = net;
  quant::prepare_(at_once, few);
  (void)at_once(batch_of(g, 64).x).eval();
  quant::convert_(at_once);
  BOOST_TEST(accuracy(trained, test) > accuracy(at_once, test) + 0.05);
  BOOST_TEST(accuracy(trained, test) > before - 0.05);
}

/// Returns a config whose activations are uint8 with zero points.
quant::Config with_zero_points(quant::Config c, int bits = 8, bool is_signed = false) {
  if (c.activations == quant::Activations::none) c.activations = quant::Activations::dynamic;
  c.activation_scheme = {.bits = bits, .is_signed = is_signed, .symmetric = false};
  return c;
}

BOOST_AUTO_TEST_CASE(activations_with_zero_points) {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  Generator g(seed);
  const no_grad scope;
  for (const quant::Scheme& weights :
       {quant::Scheme{}, quant::Scheme{.granularity = quant::Granularity::tensor},
        quant::Scheme{.symmetric = false}, quant::Scheme{.is_signed = false, .symmetric = false}})
    for (const auto activations : {quant::Activations::dynamic, quant::Activations::fixed})
      for (const auto& [bits, is_signed] : {std::pair{8, false}, {8, true}, {6, false}})
        for (const auto& [in, out] : {std::pair{1, 1}, {7, 3}, {96, 9}, {300, 17}})
          for (const int64_t rows : {1, 5, 33})
            BOOST_TEST_CONTEXT(to_string(weights) << (is_signed ? " int" : " uint") << bits << " " << rows
                                                  << " x " << in << " to " << out) {
              const quant::Config config =
                  with_zero_points({.weights = weights, .activations = activations}, bits, is_signed);
              nn::Linear layer(in, out, {.generator = &g});
              // Nearly all are of one sign, as behind a ReLU.
              const Tensor x = (rand(g, {rows, in}) * 3 - 0.2).eval();
              quant::prepare_(layer, config);
              (void)layer(x).eval();
              quant::convert_(layer);
              quant::Scheme how = config.activation_scheme;
              if (activations == quant::Activations::fixed) how.granularity = quant::Granularity::tensor;
              const quant::Affine a = quant::affine_of(x, how);
              const Tensor near = quant::dequantize(quant::quantize(x, a, how), a, how);
              near_product(layer(x), near, value_of(layer), layer.bias, 2e-5f);
            }
  // Products of integers alone are exact: in integers of 64 bits they are the same.
  nn::Linear layer(300, 40, {.bias = false, .generator = &g});
  quant::quantize_(layer, with_zero_points(quant::int8_dynamic()));
  const Tensor x = relu(randn(g, {20, 300})).eval();
  const quant::Scheme how{.is_signed = false, .symmetric = false};
  const quant::Affine a = quant::affine_of(x, how);
  auto& list = parametrizations(layer.weight);
  const Tensor q = quant::quantize(x, a, how).astype(int64) - a.zero_point.astype(int64).reshape({20, 1});
  const Tensor sums = matmul(q, Tensor(list.original(0)).astype(int64).T()).astype(float32);
  BOOST_TEST(all_of(layer(x)) == all_of(sums * Tensor(list.original(1)) * a.scale.reshape({20, 1})),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(convolutions_of_activations_with_zero_points) {
  Generator g(21);
  const no_grad scope;
  for (const auto activations : {quant::Activations::dynamic, quant::Activations::fixed})
    for (const int64_t groups : {1, 2})
      for (const int64_t padding : {0, 2}) {
        const quant::Config config = with_zero_points({.activations = activations});
        nn::Conv2d layer(4, 6, {3, 2}, {.stride = 2, .padding = padding, .groups = groups, .generator = &g});
        // Their range begins above 0 nearly everywhere: a border of zeros is not a border of zero points.
        const Tensor x = (rand(g, {2, 4, 9, 8}) * 3 - 0.2).eval();
        quant::prepare_(layer, config);
        (void)layer(x).eval();
        quant::convert_(layer);
        quant::Scheme how = config.activation_scheme;
        how.granularity = quant::Granularity::tensor;
        const quant::Affine a = quant::affine_of(x, how);
        const Tensor near = quant::dequantize(quant::quantize(x, a, how), a, how);
        close(layer(x), conv2d(near, value_of(layer),
                               {.stride = 2, .padding = padding, .groups = groups, .bias = layer.bias}));
        close(layer(x(0)), layer(x)(0), activations == quant::Activations::fixed ? 2e-5f : 0.05f);
      }
}

BOOST_AUTO_TEST_CASE(zero_points_give_numbers_of_one_sign_a_bit_more) {
  Generator g(22);
  const no_grad scope;
  const nn::Linear layer(256, 64, {.generator = &g});
  const Tensor x = relu(randn(g, {50, 256})).eval(), exact = layer(x).eval();
  const auto decibels = [&](const quant::Config& config) {
    nn::Linear own = layer;
    quant::prepare_(own, config);
    (void)own(x).eval();
    quant::convert_(own);
    nn::Linear loaded = layer;
    quant::prepare_(loaded, config);
    (void)loaded(x + 3).eval();
    quant::convert_(loaded);
    loaded.load_state_dict(own.state_dict());
    BOOST_TEST(all_of(loaded(x)) == all_of(own(x)), boost::test_tools::per_element());
    return quant::sqnr(linear(x, value_of(own), own.bias), own(x));
  };
  for (const quant::Range range :
       {quant::Range::min_max, quant::Range::percentile, quant::Range::least_error}) {
    quant::Config config = quant::int8_fixed();
    config.range = range;
    const double without = decibels(config), with = decibels(with_zero_points(config));
    BOOST_TEST(with > without + 4, with << " and " << without << " decibels");
  }
  nn::Linear other(64, 8);
  const quant::Config groups = with_zero_points(quant::int4_dynamic(32));
  quant::Config balanced = with_zero_points(quant::int8_fixed()), codes = quant::int8_dynamic();
  balanced.balance = 0.5;
  codes.activation_scheme.format = quant::Format::e4m3;
  test::fails_at<Error>("layers.cpp", __LINE__, "zero points", [&] { quant::quantize_(other, groups); });
  test::fails_at<Error>("layers.cpp", __LINE__, "zero points", [&] { quant::prepare_(other, balanced); });
  test::fails_at<Error>("layers.cpp", __LINE__, "to integers", [&] { quant::quantize_(other, codes); });
}

BOOST_AUTO_TEST_CASE(steps_are_learned) {
  Generator g(9);
  manual_seed(9);
  Net net;
  train(net, g, 400);
  const Batch test = batch_of(g, 1000);
  const double before = accuracy(net, test);
  quant::Config few{.weights = {.bits = 2}, .activations = quant::Activations::fixed};
  few.learned_steps = true;
  Net trained = net;
  quant::prepare_(trained, few, quant::Prepare::train);
  BOOST_TEST(trained.named_parameters().size() == net.named_parameters().size() + 8);
  auto& list = parametrizations(trained.hidden.weight);
  const auto first = all_of(list[0].state_dict()["weight_step"]);
  train(trained, g, 200, 1e-3);
  BOOST_TEST(all_of(list[0].state_dict()["weight_step"]) != first);
  convert_checked(trained, test.x);
  const no_grad scope;
  BOOST_TEST(accuracy(trained, test) > before - 0.05);
  Net other;
  quant::Config wrong = few, affine = few;
  wrong.weights = quant::int4_weights(32).weights;
  affine.activation_scheme.symmetric = false;
  const auto by_training = [&](const quant::Config& c) { quant::prepare_(other, c, quant::Prepare::train); };
  const int line = __LINE__ - 1;
  test::fails_at<Error>("layers.cpp", line, "learned", [&] { by_training(wrong); });
  test::fails_at<Error>("layers.cpp", line, "learned", [&] { by_training(affine); });
  test::fails_at<Error>("layers.cpp", __LINE__, "learned", [&] { quant::prepare_(other, few); });
  test::fails_at<Error>("layers.cpp", __LINE__, "prepare_()", [&] { quant::quantize_(other, few); });
}

/// Draws rows of which some columns are a hundred times as large as others, as text models have them.
Tensor rows_with_outliers(Generator& g, int64_t n, int64_t depth) {
  const Tensor large = where(arange(depth) % 37 == 5, 100.0, 1.0);
  return (randn(g, {n, depth}) * large).eval();
}

BOOST_AUTO_TEST_CASE(balanced_between_weights_and_activations) {
  Generator g(17);
  for (const quant::Activations activations : {quant::Activations::dynamic, quant::Activations::fixed})
    for (const quant::Rounding rounding : {quant::Rounding::nearest, quant::Rounding::second_order}) {
      const nn::Linear layer(256, 96, {.generator = &g});
      const Tensor seen = rows_with_outliers(g, 600, 256), x = rows_with_outliers(g, 50, 256);
      const no_grad scope;
      double without = 0;
      for (const double balance : {0.0, 0.5}) {
        nn::Linear own = layer;
        const quant::Config config{.activations = activations, .rounding = rounding, .balance = balance};
        quant::prepare_(own, config);
        BOOST_TEST(all_of(own(seen)) == all_of(layer(seen)), boost::test_tools::per_element());
        quant::convert_(own);
        const double decibels = quant::sqnr(layer(x), own(x));
        if (balance == 0) without = decibels;
        else BOOST_TEST(decibels > without + 8, decibels << " and " << without);
        // The layer multiplies by what its weights stand for, where nothing is rounded.
        BOOST_TEST(quant::sqnr(layer(x), linear(x, value_of(own), own.bias)) > 25);
        nn::Linear loaded = layer;
        quant::prepare_(loaded, config);
        (void)loaded(x).eval();
        quant::convert_(loaded);
        loaded.load_state_dict(own.state_dict());
        BOOST_TEST(all_of(loaded(x)) == all_of(own(x)), boost::test_tools::per_element());
      }
    }
  // A column that was 0 stays as it is.
  const no_grad scope;
  nn::Linear layer(8, 4, {.generator = &g}), own = layer;
  quant::prepare_(own, quant::Config{.balance = 0.7});
  (void)own(randn(g, {20, 8}) * (arange(8) != 3).astype(float32)).eval();
  quant::convert_(own);
  close(value_of(own), Tensor(layer.weight), 0.02f);
  Net net;
  const quant::Config wrong{.balance = 1.5}, half{.balance = 0.5};
  test::fails_at<Error>("layers.cpp", __LINE__, "1.5", [&] { quant::prepare_(net, wrong); });
  test::fails_at<Error>("layers.cpp", __LINE__, "prepare_()", [&] { quant::quantize_(net, half); });
  const auto train = quant::Prepare::train;
  test::fails_at<Error>("layers.cpp", __LINE__, "calibration", [&] { quant::prepare_(net, half, train); });
  quant::prepare_(net, half);
  test::fails_at<Error>("layers.cpp", __LINE__, "given nothing", [&] { quant::convert_(net); });
}

BOOST_AUTO_TEST_CASE(floats_of_8_bits_as_weights) {
  Generator g(18);
  // Trained to be rounded: the gradient goes through.
  nn::Linear trained(64, 5, {.generator = &g});
  quant::prepare_(trained, quant::float8_weights(), quant::Prepare::train);
  sum(trained(ones({2, 64}))).backward();
  const auto gradient = all_of(parametrizations(trained.weight).original(0).grad());
  BOOST_TEST(gradient == std::vector<float>(64 * 5, 2.0f), boost::test_tools::per_element());
  const no_grad scope;
  nn::Linear layer(300, 40, {.generator = &g});
  const Tensor before = Tensor(layer.weight).eval(), x = randn(g, {9, 300});
  const auto done = quant::quantize_(layer, quant::float8_weights());
  BOOST_TEST(done.at(0).bytes_after == 300 * 40 + 40 * 4);
  BOOST_TEST(quant::sqnr(before, Tensor(layer.weight)) > 30);
  // Each is within half a step of 3 bits, or of the smallest number.
  const Tensor scale = max(abs(before), 1, keepdims) / 448;
  const Tensor bound = maximum(abs(before) / 16, scale * 0x1p-10) * 1.0001;
  BOOST_TEST(all(abs(Tensor(layer.weight) - before) <= bound).item<bool>());
  BOOST_TEST(to_string(quant::float8_weights(Float8::e5m2)) == "e5m2 by channel");
  nn::Linear other(8, 8);
  quant::Config rounds = quant::float8_weights(), zeros = quant::float8_weights();
  rounds.activations = quant::Activations::dynamic;
  zeros.weights.symmetric = false;
  test::fails_at<Error>("layers.cpp", __LINE__, "as they are", [&] { quant::quantize_(other, rounds); });
  test::fails_at<Error>("layers.cpp", __LINE__, "zero points", [&] { quant::quantize_(other, zeros); });
}

BOOST_AUTO_TEST_CASE(what_layers_cost) {
  Generator g(12);
  manual_seed(12);
  Net net;
  const Tensor x = batch_of(g, 64).x;
  const auto f = [&](Net& m) { return m(x); };
  const quant::Config coarse{.weights = {.bits = 3}};
  for (const quant::Config& config : {coarse, quant::int8_fixed()}) {
    const auto noise = quant::sensitivity(net, config, f);
    BOOST_REQUIRE(noise.size() == 4);
    const no_grad scope;
    for (size_t i = 0; i < 4; ++i) {
      if (i) BOOST_TEST(noise[i].alone >= noise[i - 1].alone);
      BOOST_TEST((noise[i].alone > 5 && noise[i].alone < 90));
    }
    const auto last =
        std::find_if(noise.begin(), noise.end(), [](const auto& n) { return n.layer == "head"; });
    Net all = net;
    quant::detail::quantise(all, {{"*", config}}, f, Site::current());
    BOOST_TEST(last->together == quant::sqnr(net(x), all(x)));
    // Two decibels more than all layers give: some are left out, and no more than have to be.
    const quant::Rules rules = quant::search(net, config, f, last->together + 2);
    BOOST_TEST((!rules.empty() && rules.size() < 4));
    Net some = net;
    quant::detail::quantise(some, rules, f, Site::current());
    BOOST_TEST(quant::sqnr(net(x), some(x)) >= last->together + 2);
  }
  BOOST_TEST(!net.head.weight.parametrized());
  BOOST_TEST(quant::search(net, coarse, f, 500).empty());
  BOOST_TEST(quant::sqnr(x, x) == std::numeric_limits<double>::infinity());
  const Tensor other = x.reshape({-1});
  test::fails_at<ShapeError>("layers.cpp", __LINE__, "sqnr", [&] { quant::sqnr(x, other); });
}

/// Writes the bits of results to the file that LAZY_TEST_BITS names, if it is set.
BOOST_AUTO_TEST_CASE(bits_of_a_process) {
  const char* const to = std::getenv("LAZY_TEST_BITS");
  if (!to) return;
  std::ofstream file(to, std::ios::binary);
  Generator g(10);
  const no_grad scope;
  // Weights alone by channel are products of float32, whose order of sums goes by the machine.
  for (const auto& config :
       {quant::int8_dynamic(), quant::int4_weights(32), quant::int4_weights(128), quant::int4_dynamic(32),
        quant::int4_dynamic(64), quant::int4_dynamic(256),
        quant::Config{.weights = {.granularity = quant::Granularity::group, .group = 64}}})
    for (const int64_t rows : {1, 2, 3, 4, 7}) {
      nn::Linear layer(300, 37, {.generator = &g});
      quant::quantize_(layer, config);
      const auto v = all_of(layer(randn(g, {rows, 300})));
      file.write(reinterpret_cast<const char*>(v.data()),
                 static_cast<std::streamsize>(v.size() * sizeof(float)));
    }
}

BOOST_AUTO_TEST_CASE(again_on_other_machines) {
  for (const char* isa : {"reference", "avx2"})
    test::run_again("quant_layers/linear*,products*,rounded*,convolutions,gradients*,embeddings",
                    {{"LAZY_CPU_ISA", isa}});
  test::same_bits("quant_layers/bits_of_a_process",
                  {{{"LAZY_NUM_THREADS", "1"}}, {{"LAZY_CPU_ISA", "avx2"}, {"LAZY_NUM_THREADS", "2"}}});
}

BOOST_AUTO_TEST_SUITE_END()
