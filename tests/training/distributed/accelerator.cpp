// Tests the Accelerator: the same loop on one rank and on several gives the same training; several batches to
// a step, mixed precision, clipping, states that others load, metrics without the examples that were visited
// again.
#include "lazy/training/accelerator.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "lazy/data/data.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/fails_at.hpp"
#include "tests/common/folder.hpp"
#include "tests/training/distributed/first_values.hpp"
#include "tests/training/distributed/on_any_thread.hpp"

using namespace lazy;
using test::check;
using training::Accelerator;
using training::AcceleratorOptions;

namespace {

struct Net : nn::Module {
  nn::Linear hidden{6, 16}, out{16, 3};
  LAZY_MODULE(hidden, out)
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(x))); }
};
const NamedTensors& first_values() { return test::first_values<Net>(5); }
const data::TensorDataset& examples() {
  static const data::TensorDataset all = [] {
    Generator g(9);
    const Tensor x = randn(g, {48, 6}).eval();
    return data::TensorDataset(x, argmax(x(_, slice(0, 3)), 1).eval());
  }();
  return all;
}
std::vector<float> weights_of(Net& net) {
  std::vector<float> all;
  for (const ParameterRef& p : net.parameters())
    for (float v : p->to_vector<float>()) all.push_back(v);
  return all;
}

/// Trains as any program does.
std::vector<float> train(AcceleratorOptions options, int epochs, double clip) {
  Accelerator accelerator(options);
  Net net;
  net.load_state_dict(first_values());
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.2, .momentum = 0.9});
  accelerator.prepare(net, optimizer);
  data::DataLoader loader(examples(), accelerator.share_of(examples().size(), {.batch_size = 12}));
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (const auto& [x, y] : loader) {
      const auto step = accelerator.accumulate();
      Tensor loss;
      {
        const auto scope = accelerator.autocast();
        loss = cross_entropy(net(x), y);
      }
      accelerator.backward(loss);
      if (clip > 0 && accelerator.sync_gradients()) accelerator.clip_grad_norm_(net.named_parameters(), clip);
      accelerator.step(optimizer);
      accelerator.zero_grad(optimizer);
    }
  return weights_of(net);
}

void near(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  BOOST_REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) BOOST_TEST(std::abs(a[i] - b[i]) < tolerance);
}

