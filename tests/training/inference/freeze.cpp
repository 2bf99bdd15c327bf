// Tests frozen models: what is folded and what isn't, that values are those of the model before, that weights
// are computed once, and what can't be done until a model is thawed.
#include "lazy/inference/freeze.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <thread>

#include "jit/graph/node.hpp"
#include "lazy/inference/replay.hpp"
#include "lazy/lazy.hpp"
#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/common/folder.hpp"
#include "tests/support/child.hpp"
#include "tests/training/models/cases.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor waves(Shape shape, float factor = 1, float shift = 0) {
  return (sin(arange(1, numel(shape) + 1, 1, float32) * 0.7f) * factor + shift).reshape(shape).copy().eval();
}

/// Gives parameters and buffers values that differ, variances positive ones.
void fill_in(nn::Module& m) {
  const no_grad scope;
  float shift = 0.1f;
  NamedTensors state;
  for (const auto& [name, t] : m.state_dict()) {
    shift += 0.3f;
    const bool positive = name.ends_with("running_var");
    state.set(name, is_float(t.dtype()) && t.size() > 0
                        ? (waves(t.shape(), 0.4f, positive ? 1 : std::sin(shift))).astype(t.dtype())
                        : t);
  }
  m.load_state_dict(state);
}

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.astype(float32).to_vector<float>(), y = b.astype(float32).to_vector<float>();
  BOOST_REQUIRE_EQUAL(x.size(), y.size());
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    most = std::max(most, std::abs(double{x[i]} - y[i]) / std::max(1.0, std::abs(double{y[i]})));
  return most;
}

uint64_t folds() { return metrics().calls_folded; }

/// Freezes a model and compares its results with those before; `expected` is how often something is folded.
template <class M>
void compare(M& model, const Tensor& x, uint64_t expected, double most = 1e-4) {
  fill_in(model);
  model.eval();
  const Tensor before = [&] {
    const no_grad scope;
    return model(x).eval();
  }();
  inference::freeze(model);
  const uint64_t count = folds();
  const Tensor after = model(x).eval();
  BOOST_TEST(folds() - count == expected);
  BOOST_TEST(distance(after, before) <= most);
  if (expected == 0) BOOST_TEST(after.to_vector<float>() == before.to_vector<float>());
  inference::thaw(model);
  const no_grad scope;
  const Tensor thawed = model(x).eval();
  BOOST_TEST(folds() - count == expected);
  BOOST_TEST(thawed.to_vector<float>() == before.to_vector<float>(), boost::test_tools::per_element());
}

/// Checks that the call throws Error at this line, which names thaw().
template <class F>
void fails(F&& call, uint32_t line, const std::string& part = "thaw()") {
  test::fails_at<Error>("freeze.cpp", line, part, call);
}

template <class Conv, class Norm>
struct Pair : nn::Module {
  Conv conv;
  Norm norm;
  Pair(Conv c, Norm n) : conv(std::move(c)), norm(std::move(n)) {}
  LAZY_MODULE(conv, norm)
  Tensor operator()(const Tensor& x) { return relu(norm(conv(x))); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(frozen_models)

BOOST_AUTO_TEST_CASE(a_batch_norm_behind_a_convolution_is_folded) {
  for (const bool bias : {true, false})
    for (const bool affine : {true, false}) {
      Pair m(nn::Conv2d(3, 7, 3, {.padding = {1}, .bias = bias}), nn::BatchNorm2d(7, {.affine = affine}));
      compare(m, waves({2, 3, 9, 11}), 1);
    }
}

BOOST_AUTO_TEST_CASE(convolutions_of_any_kind) {
  {
    Pair m(nn::Conv1d(5, 13, 3), nn::BatchNorm1d(13));
    compare(m, waves({2, 5, 31}), 1);
  }
  {
    Pair m(nn::Conv3d(2, 3, 3, {.padding = 1}), nn::BatchNorm3d(3));
    compare(m, waves({1, 2, 5, 4, 7}), 1);
  }
  {  // depthwise, and a row of channels
    Pair m(nn::Conv2d(6, 6, 3, {.padding = 1, .groups = 6}), nn::BatchNorm2d(6));
    compare(m, waves({2, 6, 8, 9}), 1);
  }
  {
    Pair m(nn::Conv2d(6, 12, 3, {.stride = 2, .groups = 6}), nn::BatchNorm2d(12));
    compare(m, waves({2, 6, 9, 9}), 1);
  }
  {
    Pair m(nn::Conv2d(6, 4, 3, {.dilation = 2, .groups = 2}), nn::BatchNorm2d(4));
    compare(m, waves({2, 6, 9, 10}), 1);
  }
  {
    Pair m(nn::Conv2d(1, 1, 1), nn::BatchNorm2d(1));
    compare(m, waves({1, 1, 1, 1}), 1);
  }
  {
    Pair m(nn::Conv2d(3, 8, 3, {.padding = 1}), nn::BatchNorm2d(8));
    compare(m, waves({1, 3, 64, 64}), 1);
    compare(m, zeros({0, 3, 5, 5}), 1);
  }
  {
    Pair m(nn::Conv2d(3, 5, 3, {.padding = 1, .padding_mode = PadMode::reflect}), nn::BatchNorm2d(5));
    compare(m, waves({2, 3, 7, 7}), 1);
  }
}

BOOST_AUTO_TEST_CASE(a_linear_layer_takes_a_batch_norm) {
  for (const bool bias : {true, false}) {
    Pair m(nn::Linear(5, 7, {.bias = bias}), nn::BatchNorm1d(7));
    compare(m, waves({3, 5}), 1);
  }
  // Channels are another axis than the columns.
  Pair m(nn::Linear(5, 4), nn::BatchNorm1d(3));
  compare(m, waves({2, 3, 5}), 0);
}

BOOST_AUTO_TEST_CASE(two_norms_one_after_the_other) {
  nn::Sequential m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3), nn::BatchNorm2d(3), nn::ReLU());
  compare(m, waves({1, 2, 6, 6}), 2);
}

