// Tests sessions: what they give, that a call does nothing that recurs, threads, shapes and errors.
#include "lazy/inference/session.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "backends/cpu/threads/parallel.hpp"
#include "lazy/inference/freeze.hpp"
#include "lazy/lazy.hpp"
#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "support/thread_share.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/training/models/cases.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor values_of(Shape shape, float factor = 1) {
  return (cos(arange(1, numel(shape) + 1, 1, float32) * 0.3f) * factor).reshape(shape).copy().eval();
}
std::vector<float> all_of(const Tensor& t) { return t.to_vector<float>(); }

/// Checks that the call throws an error at this line with that text.
template <class F>
void fails(F&& call, uint32_t line, const std::string& part) {
  test::fails_at<std::exception>("session.cpp", line, part, call);
}

struct Images : nn::Module {
  nn::Conv2d first{3, 8, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  nn::Dropout drop{0.5};
  nn::Linear last{8, 5};
  LAZY_MODULE(first, norm, drop, last)
  Tensor operator()(const Tensor& x) const { return last(drop(mean(relu(norm(first(x))), {2, 3}))); }
};
constexpr uint32_t kImages = __LINE__ - 2;

}  // namespace

BOOST_AUTO_TEST_SUITE(sessions)

BOOST_AUTO_TEST_CASE(a_call_gives_what_the_frozen_model_gives) {
  Images m;
  const Tensor x = values_of({2, 3, 8, 9}), y = values_of({2, 3, 8, 9}, 2), wide = values_of({5, 3, 8, 9});
  const auto s = inference::session(m, {.example = x});
  BOOST_TEST(inference::is_frozen(m));
  BOOST_TEST(!m.training());
  const no_grad scope;
  for (const Tensor& t : {x, y, wide, x})
    BOOST_TEST(all_of(s(t)) == all_of(m(t)), boost::test_tools::per_element());
  BOOST_TEST(all_of(s(zeros({0, 3, 8, 9}))).empty());
}

BOOST_AUTO_TEST_CASE(nothing_recurs) {
  Images m;
  const Tensor x = values_of({1, 3, 8, 8}), y = values_of({1, 3, 8, 8}, 3);
  const auto s = inference::session(m, {.example = x});
  const auto expected = all_of(s(y));
  const Metrics before = metrics();
  for (int i = 0; i < 10'000; ++i) (void)s(i % 2 ? x : y);
  const Metrics after = metrics();
  BOOST_TEST(after.replays - before.replays == 10'000u);
  BOOST_TEST(after.nodes_recorded == before.nodes_recorded);
  BOOST_TEST(after.flushes == before.flushes);
  BOOST_TEST(after.program_hits == before.program_hits);
  BOOST_TEST(after.program_misses == before.program_misses);
  BOOST_TEST(after.kernels_compiled == before.kernels_compiled);
  BOOST_TEST(after.results_kept == before.results_kept);
  BOOST_TEST(after.bytes_live == before.bytes_live);
  BOOST_TEST(after.bytes_kept == before.bytes_kept);
  BOOST_TEST(all_of(s(y)) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_models_change_nothing) {
  Images m, other;
  const Tensor x = values_of({1, 3, 8, 8});
  const auto s = inference::session(m, {.example = x});
  const uint64_t before = metrics().nodes_recorded;
  other.eval();
  (void)s(x);
  other.train();
  (void)s(x);
  BOOST_TEST(metrics().nodes_recorded == before);
  inference::freeze(other);
  const uint64_t frozen = metrics().nodes_recorded;
  (void)s(x);
  BOOST_TEST(metrics().nodes_recorded == frozen);
}

BOOST_AUTO_TEST_CASE(threads_share_one_copy_of_the_weights) {
  Images m;
  const Tensor x = values_of({4, 3, 16, 16});
  const auto s = inference::session(m, {.example = x});
  const auto expected = all_of(s(x));
  const Metrics before = metrics();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) wrong += all_of(s(x)) != expected;
    });
  for (std::thread& t : threads) t.join();
  BOOST_TEST(wrong == 0);
  const Metrics after = metrics();
  BOOST_TEST(after.results_kept == before.results_kept);
  BOOST_TEST(after.bytes_kept == before.bytes_kept);
  BOOST_TEST(after.nodes_recorded == before.nodes_recorded);
}