std::vector<float> train_on(int ranks, const AcceleratorOptions& o, int epochs, double clip) {
  (void)first_values(), (void)examples();
  std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
  distributed::run_ranks(ranks,
                         [&] { all[static_cast<size_t>(distributed::rank())] = train(o, epochs, clip); });
  for (const auto& w : all) BOOST_TEST(w == all[0], boost::test_tools::per_element());
  return all[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(accelerator)

BOOST_AUTO_TEST_CASE(one_rank_or_many) {
  for (const double clip : {0.0, 0.3}) {
    const auto alone = train({.split_batches = true}, 5, clip);
    for (const int ranks : {2, 3, 4}) near(train_on(ranks, {.split_batches = true}, 5, clip), alone, 1e-4f);
  }
}

// Batches of 12 in two halves: the step of the whole.
BOOST_AUTO_TEST_CASE(several_batches_to_a_step) {
  const auto alone = train({.gradient_accumulation_steps = 2, .split_batches = true}, 4, 0.3);
  near(train_on(2, {.gradient_accumulation_steps = 2, .split_batches = true}, 4, 0.3), alone, 1e-4f);
  // Each rank has batches of 12 examples: half as many steps of twice as many.
  near(train_on(2, {.gradient_accumulation_steps = 1}, 4, 0.3), alone, 1e-4f);
}

BOOST_AUTO_TEST_CASE(mixed_precision) {
  const auto exact = train({.split_batches = true}, 3, 0.3);
  for (const DType t : {bfloat16, float16}) {
    const AcceleratorOptions o{.mixed_precision = t, .split_batches = true};
    near(train(o, 3, 0.3), exact, 0.05f);
    near(train_on(2, o, 3, 0.3), exact, 0.05f);
  }
}

BOOST_AUTO_TEST_CASE(states) {
  const test::Folder folder;
  (void)first_values();
  std::vector<float> saved;
  const auto set_up = [&](Net& net, double lr) {
    net.load_state_dict(first_values());
    return std::make_unique<optim::AdamW>(net.named_parameters(), optim::AdamWOptions{.lr = lr});
  };
  distributed::run_ranks(2, [&] {
    Accelerator accelerator;
    Net net;
    const auto optimizer = set_up(net, 0.1);
    Generator draws(4);
    accelerator.prepare(net, *optimizer);
    accelerator.register_for_checkpointing("draws", draws);
    check(!accelerator.load_state(folder / "state"), "nothing to load");
    for (int i = 0; i < 3; ++i) {
      accelerator.backward(sum(square(net(ones({2, 6})))));
      accelerator.step(*optimizer), accelerator.zero_grad(*optimizer);
      (void)rand(draws, {3}).eval();
    }
    (void)accelerator.save_state(folder / "state", 3);
    if (accelerator.is_main_process()) saved = weights_of(net);
    accelerator.wait_for_everyone();
  });
  // On another number of ranks, and after each on another one; one rank writes a file.
  for (const int ranks : {3, 4, 1, 2})
    distributed::run_ranks(ranks, [&] {
      Accelerator accelerator({.asynchronous_saves = ranks == 4});
      Net net;
      const auto optimizer = set_up(net, 0.1);
      Generator draws(1);
      accelerator.prepare(net, *optimizer);
      accelerator.register_for_checkpointing("draws", draws);
      const auto step = accelerator.load_state(folder / "state");
      check(step && *step == (ranks == 3 ? 3 : ranks == 4 ? 4 : ranks == 1 ? 5 : 6), "the step");
      check(weights_of(net) == saved, "the weights");
      Generator same(4);
      for (int i = 0; i < 3; ++i) (void)rand(same, {3}).eval();
      check(same.position() == draws.position() && same.seed() == draws.seed(), "the draws");
      const std::string path = accelerator.save_state(folder / "state", *step + 1);
      accelerator.wait_for_saves();
      check(std::filesystem::is_directory(path) == (ranks > 1), "a file on one rank");
    });
}

BOOST_AUTO_TEST_CASE(metrics_without_repeats) {
  Generator g(2);
  const Tensor x = arange(0, 11, 1, float32).reshape({11, 1}).eval();
  const data::TensorDataset set(x, x.reshape({11}).eval());
  for (const int ranks : {1, 2, 3, 4})
    distributed::run_ranks(ranks, [&] {
      const Accelerator accelerator;
      data::DataLoader loader(set, accelerator.share_of(11, {.batch_size = 2}));
      std::vector<Tensor> own;
      for (const auto& [inputs, labels] : loader) own.push_back(inputs * 2 + labels.reshape({-1, 1}));
      const Tensor all = accelerator.gather_for_metrics(concat(own), 11);
      check(all.to_vector<float>() == (x * 3).to_vector<float>(), "each example once");
    });
}

// What a launcher says holds where the program says nothing.
BOOST_AUTO_TEST_CASE(options_of_the_environment) {
  const auto halves = train({.gradient_accumulation_steps = 2}, 4, 0.3);
  const auto whole = train({}, 4, 0.3);
  const auto mixed = train({.mixed_precision = bfloat16}, 4, 0.3);
  BOOST_TEST(halves != whole);
  BOOST_TEST(mixed != whole);
  const auto with = [](const char* name, const char* value, const auto& f) {
    ::setenv(name, value, 1);
    f();
    ::unsetenv(name);
  };
  with("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "2", [&] {
    BOOST_TEST(train({}, 4, 0.3) == halves);
    BOOST_TEST(train({.gradient_accumulation_steps = 1}, 4, 0.3) == whole);
  });
  with("ACCELERATE_MIXED_PRECISION", "bf16", [&] {
    BOOST_TEST(train({}, 4, 0.3) == mixed);
    BOOST_TEST(train({.mixed_precision = float32}, 4, 0.3) == whole);
  });
  with("ACCELERATE_MIXED_PRECISION", "no", [&] { BOOST_TEST(train({}, 4, 0.3) == whole); });
  uint32_t line = 0;
  with("ACCELERATE_MIXED_PRECISION", "fp8", [&] {
    line = __LINE__ + 1;
    test::fails_at<Error>("accelerator.cpp", line, "no, fp16 or bf16, not fp8", [] { Accelerator a; });
  });
  for (const char* const wrong : {"0", "-1", "2x", "99999999999999999999"})
    with("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", wrong, [&] {
      const auto make = [] { Accelerator a; };
      line = __LINE__ - 1;
      test::fails_at<Error>("accelerator.cpp", line, std::string("from 1 on, not ") + wrong, make);
    });
}

BOOST_AUTO_TEST_CASE(mistakes) {
  const AcceleratorOptions none{.gradient_accumulation_steps = 0}, wrong{.mixed_precision = int8};
  test::fails_at<Error>("accelerator.cpp", __LINE__, "0 batches", [&] { const Accelerator a(none); });
  test::fails_at<DtypeError>("accelerator.cpp", __LINE__, "int8", [&] { const Accelerator a(wrong); });
  distributed::run_ranks(2, [] {
    const Accelerator a({.split_batches = true});
    try {
      (void)a.share_of(10, {.batch_size = 3});
      check(false, "3 in 2");
    } catch (const Error& e) {
      check(std::string(e.what()).find("do not divide batches of 3") != std::string::npos, e.what());
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
