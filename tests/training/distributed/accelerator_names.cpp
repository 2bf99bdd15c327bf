// Tests the names that Accelerator has from Hugging Face's: loaders by parts, positions that any number of
// ranks goes on from, uneven inputs, processes that go first, trackers, files of models.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "lazy/data/data.hpp"
#include "lazy/distributed/zero.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/training/accelerator.hpp"
#include "lazy/training/progress.hpp"
#include "tests/common/folder.hpp"
#include "tests/training/distributed/on_any_thread.hpp"

using namespace lazy;
using test::check;
using test::throws;
using training::Accelerator;
using training::AcceleratorOptions;

namespace {

struct Net : nn::Module {
  nn::Linear out{3, 2};
  LAZY_MODULE(out)
  Tensor operator()(const Tensor& x) const { return out(x); }
};
/// Has example i be i in x and -i in y.
data::TensorDataset numbers(int64_t n) {
  const Tensor x = arange(0, n, 1, float32).reshape({n, 1}).eval();
  return data::TensorDataset(x, (-x).reshape({n}).eval());
}
std::vector<float> values_of(const Tensor& x) { return x.to_vector<float>(); }
std::vector<float> values_of(Net& net) {
  std::vector<float> all;
  for (const ParameterRef& p : net.parameters())
    for (const float v : p->to_vector<float>()) all.push_back(v);
  return all;
}

/// Gathers what all ranks do, in any order.
struct Seen {
  std::mutex mutex;
  std::vector<std::vector<float>> of_rank;
  explicit Seen(int ranks) : of_rank(static_cast<size_t>(ranks)) {}
  void add(const std::vector<float>& v) {
    const std::lock_guard lock(mutex);
    auto& own = of_rank[static_cast<size_t>(distributed::rank())];
    own.insert(own.end(), v.begin(), v.end());
  }
  /// Returns all ranks' in the order of the examples: each the next of each rank.
  std::vector<float> together() const {
    std::vector<float> all;
    for (size_t i = 0; i < of_rank[0].size(); ++i)
      for (const auto& own : of_rank)
        if (i < own.size()) all.push_back(own[i]);
    return all;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(accelerator_names)

BOOST_AUTO_TEST_CASE(prepared_loaders) {
  for (const bool dispatch : {false, true})
    for (const int ranks : {1, 2, 3, 4})
      for (const int64_t examples : {24, 25, 7}) BOOST_TEST_CONTEXT(ranks << " ranks, " << examples) {
          Seen seen(ranks), metrics(1);
          distributed::run_ranks(ranks, [&] {
            Accelerator a({.gradient_accumulation_steps = 100, .dispatch_batches = dispatch});
            auto batches = a.prepare(data::DataLoader(numbers(examples), {.batch_size = 2}));
            int64_t count = 0, lasts = 0;
            for (const auto& [x, y] : batches) {
              const auto scope = a.accumulate();
              ++count, lasts += a.sync_gradients();
              seen.add(values_of(x));
              check(values_of(x.reshape({-1}) + y) == std::vector<float>(static_cast<size_t>(y.size()), 0),
                    "y");
              const auto all = values_of(a.gather_for_metrics(x * 2));
              if (a.is_main_process()) metrics.add(all);
            }
            check(lasts == 1, "the last batch ends a step");
            const int64_t each = (examples + ranks - 1) / ranks;
            check(count == (each + 1) / 2 && (dispatch || batches.size() == count), "batches of each");
            if (ranks > 1) throws<Error>("outside of a loop", [&] { (void)a.gather_for_metrics(ones({2})); });
          });
          std::vector<float> expected;
          const int64_t padded = (examples + ranks - 1) / ranks * ranks;
          for (int64_t i = 0; i < padded; ++i) expected.push_back(static_cast<float>(i % examples));
          std::vector<float> all = seen.together(), doubled;
          if (dispatch) all.resize(static_cast<size_t>(examples)), expected.resize(all.size());
          BOOST_TEST(all == expected, boost::test_tools::per_element());
          for (int64_t i = 0; i < examples; ++i) doubled.push_back(2 * static_cast<float>(i));
          BOOST_TEST(metrics.of_rank[0] == doubled, boost::test_tools::per_element());
        }
}

// In the middle of an epoch, on ever other numbers of ranks: all visit what one rank visits, in its order.
BOOST_AUTO_TEST_CASE(positions_are_of_examples) {
  const auto options = [](bool dispatch, bool split) {
    return AcceleratorOptions{.split_batches = split, .dispatch_batches = dispatch, .seed = 5};
  };
  std::vector<float> whole;
  {
    Accelerator a(options(false, false));
    auto batches = a.prepare(data::DataLoader(numbers(60), {.batch_size = 2, .shuffle = true}));
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& [x, y] : batches)
        for (const float v : values_of(x)) whole.push_back(v);
  }
  BOOST_TEST(std::set<float>(whole.begin(), whole.begin() + 60).size() == 60u);
  for (const bool split : {false, true}) {
    std::vector<float> visited;
    const test::Folder folder;
    for (const int ranks : {1, 2, 4, 2, 3, 1, 1, 1, 2, 4, 1}) {
      Seen seen(ranks);
      distributed::run_ranks(ranks, [&] {
        Accelerator a(options(false, split));
        auto batches =
            a.prepare(data::DataLoader(numbers(60), {.batch_size = split ? 12 : 2, .shuffle = true}));
        a.register_for_checkpointing("loader", batches);
        const int64_t step = a.load_state(folder.path()).value_or(0);
        int read = 0;
        while (read < 2)
          for (const auto& [x, y] : batches) {
            seen.add(values_of(x));
            if (++read == 2) break;
          }
        (void)a.save_state(folder.path(), step + 1);
      });
      for (const float v : seen.together()) visited.push_back(v);
    }
    BOOST_TEST(visited.size() > 80u);
    if (visited.size() > whole.size()) visited.resize(whole.size());
    BOOST_TEST(
        visited == std::vector<float>(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(visited.size())),
        boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(skipped_batches) {
  for (const bool dispatch : {false, true})
    for (const int ranks : {1, 2}) {
      Seen seen(ranks);
      distributed::run_ranks(ranks, [&] {
        Accelerator a({.dispatch_batches = dispatch});
        auto batches = a.prepare(data::DataLoader(numbers(12), {.batch_size = 2}));
        for (const auto& [x, y] : a.skip_first_batches(batches, 2)) seen.add(values_of(x));
        for (const auto& [x, y] : batches) seen.add(values_of(x));  // that was of one loop
        throws<ShapeError>("-1 batches", [&] { a.skip_first_batches(batches, -1); });
      });
      std::vector<float> expected;
      for (int i = 4 * ranks; i < 12; ++i) expected.push_back(static_cast<float>(i));
      for (int i = 0; i < 12; ++i) expected.push_back(static_cast<float>(i));
      BOOST_TEST(seen.together() == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(uneven_inputs) {
  for (const int64_t examples : {13, 12, 9, 5})
    for (const int steps : {1, 2}) {
      std::vector<std::vector<float>> weights(4);
      std::vector<int> batches_of(4);
      distributed::run_ranks(4, [&] {
        Accelerator a({.gradient_accumulation_steps = steps, .even_batches = false});
        manual_seed(1);
        Net net;
        optim::SGD optimizer(net.named_parameters(), {.lr = 0.1, .momentum = 0.9});
        a.prepare(net, optimizer);
        const Tensor x = arange(0, examples * 3, 1, float32).reshape({examples, 3}).eval();
        auto batches =
            a.prepare(data::DataLoader(data::TensorDataset(x / 30, x(_, 0).copy()), {.batch_size = 2}));
        const auto r = static_cast<size_t>(distributed::rank());
        a.join_uneven_inputs([&] {
          for (const auto& [inputs, targets] : batches) {
            const auto scope = a.accumulate();
            a.backward(mean(square(sum(net(inputs), 1) - targets)));
            a.step(optimizer), a.zero_grad(optimizer);
            ++batches_of[r];
          }
        });
        weights[r] = values_of(net);
        (void)distributed::all_reduce(ones({1})).eval();  // the ranks are where they were
        a.backward(sum(net(ones({1, 3}))));
        a.step(optimizer);
        check(values_of(distributed::all_reduce(net.out.weight.detach(), distributed::ReduceOp::max)) ==
                  values_of(distributed::all_reduce(net.out.weight.detach(), distributed::ReduceOp::min)),
              "optimizers are the same");
      });
      for (int64_t r = 0; r < 4; ++r) {
        const int64_t own = (examples + 3 - r) / 4;
        BOOST_TEST(batches_of[static_cast<size_t>(r)] == (own + 1) / 2);
      }
      for (const auto& w : weights) BOOST_TEST(w == weights[0], boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(gradients_that_are_not_exchanged) {
  distributed::run_ranks(2, [] {
    Accelerator a;
    Net net;
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    a.prepare(net, optimizer);
    const auto own = static_cast<float>(distributed::rank() + 1);
    {
      const auto scope = a.no_sync();
      a.backward(sum(net(full({1, 3}, own))));
    }
    check(values_of(net.out.weight.grad()) == std::vector<float>(6, own), "each rank's own");
    a.backward(sum(net(full({1, 3}, own))));
    check(values_of(net.out.weight.grad()) == std::vector<float>(6, 3), "the mean of the sums");
  });
}

BOOST_AUTO_TEST_CASE(processes) {
  distributed::run_ranks(3, [] {
    Accelerator a;
    const int rank = distributed::rank();
    check(a.local_process_index() == rank && a.is_local_main_process() == (rank == 0), "on this machine");
    check(a.is_last_process() == (rank == 2), "the last");
    static std::atomic<int> calls, first;
    if (rank == 0) calls = first = 0;
    a.wait_for_everyone();
    a.on_main_process([] { calls += 1; });
    a.on_local_main_process([] { calls += 10; });
    a.on_last_process([] { calls += 100; });
    a.on_process(1, [] { calls += 1000; });
    a.wait_for_everyone();
    check(calls == 1111, "each once");
    const int seen = a.main_process_first([&] { return first++; });
    check((seen == 0) == (rank == 0), "the main process is first");
    a.wait_for_everyone();
    const int local = a.local_main_process_first([&] { return first++; });
    check((local == 3) == (rank == 0), "on this machine, too");
    // Its exception is not swallowed, and the others go on.
    bool thrown = false;
    try {
      a.main_process_first([&] {
        if (rank == 0) throw std::runtime_error("none");
      });
    } catch (const std::runtime_error&) { thrown = true; }
    check(thrown == (rank == 0), "on the main process");
    check(!a.check_trigger(), "nothing yet");
    if (rank == 1) a.set_trigger();
    check(a.check_trigger(), "on all");
    check(!a.check_trigger(), "once");
    Net net;
    check(&a.unwrap_model(net) == &net, "there is no wrapper");
  });
}

BOOST_AUTO_TEST_CASE(padding) {
  distributed::run_ranks(3, [] {
    Accelerator a;
    const int64_t n = distributed::rank() + 1;
    const Tensor x = full({2, n}, static_cast<float>(n));
    const Tensor behind = a.pad_across_processes(x, 1, -1), before = a.pad_across_processes(x, -1, 0, true);
    check(behind.shape() == Shape{2, 3} && before.shape() == Shape{2, 3}, "as many as rank 2 has");
    const auto own = static_cast<float>(n);
    for (int64_t i = 0; i < 3; ++i) {
      check(behind(1, i).item<float>() == (i < n ? own : -1), "behind");
      check(before(1, i).item<float>() == (i >= 3 - n ? own : 0), "before");
    }
    check(values_of(a.gather(behind)).size() == 18, "can be gathered");
    throws<IndexError>("axis 2 of [2, ", [&] { (void)a.pad_across_processes(x, 2); });
  });
}

BOOST_AUTO_TEST_CASE(schedules) {
  for (const bool split : {false, true})
    distributed::run_ranks(2, [&] {
      Accelerator a({.gradient_accumulation_steps = 2, .split_batches = split});
      Net net;
      optim::SGD optimizer(net.named_parameters(), {.lr = 1.0});
      optim::lr_scheduler::StepLR schedule(optimizer, 1, 0.5);
      a.prepare(net, optimizer);
      for (int i = 0; i < 4; ++i) {
        const auto scope = a.accumulate();
        a.backward(sum(net(ones({1, 3}))));
        a.step(optimizer), a.step(schedule), a.zero_grad(optimizer);
      }
      check(optimizer.lr() == (split ? 0.25 : 0.0625), "two steps, of two ranks each");
    });
}

BOOST_AUTO_TEST_CASE(trackers) {
  const test::Folder folder;
  distributed::run_ranks(2, [&] {
    Accelerator a({.log_with = {"csv", "tensorboard"}, .project_dir = folder.path()});
    a.init_trackers("run", {{"lr", "0.1"}});
    a.log({{"loss", 0.5}, {"a,b", 2.0}}, 1);
    const Tensor loss = distributed::all_reduce(ones({})) * 0.25;
    a.log({{"loss", loss}}, 2);
    a.end_training();
    Accelerator wrong({.log_with = {"paper"}});
    throws<Error>("tensorboard and csv, not paper", [&] { wrong.init_trackers("x"); });
    a.wait_for_everyone();
  });
  std::stringstream text, config;
  text << std::ifstream(folder / "run/log.csv").rdbuf();
  config << std::ifstream(folder / "run/config.json").rdbuf();
  BOOST_TEST(text.str() == "step,name,value\n1,\"a,b\",2\n1,loss,0.5\n2,loss,0.5\n");
  BOOST_TEST(config.str() == "{\n \"lr\": \"0.1\"\n}\n");
  BOOST_TEST(folder.files("", "run").size() == 3u);
}

BOOST_AUTO_TEST_CASE(files_of_models) {
  const test::Folder folder;
  NamedTensors first;
  distributed::run_ranks(2, [&] {
    Accelerator a;
    nn::Linear model{100, 10};
    nn::Linear same{100, 10};
    a.save_model(model, folder / "one");
    a.save_model(model, folder / "many", 3000);
    same.load_state_dict(load_safetensors(folder / "one/model.safetensors"));
    check(values_of(same.weight) == values_of(model.weight) || distributed::rank(), "the main process's");
    check(a.get_state_dict(model).size() == 2, "weight and bias");
    a.wait_for_everyone();
    a.save_model(model, folder / "one", 1000);  // takes the place of the other
    throws<Error>("at most 0 bytes", [&] { a.save_model(model, folder / "one", 0); });
    throws<IoError>(distributed::rank() ? "the main process could not" : "cannot make",
                    [&] { a.save_model(model, "/dev/null/x"); });
  });
  BOOST_TEST(folder.files("", "one").size() == 3u);
  BOOST_TEST(folder.files("", "many").size() == 3u);
  const auto index = load_safetensors_index(folder / "many/model.safetensors.index.json");
  BOOST_TEST(index.size() == 2u);
  BOOST_TEST(index.at("weight").size() == 1000);
}

BOOST_AUTO_TEST_CASE(what_was_prepared_is_forgotten) {
  const test::Folder folder;
  Accelerator a;
  {
    Net net;
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    a.prepare(net, optimizer);
    a.free_memory();
  }
  (void)a.save_state(folder / "empty");
  BOOST_TEST(a.load_state(folder / "empty").has_value());
}

BOOST_AUTO_TEST_CASE(one_bar_of_all_ranks) {
  std::string shown;
  std::mutex mutex;
  distributed::run_ranks(3, [&] {
    training::Progress bar(2, "",
                           {.write = distributed::is_main_process()
                                         ? std::function<void(std::string_view)>([&](std::string_view t) {
                                             const std::lock_guard lock(mutex);
                                             shown += t;
                                           })
                                         : nullptr});
    bar.update(distributed::all_reduce(ones({1})));
    bar.update(1.0);
  });
  BOOST_TEST(shown.find("2/2") != shown.npos);
}

// Optimizers that share their state out, too, go on on any number of ranks, as one rank that was never
// stopped.
BOOST_AUTO_TEST_CASE(sharded_optimizers) {
  struct Deep : nn::Module {
    nn::Linear a{7, 13}, ab{13, 5}, out{5, 1};
    LAZY_MODULE(a, ab, out)
    Tensor operator()(const Tensor& x) const { return out(tanh(ab(tanh(a(x))))); }
  };
  const auto first = [] {
    manual_seed(3);
    const Deep net;
    const NamedTensors state = net.state_dict();
    for (const auto& [name, value] : state) (void)value.eval();
    return state;
  }();
  const auto x_of = [](int64_t step) {
    Generator g(static_cast<uint64_t>(step) + 40);
    return randn(g, {12, 7}).eval();
  };
  for (const DType dtype : {float32, bfloat16}) {
    const test::Folder folder;
    const auto run = [&](int64_t steps, const std::string& path, std::vector<float>& losses) {
      Accelerator a;
      Deep net;
      net.load_state_dict(first);
      if (dtype != float32) net.to(dtype);
      distributed::ZeroOptimizer optimizer(net,
                                           [&](const optim::ParameterList& p) {
                                             return std::make_unique<optim::AdamW>(
                                                 p, optim::AdamWOptions{.lr = 0.02});
                                           },
                                           {.bucket_bytes = 200, .first_bucket_bytes = 100});
      a.prepare(net, optimizer);
      const int64_t from = path.empty() ? 0 : a.load_state(path).value_or(0);
      const int64_t share = 12 / distributed::world_size(), me = distributed::rank();
      for (int64_t i = from; i < from + steps; ++i) {
        const Tensor x = x_of(i)(slice(me * share, (me + 1) * share));
        const Tensor loss = mean(square(net(x.astype(dtype)).astype(float32) - sum(x, 1, true)));
        a.backward(loss);
        a.clip_grad_norm_(net.named_parameters(), 1.0);
        a.step(optimizer), a.zero_grad(optimizer);
        const float all = a.reduce(loss.detach(), distributed::ReduceOp::mean).item<float>();
        if (me == 0) losses.push_back(all);
      }
      if (!path.empty()) (void)a.save_state(path, from + steps);
    };
    std::vector<float> calm, wild;
    if (dtype == float32) run(18, "", calm);
    else distributed::run_ranks(2, [&] { run(18, "", calm); });
    std::vector<int> worlds{4, 2, 1, 3, 1, 4};
    if (dtype != float32) worlds = {4, 2, 3, 2, 4, 3};  // one rank has master weights of its own
    for (const int ranks : worlds) distributed::run_ranks(ranks, [&] { run(3, folder.path(), wild); });
    BOOST_REQUIRE(wild.size() == calm.size());
    for (size_t i = 0; i < calm.size(); ++i)
      BOOST_TEST(std::abs(wild[i] - calm[i]) <= (dtype == float32 ? 2e-5f : 2e-2f) * (1 + calm[i]),
                 wild[i] << " after step " << i << ", expected " << calm[i]);
  }
}

// On one rank the accelerator's loop records what the plain one does.
BOOST_AUTO_TEST_CASE(nothing_more_on_one_rank) {
  const auto counts = [](const auto& f) {
    for (int i = 0; i < 2; ++i) f();
    const auto before = metrics();
    f();
    const auto after = metrics();
    return std::pair(after.nodes_recorded - before.nodes_recorded, after.launches - before.launches);
  };
  const auto set = [] {
    const Tensor x = arange(0, 48, 1, float32).reshape({16, 3}).eval();
    return data::TensorDataset(x, x(_, 0).copy().eval());
  }();
  const auto plain = counts([&] {
    manual_seed(1);
    Net net;
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.1});
    data::DataLoader batches(set, {.batch_size = 4});
    for (const auto& [x, y] : batches) {
      mean(square(sum(net(x), 1) - y)).backward();
      optimizer.step();
      optimizer.zero_grad();
    }
    eval(net.out.weight);
  });
  const auto accelerated = counts([&] {
    manual_seed(1);
    Accelerator a({.even_batches = false});
    Net net;
    optim::AdamW optimizer(net.named_parameters(), {.lr = 0.1});
    a.prepare(net, optimizer);
    auto batches = a.prepare(data::DataLoader(set, {.batch_size = 4}));
    a.join_uneven_inputs([&] {
      for (const auto& [x, y] : batches) {
        const auto scope = a.accumulate();
        a.backward(mean(square(sum(net(x), 1) - y)));
        a.step(optimizer);
        a.zero_grad(optimizer);
      }
    });
    eval(net.out.weight);
  });
  BOOST_TEST(plain.first == accelerated.first);
  BOOST_TEST(plain.second == accelerated.second);
}

BOOST_AUTO_TEST_SUITE_END()