BOOST_AUTO_TEST_CASE(threads_record_at_once) {
  Images m;
  const auto s = inference::session(m);
  const no_grad scope;
  std::vector<std::vector<float>> expected;
  for (int n = 1; n < 5; ++n) expected.push_back(all_of(m(values_of({n, 3, 6, 6}))));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const int n = (t + i) % 4 + 1;
        wrong += all_of(s(values_of({n, 3, 6, 6}))) != expected[static_cast<size_t>(n - 1)];
      }
    });
  for (std::thread& t : threads) t.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(sessions_of_one_model_share_packs_and_code) {
  Images m;
  const Tensor x = values_of({2, 3, 12, 12});
  std::vector<decltype(inference::session(m))> all;
  all.push_back(inference::session(m, {.example = x}));
  const auto expected = all_of(all[0](x));
  const Metrics before = metrics();
  for (int i = 1; i < 8; ++i) all.push_back(inference::session(m, {.example = x}));
  for (const auto& s : all) BOOST_TEST(all_of(s(x)) == expected, boost::test_tools::per_element());
  const Metrics after = metrics();
  BOOST_TEST(after.kernels_compiled == before.kernels_compiled);
  BOOST_TEST(after.program_misses == before.program_misses);
  BOOST_TEST(after.results_kept == before.results_kept);
  BOOST_TEST(after.bytes_kept == before.bytes_kept);
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_shape_goes) {
  Images m;
  const auto s = inference::session(m, {.shapes = 2});
  const Tensor a = values_of({1, 3, 6, 6}), b = values_of({2, 3, 6, 6}), c = values_of({3, 3, 6, 6});
  const auto records = [&](const Tensor& t) {
    const uint64_t before = metrics().nodes_recorded;
    (void)s(t);
    return metrics().nodes_recorded != before;
  };
  BOOST_TEST(records(a));
  BOOST_TEST(records(b));
  BOOST_TEST(!records(a));
  BOOST_TEST(records(c));  // b goes
  BOOST_TEST(!records(a));
  BOOST_TEST(!records(c));
  BOOST_TEST(records(b));
}

BOOST_AUTO_TEST_CASE(a_share_of_the_threads) {
  const Override setting("LAZY_NUM_THREADS", "4");
  BOOST_TEST(cpu_backend::thread_count() == 4);
  {
    const ThreadShare two(2);
    BOOST_TEST(cpu_backend::thread_count() == 2);
    const ThreadShare more(3), as_before(0);
    BOOST_TEST(cpu_backend::thread_count() == 2);
    std::thread([] { BOOST_TEST(cpu_backend::thread_count() == 4); }).join();
    const ThreadShare one(1);
    BOOST_TEST(cpu_backend::thread_count() == 1);
  }
  BOOST_TEST(cpu_backend::thread_count() == 4);
  Images m;
  const Tensor x = values_of({8, 3, 32, 32});
  const auto all = inference::session(m, {.example = x}), alone = inference::session(m, {.threads = 1});
  BOOST_TEST(all_of(all(x)) == all_of(alone(x)), boost::test_tools::per_element());
  BOOST_TEST(cpu_backend::thread_count() == 4);
}

BOOST_AUTO_TEST_CASE(sessions_come_and_go) {
  const Tensor x = values_of({2, 3, 8, 8});
  uint64_t live = 0, kept = 0, entries = 0;
  for (int i = 0; i < 300; ++i) {
    Images m;
    const auto s = inference::session(m, {.example = x});
    (void)s(x);
    (void)s(values_of({1 + i % 3, 3, 8, 8}));
    if (i == 50) live = metrics().bytes_live, kept = metrics().bytes_kept, entries = cache::stats().entries;
  }
  BOOST_TEST(metrics().bytes_live <= live + 4096);
  BOOST_TEST(metrics().bytes_kept <= kept);
  BOOST_TEST(cache::stats().entries <= entries + 4);
}

namespace {
struct Reading : nn::Module {
  nn::Linear layer{3, 3};
  LAZY_MODULE(layer)
  Tensor operator()(const Tensor& x) const {
    const Tensor y = layer(x);
    return sum(y).item<float>() > 0 ? y : -y;
  }
};
constexpr uint32_t kReading = __LINE__ - 3;
struct Two : nn::Module {
  nn::Linear layer{3, 4};
  LAZY_MODULE(layer)
  Tensor operator()(const Tensor& x, const Tensor& y) const { return layer(x) * y; }
};
}  // namespace