namespace {
struct ReadTwice : nn::Module {
  nn::Conv2d conv{2, 3, 3};
  nn::BatchNorm2d norm{3};
  LAZY_MODULE(conv, norm)
  Tensor operator()(const Tensor& x) {
    const Tensor y = conv(x);
    return norm(y) + y;
  }
};
struct NormFirst : nn::Module {
  nn::BatchNorm2d norm{2};
  nn::Conv2d conv{2, 3, 3};
  LAZY_MODULE(norm, conv)
  Tensor operator()(const Tensor& x) { return conv(relu(norm(x))); }
};
struct ByStatistics : nn::Module {
  nn::Conv2d conv{2, 3, 3};
  nn::BatchNorm2d norm{3, {.track_running_stats = false}};
  LAZY_MODULE(conv, norm)
  Tensor operator()(const Tensor& x) { return norm(conv(x)); }
};
}  // namespace

BOOST_AUTO_TEST_CASE(what_is_not_folded) {
  const Tensor x = waves({2, 2, 6, 7});
  ReadTwice twice;
  compare(twice, x, 0);
  NormFirst first;
  compare(first, x, 0);
  ByStatistics batch;
  compare(batch, x, 0);
  {  // a value that the user has
    Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
    fill_in(m);
    inference::freeze(m);
    const uint64_t before = folds();
    const Tensor y = m.conv(x), z = m.norm(y).eval();
    BOOST_TEST(folds() == before);
    (void)m.norm(m.conv(x)).eval();
    BOOST_TEST(folds() == before + 1);
  }
  {  // half of it is frozen
    Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
    fill_in(m);
    m.eval();
    inference::freeze(m.norm);
    const uint64_t before = folds();
    const no_grad scope;
    (void)m(x).eval();
    BOOST_TEST(folds() == before);
    inference::freeze(m.conv);
    (void)m(x).eval();
    BOOST_TEST(folds() == before + 1);
    m.norm.running_mean = waves({3});  // a buffer that was assigned is not frozen
    (void)m(x).eval();
    BOOST_TEST(folds() == before + 1);
  }
  {  // an update of it is recorded
    Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
    m.eval();
    const uint64_t before = folds();
    const no_grad scope;
    (void)m(x).eval();  // constants, but not frozen
    BOOST_TEST(folds() == before);
  }
}

BOOST_AUTO_TEST_CASE(fresh_models_are_folded_too) {
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  inference::freeze(m);
  BOOST_TEST(inference::is_frozen(m));
  const uint64_t before = folds();
  (void)m(waves({2, 2, 6, 7})).eval();
  BOOST_TEST(folds() == before + 1);
}

BOOST_AUTO_TEST_CASE(other_dtypes) {
  for (const DType t : {float64, bfloat16, float16}) {
    Pair m(nn::Conv2d(3, 7, 3, {.padding = 1}), nn::BatchNorm2d(7));
    m.to(t);
    compare(m, waves({2, 3, 9, 11}).astype(t), 1, t == float64 ? 1e-9 : 0.03);
  }
}

