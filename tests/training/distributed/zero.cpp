// Tests sharded optimizers: the losses of one rank with whole batches, equal to the bit on all ranks; memory
// by formula; accumulation, clipping, 16-bit parameters. And batch norms with the statistics of all ranks.
#include "lazy/distributed/zero.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "lazy/distributed/data_parallel.hpp"
#include "lazy/distributed/sync_batch_norm.hpp"
#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/training/distributed/first_values.hpp"
#include "tests/training/distributed/on_any_thread.hpp"

using namespace lazy;
using distributed::ZeroOptimizer;
using test::check;

namespace {

struct Net : nn::Module {
  nn::Linear first{11, 33}, seldom{33, 33}, out{33, 5};
  LAZY_MODULE(first, seldom, out)
  Tensor operator()(const Tensor& x) const { return out(gelu(first(x))); }
};
struct Normed : nn::Module {
  nn::Conv2d conv{2, 6, 3, {.padding = 1}};
  nn::BatchNorm2d norm{6};
  nn::Linear out{6, 5};
  LAZY_MODULE(conv, norm, out)
  Tensor operator()(const Tensor& x) { return out(mean(relu(norm(conv(x))), {2, 3})); }
};

Tensor drawn(int step, const Shape& shape) {
  Generator g(static_cast<uint64_t>(step) + 100);
  return randn(g, shape).eval();
}

struct Trained {
  std::vector<float> losses, weights;
  std::vector<double> scales;
};
template <class N>
std::vector<float> weights_of(N& net) {
  std::vector<float> all;
  for (const ParameterRef& p : net.parameters())
    for (const float v : p->astype(float32).template to_vector<float>()) all.push_back(v);
  return all;
}

ZeroOptimizer::Make make_of(const std::string& name, bool master) {
  return [=](const optim::ParameterList& p) -> std::unique_ptr<optim::Optimizer> {
    if (name == "SGD") return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
    return std::make_unique<optim::AdamW>(p, optim::AdamWOptions{.lr = 1e-2, .master_weights = master});
  };
}

struct How {
  std::string optimizer = "AdamW";
  int stage = 2, batches = 1;
  bool clips = false;
  DType dtype = float32;
  int64_t bucket = 25 << 20;
  bool scales = false;  // by a GradScaler, with gradients of single elements that are infinite now and then
};

/// Trains on this rank's share of each batch.
Trained train(const How& how, int steps, int64_t n) {
  const int ranks = distributed::world_size(), me = distributed::rank();
  Net net;
  net.load_state_dict(test::first_values<Net>());
  if (how.dtype != float32) net.to(how.dtype);
  if (me) net.out.bias = net.out.bias + 1.0f;  // rank 0's values count
  ZeroOptimizer optimizer(net, make_of(how.optimizer, ranks == 1),
                          {.stage = how.stage, .bucket_bytes = how.bucket, .first_bucket_bytes = how.bucket});
  GradScaler scaler({.init_scale = 1024, .growth_interval = 4, .enabled = how.scales});
  Trained t;
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    Tensor total = zeros({});
    for (int k = 0; k < how.batches; ++k) {
      const Tensor x = drawn(i * how.batches + k, {n, 11}), y = argmax(x(_, slice(0, 5)), 1);
      const int64_t share = n / ranks;
      const Slice mine = slice(me * share, (me + 1) * share);
      const Tensor loss = cross_entropy(net(x(mine).astype(how.dtype)).astype(float32), y(mine)) /
                          static_cast<float>(how.batches);
      Tensor scaled = scaler.scale(loss);
      if (how.scales && i % 5 == 3 && me == ranks - 1) scaled = scaled + net.first.bias[4] * INFINITY;
      if (how.scales && i % 7 == 2 && me == 0) scaled = scaled + net.out.bias[1] * NAN;
      if (k + 1 < how.batches) {
        const auto scope = optimizer.no_sync();
        optimizer.backward(scaled);
      } else {
        optimizer.backward(scaled);
      }
      total = total + loss.detach();
    }
    if (how.scales && how.clips) optimizer.unscale_(scaler);
    if (how.clips) (void)optimizer.clip_grad_norm_(0.5);
    if (how.scales) optimizer.step(scaler), scaler.update(), t.scales.push_back(scaler.get_scale());
    else optimizer.step();
    t.losses.push_back(distributed::all_reduce(total, distributed::ReduceOp::mean).item<float>());
  }
  t.weights = weights_of(net);
  return t;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_zero)

BOOST_AUTO_TEST_CASE(as_one_rank_with_whole_batches) {
  std::vector<How> all;
  for (const char* const optimizer : {"SGD", "AdamW"})
    for (const int stage : {1, 2}) {
      all.push_back({optimizer, stage});
      all.push_back({optimizer, stage, 3, true, float32, 1000});
    }
  all.push_back({"AdamW", 2, 1, false, bfloat16, 1000});
  for (const bool clips : {false, true}) all.push_back({"AdamW", 2, 1, clips, float32, 1000, true});
  all.push_back({"SGD", 1, 1, false, float32, 1000, true});
  for (const How& how : all)
    BOOST_TEST_CONTEXT(how.optimizer << ", stage " << how.stage << " x " << how.batches) {
      const Trained alone = train(how, 30, 24);
      const float near = how.dtype == float32 ? 1e-5f : 3e-2f;
      for (const int ranks : {2, 3, 4}) {
        std::vector<Trained> each(static_cast<size_t>(ranks));
        distributed::run_ranks(ranks,
                               [&] { each[static_cast<size_t>(distributed::rank())] = train(how, 30, 24); });
        for (const Trained& t : each)
          BOOST_TEST(t.weights == each[0].weights, boost::test_tools::per_element());
        BOOST_TEST(each[0].scales == alone.scales, boost::test_tools::per_element());
        for (size_t i = 0; i < alone.losses.size(); ++i)
          BOOST_TEST(std::abs(each[0].losses[i] - alone.losses[i]) < near * (1 + alone.losses[i]));
      }
    }
}