BOOST_AUTO_TEST_CASE(errors_are_at_the_users_line) {
  Images m;
  const Tensor x = values_of({1, 3, 6, 6});
  const auto s = inference::session(m, {.example = x});
  fails([&] { (void)s(x.astype(float64)); }, __LINE__, "float64");
  fails([&] { (void)s(x.reshape({3, 36})); }, kImages, "conv2d");
  Tensor wanted = values_of({1, 3, 6, 6});
  wanted.requires_grad_();
  fails([&] { (void)s(wanted); }, __LINE__, "gradient");
  const auto expected = all_of(s(x));
  inference::thaw(m);
  fails([&] { (void)s(x); }, __LINE__, "thaw()");
  fails([&] { (void)inference::session(m, {.freeze = false}); }, __LINE__, "freeze()");
  inference::freeze(m);
  BOOST_TEST(all_of(s(x)) == expected, boost::test_tools::per_element());
  m.drop.train();
  fails([&] { (void)s(x); }, __LINE__, "train");
  m.eval();
  BOOST_TEST(all_of(s(x)) == expected, boost::test_tools::per_element());
  {  // other weights
    inference::thaw(m);
    const no_grad scope;
    m.last.bias = values_of({5}, 7);
    inference::freeze(m);
    BOOST_TEST(all_of(s(x)) == all_of(m(x)), boost::test_tools::per_element());
    BOOST_TEST(all_of(s(x)) != expected);
  }
  Reading reading;
  const auto r = inference::session(reading);
  fails([&] { (void)r(values_of({2, 3})); }, kReading, "reads no values");
  Two two;
  const auto t = inference::session(two, {.example = {values_of({2, 3}), values_of({2, 4})}});
  BOOST_TEST(
      all_of(t(values_of({2, 3}), values_of({2, 4}))) == all_of(two(values_of({2, 3}), values_of({2, 4}))),
      boost::test_tools::per_element());
  fails([&] { (void)inference::session(two, {.example = values_of({2, 3})}); }, __LINE__, "arguments");
  fails([&] { (void)inference::session(two, {.shapes = 0}); }, __LINE__, "shapes");
  fails([&] { (void)inference::session(two, {.threads = -1}); }, __LINE__, "threads");
}

BOOST_AUTO_TEST_CASE(settings) {
  Images m;
  const Tensor x = values_of({1, 3, 6, 6});
  const auto s = inference::session(m, {.example = x});
  const no_grad scope;
  for (const auto& [name, value] : {std::pair{"LAZY_EAGER", "1"}, std::pair{"LAZY_VERIFY", "1"},
                                    std::pair{"LAZY_CHECK_NAN", "1"}, std::pair{"LAZY_KEEP_MB", "0"}}) {
    const Override setting(name, value);
    BOOST_TEST(all_of(s(x)) == all_of(m(x)), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(models_of_images) {
  const auto serve = [](auto& model, const Tensor& x) {
    parity::fill(model);
    const auto s = inference::session(model, {.example = x});
    const no_grad scope;
    BOOST_TEST(all_of(s(x)) == all_of(model(x)), boost::test_tools::per_element());
  };
  models::ResNet resnet({.layers = {1, 1, 1, 1}, .width = 8, .classes = 10});
  serve(resnet, values_of({2, 3, 32, 32}));
  auto mobilenet = models::mobilenet_v3_small(10);
  serve(mobilenet, values_of({1, 3, 32, 32}));
  models::MLP mlp(12, {16, 8, 3});
  serve(mlp, values_of({4, 12}));
}

// Which order is faster the machine says, so what holds either way: values, results as the model's lie, no
// new programs once a shape is known.
BOOST_AUTO_TEST_CASE(a_format_is_chosen) {
  models::ResNet m({.layers = {1, 1, 1, 1}, .width = 8, .classes = 10});
  parity::fill(m);
  const auto s = inference::session(m, {.benchmark = true});
  const no_grad scope;
  for (const int64_t batch : {1, 3}) {
    const Tensor x = values_of({batch, 3, 32, 32});
    const auto expected = all_of(m(x));
    for (int call = 0; call < 3; ++call) {
      const uint64_t misses = metrics().program_misses;
      const Tensor y = s(x);
      const auto got = all_of(y);
      if (call) BOOST_TEST(metrics().program_misses == misses);
      BOOST_REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i)
        BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-4f * (1 + std::abs(expected[i])));
    }
  }
  // An image that is given out lies as the model would have it.
  nn::Conv2d conv(3, 8, 3, {.padding = 1});
  const Tensor x = values_of({1, 3, 9, 7});
  const auto images = inference::session(conv, {.benchmark = true});
  const Tensor y = images(x);
  BOOST_TEST(y.is_contiguous());
  BOOST_TEST((y.shape() == Shape{1, 8, 9, 7}));
}

BOOST_AUTO_TEST_SUITE_END()