BOOST_AUTO_TEST_CASE(gradients_go_through_to_what_is_trained) {
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(m);
  m.eval();
  const auto gradient = [&] {
    Tensor x = waves({1, 2, 5, 6});
    x.requires_grad_();
    sum(m(x)).backward();
    return x.grad().eval();
  };
  const Tensor before = gradient();
  inference::freeze(m);
  BOOST_TEST(distance(gradient(), before) < 1e-4);
}

BOOST_AUTO_TEST_CASE(weights_are_folded_once) {
  Pair m(nn::Conv2d(3, 16, 3, {.padding = 1}), nn::BatchNorm2d(16));
  fill_in(m);
  inference::freeze(m);
  const Tensor x = waves({2, 3, 16, 16}), y = waves({2, 3, 16, 16}, 2);
  (void)m(x).eval();
  const Metrics first = metrics();
  (void)m(y).eval();
  const Metrics second = metrics();
  BOOST_TEST(second.results_kept == first.results_kept);
  BOOST_TEST(second.results_reused - first.results_reused >= 2u);
  std::thread([&] { (void)m(y).eval(); }).join();
  BOOST_TEST(metrics().results_kept == first.results_kept);
  BOOST_TEST(metrics().bytes_kept == first.bytes_kept);
}

BOOST_AUTO_TEST_CASE(residual_networks_have_no_batch_norm) {
  for (const auto& [config, count] :
       {std::pair{models::ResNetConfig{.width = 4, .classes = 10}, 20},
        std::pair{models::ResNetConfig{.layers = {3, 4, 6, 3}, .bottleneck = true, .width = 4, .classes = 10},
                  53}}) {
    models::ResNet m(config);
    for (auto& [name, b] : m.named_buffers()) BOOST_TEST(b.defined());
    m.eval();
    const Tensor x = waves({2, 3, 32, 32});
    const Tensor before = [&] {
      const no_grad scope;
      return m(x).eval();
    }();
    inference::freeze(m);
    Tensor after;
    const Explanation said = explain([&] { after = m(x).eval(); });
    BOOST_TEST(distance(after, before) < 1e-4);
    std::string text;
    for (const auto& f : said.flushes) text += jit::describe(f);
    BOOST_TEST(text.find("rewritten: conv2d + batch_norm -> conv2d, " + std::to_string(count) + " times") !=
                   text.npos,
               text);
    BOOST_TEST(text.find("(batch_norm") == text.npos, text);
    const auto again = replay([&](const Tensor& v) { return m(v); }, m);
    const Explanation first = explain([&] { (void)again(x); });
    BOOST_REQUIRE(first.flushes.size() == 1u);
    const std::string of_replay = jit::describe(first.flushes[0]);
    BOOST_TEST(of_replay.starts_with("replay recorded at freeze.cpp:"), of_replay);
    BOOST_TEST(of_replay.find("rewritten: conv2d + batch_norm -> conv2d, " + std::to_string(count)) !=
                   of_replay.npos,
               of_replay);
    BOOST_TEST(explain([&] { (void)again(x); }).flushes.empty());
    BOOST_TEST(again(x).to_vector<float>() == after.to_vector<float>(), boost::test_tools::per_element());
    BOOST_TEST(again(x).to_vector<float>() == after.to_vector<float>(), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(channels_last_is_folded_as_well_and_nothing_is_reordered) {
  const auto folded = [&](nn::Module& m, const std::function<Tensor(const Tensor&)>& call, size_t norms) {
    m.eval();
    const Tensor x = waves({1, 3, 64, 64}), last = x.to_memory_format(channels_last).eval();
    const no_grad scope;
    const Tensor before = call(x).eval();
    inference::freeze(m);
    Tensor after;
    call(last).eval();  // computes what is kept of the weights
    const uint64_t folds = metrics().calls_folded;
    const Explanation said = explain([&] { after = call(last).eval(); });
    BOOST_TEST(metrics().calls_folded - folds == norms);
    BOOST_TEST(distance(after, before) < 1e-4);
    std::string text;
    for (const auto& f : said.flushes) text += jit::describe(f);
    BOOST_TEST(text.find("(batch_norm") == text.npos, text);
    // What is laid out in another order is windows alone, which products read.
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.find("map_permute") != line.npos)
        BOOST_TEST(line.find("conv2d: windows as rows") != line.npos, line);
  };
  models::ResNet resnet({.layers = {1, 1, 1, 1}, .bottleneck = true, .width = 16, .classes = 10});
  folded(
      resnet, [&](const Tensor& x) { return resnet(x); }, 17);
  models::MobileNetV3 mobilenet(
      {{{16, 3, 16, 16, true, false, 2}, {16, 3, 72, 24, false, false, 2}, {24, 5, 96, 40, true, true, 1}},
       64,
       10});
  folded(
      mobilenet, [&](const Tensor& x) { return mobilenet(x); }, 10);
}

BOOST_AUTO_TEST_CASE(models_stay_what_they_compute) {
  for (const std::string& name : parity::kNames) {
    BOOST_TEST_CONTEXT(name) {
      parity::Case c = parity::build(name, false);
      parity::fill(*c.model);
      c.model->eval();
      const Tensor before = [&] {
        const no_grad scope;
        return c.run(c.arguments).eval();
      }();
      inference::freeze(*c.model);
      const no_grad scope;
      const uint64_t count = folds();
      const Tensor after = c.run(c.arguments).eval();
      BOOST_TEST(distance(after, before) <= 1e-4);
      if (folds() == count)
        BOOST_TEST(after.to_vector<float>() == before.to_vector<float>(), boost::test_tools::per_element());
      BOOST_TEST((folds() > count) ==
                 (name.starts_with("resnet") || name.starts_with("mobilenet") || name == "unet"));
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_notice) {
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(m);
  m.eval();
  const auto step = replay([&](const Tensor& v) { return m(v); }, m);
  const Tensor x = waves({1, 2, 6, 6});
  const auto before = step(x).to_vector<float>();
  const uint64_t count = folds();
  inference::freeze(m);
  const Tensor frozen = step(x);
  BOOST_TEST(folds() == count + 1);
  BOOST_TEST(frozen.to_vector<float>() == m(x).to_vector<float>(), boost::test_tools::per_element());
  inference::thaw(m);
  BOOST_TEST(step(x).to_vector<float>() == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_frozen_model_is_not_trained) {
  const Tensor x = waves({4, 2, 6, 6});
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  const NamedTensors state = m.state_dict();
  optim::SGD sgd(m.named_parameters(), {.lr = 0.1});
  sum(m(x)).backward();
  inference::freeze(m);
  BOOST_TEST(!m.conv.weight.requires_grad());
  const Tensor loss = sum(m(x));
  fails([&] { loss.backward(); }, __LINE__);
  fails([&] { sgd.step(); }, __LINE__);
  fails([&] { m.train(); }, __LINE__);
  fails([&] { m.load_state_dict(state); }, __LINE__);
  fails([&] { m.to(float64); }, __LINE__);
  fails([&] { m.conv.weight.requires_grad_(); }, __LINE__);
  fails([&] { m.requires_grad_(); }, __LINE__);
  fails([&] { m.conv.weight = zeros({3, 2, 3, 3}); }, __LINE__);
  fails([&] { m.conv.bias += 1; }, __LINE__);
  fails([&] { m.conv.bias(0) = 1; }, __LINE__);
  fails([&] { m.conv.bias.reset(zeros({3})); }, __LINE__);
  fails([&] { m.conv.bias.set_grad(zeros({3})); }, __LINE__);
  BOOST_TEST(inference::is_frozen(m));
  m.requires_grad_(false);
  m.eval();
  {  // copies of a value and of the model are as ever
    Tensor w = m.conv.bias;
    w += 1;
    auto copy = m;
    BOOST_TEST(!inference::is_frozen(copy));
    copy.train();
    copy.conv.bias += 1;
    (void)copy(x).eval();
    BOOST_TEST(m.conv.bias.to_vector<float>() == state.at("conv.bias").to_vector<float>());
  }
}

BOOST_AUTO_TEST_CASE(a_thawed_model_is_trained_as_before) {
  const Tensor x = waves({4, 2, 6, 6});
  Pair a(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(a);
  auto b = a;
  inference::freeze(a);
  (void)a(x).eval();
  inference::thaw(a).train();
  BOOST_TEST(!inference::is_frozen(a));
  BOOST_TEST(detail::frozen_parameters() == 0u);
  for (auto* m : {&a, &b}) {
    optim::SGD sgd(m->named_parameters(), {.lr = 0.1});
    for (int i = 0; i < 3; ++i) {
      m->zero_grad();
      sum(square((*m)(x))).backward();
      sgd.step();
    }
  }
  for (const auto& [name, t] : a.state_dict())
    BOOST_TEST(t.to_vector<float>() == b.state_dict().at(name).to_vector<float>(),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(parametrized_weights_stay_parametrized) {
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(m);
  nn::utils::parametrizations::weight_norm(m.conv);
  compare(m, waves({1, 2, 6, 6}), 1);
}

BOOST_AUTO_TEST_CASE(states_are_those_of_the_model) {
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(m);
  const NamedTensors before = m.state_dict();
  inference::freeze(m);
  Pair other(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  other.load_state_dict(m.state_dict());
  BOOST_TEST(!inference::is_frozen(other));
  other.train();
  for (const auto& [name, t] : before) {
    BOOST_TEST(m.state_dict().at(name).to_vector<double>() == t.to_vector<double>());
    BOOST_TEST(other.state_dict().at(name).to_vector<double>() == t.to_vector<double>());
  }
}

BOOST_AUTO_TEST_CASE(a_file_is_mapped) {
  const test::Folder folder;
  const std::string path = folder / "model.safetensors";
  const Tensor x = waves({1, 2, 9, 9});
  std::vector<float> expected;
  {
    Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
    fill_in(m);
    inference::freeze(m, path);
    expected = m(x).to_vector<float>();
  }
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  inference::load_frozen(m, path);
  BOOST_TEST(inference::is_frozen(m));
  BOOST_TEST(m.conv.weight.handle()->buffer->borrowed());
  BOOST_TEST(m(x).to_vector<float>() == expected, boost::test_tools::per_element());
  inference::load_frozen(m, path);  // again
  BOOST_TEST(m(x).to_vector<float>() == expected, boost::test_tools::per_element());
  Pair wider(nn::Conv2d(2, 5, 3), nn::BatchNorm2d(5));
  fails([&] { inference::load_frozen(wider, path); }, __LINE__, "conv.weight");
  BOOST_TEST(!inference::is_frozen(wider));
  inference::thaw(m).train();  // of values in a file
  optim::SGD sgd(m.named_parameters(), {.lr = 0.1});
  sum(m(x)).backward();
  sgd.step();
  BOOST_TEST(m.conv.weight.to_vector<float>().size() == 54u);
  Pair again(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  inference::load_frozen(again, path);
  BOOST_TEST(again(x).to_vector<float>() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(another_process_maps_it) {
  if (const char* const folder = ::getenv("LAZY_TEST_FOLDER"); folder && lazy_test::is_child()) {
    const std::string at = folder;
    Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
    inference::load_frozen(m, at + "/model.safetensors");
    const Safetensors file = load_safetensors(at + "/values.safetensors");
    const uint64_t before = folds();
    const std::vector<float> y = m(file.at("x")).to_vector<float>();
    BOOST_TEST(folds() == before + 1);
    BOOST_TEST(m.conv.weight.handle()->buffer->borrowed());
    BOOST_TEST(y == file.at("y").to_vector<float>(), boost::test_tools::per_element());
    return;
  }
  const test::Folder folder;
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(m);
  inference::freeze(m, folder / "model.safetensors");
  NamedTensors values;
  values.set("x", waves({1, 2, 9, 9}));
  values.set("y", m(values.at("x")));
  save_safetensors(folder / "values.safetensors", values);
  const std::string model = folder / "model.safetensors";
  const auto [said, status] = lazy_test::run_again(
      "frozen_models/another_process_maps_it",
      {{"LAZY_TEST_FOLDER", model.substr(0, model.rfind('/'))}, {"LAZY_TEST_ENVIRONMENT", "1"}});
  BOOST_TEST(status == 0, said);
}

BOOST_AUTO_TEST_CASE(settings_that_run_op_by_op) {
  Pair m(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  fill_in(m);
  inference::freeze(m);
  const Tensor x = waves({1, 2, 9, 9});
  const Tensor folded = m(x).eval();
  {
    const uint64_t failures = metrics().verify_failures, runs = metrics().verify_runs;
    const Override setting("LAZY_VERIFY", "1");
    BOOST_TEST(distance(m(x).eval(), folded) <= 1e-6);
    BOOST_TEST(metrics().verify_runs > runs);
    BOOST_TEST(metrics().verify_failures == failures);
  }
  for (const auto& [name, value] : {std::pair{"LAZY_EAGER", "1"}, std::pair{"LAZY_CHECK_NAN", "1"},
                                    std::pair{"LAZY_KEEP_MB", "0"}, std::pair{"LAZY_MAX_GRAPH", "4"}}) {
    const Override setting(name, value);
    BOOST_TEST(distance(m(x).eval(), folded) <= 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(many_threads) {
  Pair m(nn::Conv2d(2, 8, 3), nn::BatchNorm2d(8));
  fill_in(m);
  inference::freeze(m);
  const Tensor x = waves({2, 2, 12, 12});
  const auto expected = m(x).to_vector<float>();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += m(x).to_vector<float>() != expected;
    });
  for (std::thread& t : threads) t.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()