// A rank holds of Adam's state, and of gradients, what belongs to its shards.
BOOST_AUTO_TEST_CASE(a_rank_holds_its_share) {
  for (const int ranks : {2, 4})
    distributed::run_ranks(ranks, [&] {
      Net net;
      net.load_state_dict(test::first_values<Net>());
      ZeroOptimizer optimizer(net, make_of("AdamW", false),
                              {.bucket_bytes = 3000, .first_bucket_bytes = 1000});
      optimizer.backward(sum(net(drawn(1, {4, 11}))));
      optimizer.step();
      int64_t parameters = 0, own = 0, state = 0;
      for (const ParameterRef& p : net.parameters()) {
        parameters += p->size();
        check(!p->grad().defined(), "no whole gradients");
      }
      for (const ZeroOptimizer::Shard& s : optimizer.shards()) {
        own += s.end - s.begin;
        check(s.size > 0 && !s.parameters.empty(), "of a bucket");
      }
      for (const auto& [name, value] : optimizer.state_dict())
        if (name.find("exp_avg") != std::string::npos) state += value.size();
      const auto buckets = static_cast<int64_t>(optimizer.shards().size());
      check(state <= 2 * (parameters / ranks + buckets * ranks), "state of " + std::to_string(state));
      check(state >= 2 * own, "all of the shards");
      const Tensor all = distributed::all_reduce(full({}, own, int64));
      check(all.item<int64_t>() == parameters, "shards make the whole");
    });
}

BOOST_AUTO_TEST_CASE(mistakes) {
  Net net;
  BOOST_CHECK_THROW(ZeroOptimizer(net, make_of("SGD", false), {.stage = 3}), Error);
  ZeroOptimizer alone(net, make_of("SGD", false));
  BOOST_CHECK_THROW((void)alone.clip_grad_norm_(-1), Error);
  BOOST_TEST(alone.shards().empty());
  distributed::run_ranks(2, [] {
    Net frozen;
    for (const ParameterRef& p : frozen.parameters()) p->requires_grad_(false);
    try {
      ZeroOptimizer z(frozen, make_of("SGD", false));
      check(false, "nothing was thrown");
    } catch (const Error& e) {
      check(std::string(e.what()).find("no parameters") != std::string::npos, e.what());
    }
  });
}

// The batch's statistics are those of all ranks together: outputs, gradients and running statistics are those
// of one rank with the whole batch, also where the ranks' parts are of different sizes.
BOOST_AUTO_TEST_CASE(batch_norms_of_all_ranks) {
  const auto run = [](const Tensor& x, const Slice& mine, std::vector<float>& out) {
    Normed net;
    net.load_state_dict(test::first_values<Normed>());
    check(distributed::sync_batch_norms(net) == 1, "one norm");
    const Tensor y = net(x(mine));
    const double weight = static_cast<double>(distributed::world_size());
    // Means of gradients over ranks: each rank's loss counts as often as there are ranks.
    distributed::DataParallel parallel(net);
    parallel.backward(sum(y * y) * weight);
    for (const ParameterRef& p : net.parameters())
      for (const float v : p->grad().to_vector<float>()) out.push_back(v);
    for (const Tensor& t : {net.norm.running_mean, net.norm.running_var})
      for (const float v : t.to_vector<float>()) out.push_back(v);
  };
  const Tensor x = drawn(3, {12, 2, 5, 5}) * 3 + 1;
  std::vector<float> alone;
  run(x, slice(), alone);
  for (const int ranks : {2, 3, 4}) {
    std::vector<std::vector<float>> each(static_cast<size_t>(ranks));
    distributed::run_ranks(ranks, [&] {
      const int me = distributed::rank();
      // 1, 2, 3, ... and what is left.
      const int64_t begin = me * (me + 1) / 2, end = me + 1 == ranks ? 12 : begin + me + 1;
      run(x, slice(begin, end), each[static_cast<size_t>(me)]);
    });
    for (const auto& values : each) {
      BOOST_REQUIRE(values.size() == alone.size());
      for (size_t i = 0; i < values.size(); ++i)
        BOOST_TEST(std::abs(values[i] - alone[i]) < 2e-4f * (1 + std::abs(alone[i])), i);
    }
  }
  distributed::run_ranks(2, [] {
    try {
      (void)distributed::sync_batch_norm(ones({3}));
      check(false, "nothing was thrown");
    } catch (const ShapeError& e) {
      check(std::string(e.what()).find("(N, C, ...)") != std::string::npos, e.what());
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
