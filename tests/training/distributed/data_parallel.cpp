// Tests training on several ranks: the same losses and weights as on one rank with whole batches, equal to
// the bit on all; parameters that a loss does not depend on; several batches to a step; buckets.
#include "lazy/distributed/data_parallel.hpp"

#include "lazy/distributed/global_mean.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/training/distributed/first_values.hpp"
#include "tests/training/distributed/on_any_thread.hpp"

using namespace lazy;
using test::check;

namespace {

struct Net : nn::Module {
  nn::Conv2d conv{1, 4, 3, {.padding = 1}};
  nn::Linear hidden{4 * 6 * 6, 32}, seldom{32, 32}, out{32, 5};
  LAZY_MODULE(conv, hidden, seldom, out)
  Tensor operator()(const Tensor& x, bool deep = false) const {
    Tensor h = relu(hidden(relu(conv(x)).reshape({x.size(0), 4 * 6 * 6})));
    if (deep) h = relu(seldom(h));
    return out(h);
  }
};

const NamedTensors& first_values() { return test::first_values<Net>(7); }

struct Batch {
  Tensor x, y;
};
Batch batch_of(int step, int64_t n) {
  Generator g(static_cast<uint64_t>(step) + 100);
  const Tensor x = randn(g, {n, 1, 6, 6});
  return {x.eval(), argmax(sum(x, {1, 2})(_, slice(0, 5)), 1).eval()};
}

using Make = std::function<std::unique_ptr<optim::Optimizer>(Net&)>;

struct Trained {
  std::vector<float> losses, weights;
};
std::vector<float> weights_of(Net& net) {
  std::vector<float> all;
  for (const ParameterRef& p : net.parameters())
    for (float v : p->to_vector<float>()) all.push_back(v);
  return all;
}

/// Trains on this rank's share of each batch; the losses are the means of all ranks.
Trained train(const Make& make, int steps, int64_t n, const distributed::DataParallelOptions& o, bool clips) {
  const int ranks = distributed::world_size(), me = distributed::rank();
  Net net;
  net.load_state_dict(first_values());
  if (me) net.out.bias = net.out.bias + 1.0f;  // rank 0's values count
  distributed::DataParallel parallel(net, o);
  const auto optimizer = make(net);
  Trained t;
  for (int i = 0; i < steps; ++i) {
    const Batch b = batch_of(i, n);
    const int64_t share = n / ranks;
    const Slice mine = slice(me * share, (me + 1) * share);
    optimizer->zero_grad();
    const Tensor loss = cross_entropy(net(b.x(mine)), b.y(mine));
    parallel.backward(loss);
    if (clips) optim::clip_grad_norm_(net.parameters(), 0.5);
    optimizer->step();
    t.losses.push_back(distributed::all_reduce(loss.detach(), distributed::ReduceOp::mean).item<float>());
  }
  t.weights = weights_of(net);
  return t;
}

const std::vector<std::pair<const char*, Make>>& optimizers() {
  static const std::vector<std::pair<const char*, Make>> all = {
      {"SGD",
       [](Net& n) {
         return std::make_unique<optim::SGD>(n.named_parameters(),
                                             optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
       }},
      {"AdamW", [](Net& n) {
         return std::make_unique<optim::AdamW>(n.named_parameters(), optim::AdamWOptions{.lr = 1e-2});
       }}};
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_data_parallel)

BOOST_AUTO_TEST_CASE(as_one_rank_with_whole_batches) {
  for (const auto& [name, make] : optimizers())
    for (const int64_t bucket : {int64_t{1}, int64_t{8000}, int64_t{25} << 20})
      for (const bool clips : {false, true}) BOOST_TEST_CONTEXT(name << ", buckets of " << bucket) {
          const distributed::DataParallelOptions o{.bucket_bytes = bucket, .first_bucket_bytes = bucket};
          const Trained alone = train(make, 20, 24, o, clips);
          for (const int ranks : {2, 3, 4}) {
            std::vector<Trained> all(static_cast<size_t>(ranks));
            distributed::run_ranks(ranks, [&] {
              all[static_cast<size_t>(distributed::rank())] = train(make, 20, 24, o, clips);
            });
            for (const Trained& t : all)
              BOOST_TEST(t.weights == all[0].weights, boost::test_tools::per_element());
            for (size_t i = 0; i < alone.losses.size(); ++i)
              BOOST_TEST(std::abs(all[0].losses[i] - alone.losses[i]) < 1e-4f * (1 + alone.losses[i]));
          }
        }
}

BOOST_AUTO_TEST_CASE(buckets_go_from_the_last_parameter) {
  distributed::run_ranks(2, [] {
    Net net;
    const distributed::DataParallel parallel(net, {.bucket_bytes = 6000, .first_bucket_bytes = 700});
    const auto buckets = parallel.buckets();
    check(buckets[0] == std::vector<std::string>{"out.bias", "out.weight"}, "the first bucket");
    size_t count = 0;
    for (const auto& b : buckets) count += b.size();
    check(count == 8, "all parameters");
    check(buckets.back().back() == "conv.weight", "the last one");
  });
}

// Each example counts alike, however many a rank has; in several batches to a step, too.
BOOST_AUTO_TEST_CASE(means_over_all_ranks) {
  const auto gradients = [](int64_t from, int64_t to, int64_t cut) {
    Net net;
    net.load_state_dict(test::first_values<Net>());
    distributed::DataParallel parallel(net);
    const Batch b = batch_of(1, 24);
    const Tensor count = full({}, to - from, int64);
    const auto loss = [&](int64_t first, int64_t last) {
      const Slice mine = slice(first, last);
      return distributed::global_mean(cross_entropy(net(b.x(mine)), b.y(mine), {.reduction = Reduction::sum}),
                                      count);
    };
    if (cut > from) {
      const auto alone = parallel.no_sync();
      parallel.backward(loss(from, cut));
    }
    parallel.backward(loss(std::max(cut, from), to));
    std::vector<float> all;
    for (const ParameterRef& p : {net.conv.weight.ref(), net.hidden.weight.ref(), net.out.bias.ref()})
      for (const float v : p->grad().to_vector<float>()) all.push_back(v);
    return all;
  };
  const std::vector<float> whole = gradients(0, 24, 0);
  for (const int64_t cut : {0, 3})
    distributed::run_ranks(2, [&] {
      const std::vector<float> mine = distributed::rank() ? gradients(5, 24, 5 + cut) : gradients(0, 5, cut);
      check(mine.size() == whole.size(), "as many gradients");
      for (size_t i = 0; i < mine.size(); ++i)
        check(std::abs(mine[i] - whole[i]) < 1e-5f * (1 + std::abs(whole[i])),
              "gradient " + std::to_string(i));
    });
  BOOST_CHECK_THROW((void)distributed::global_mean(ones({2}), ones({})), ShapeError);
}

// A rank's loss may leave out what another's depends on, or all may.
BOOST_AUTO_TEST_CASE(unused_parameters) {
  for (const int deep_rank : {-1, 0, 1})
    distributed::run_ranks(2, [&] {
      Net net;
      net.load_state_dict(first_values());
      distributed::DataParallel parallel(net, {.bucket_bytes = 1, .first_bucket_bytes = 1});
      const Batch b = batch_of(1, 8);
      for (int i = 0; i < 3; ++i) parallel.backward(sum(net(b.x, distributed::rank() == deep_rank)));
      const Tensor g = net.seldom.weight.grad(), gathered = distributed::all_gather(g.reshape({1, -1}));
      check(g.defined(), "a gradient of zeros");
      check(all(gathered(0) == gathered(1)).item<bool>(), "the same on both");
      check((max(abs(g)).item<float>() > 0) == (deep_rank >= 0), "of the rank that uses it");
    });
}

BOOST_AUTO_TEST_CASE(several_batches_to_a_step) {
  (void)first_values();
  const auto gradients = [](int batches, bool paused) {
    std::vector<float> all;
    distributed::run_ranks(2, [&] {
      Net net;
      net.load_state_dict(first_values());
      distributed::DataParallel parallel(net);
      for (int i = 0; i < batches; ++i) {
        const Batch b = batch_of(i * 2 + distributed::rank(), 8);
        const Tensor loss = cross_entropy(net(b.x), b.y) / static_cast<float>(batches);
        if (paused && i + 1 < batches) {
          const auto scope = parallel.no_sync();
          parallel.backward(loss);
        } else {
          parallel.backward(loss);
        }
      }
      if (distributed::rank() == 0)
        for (const ParameterRef& p : net.parameters())
          if (p->grad().defined())
            for (float v : p->grad().to_vector<float>()) all.push_back(v);
      distributed::barrier();
    });
    return all;
  };
  // The mean of the sums, once; the mean of what was summed so far, thrice, is another thing.
  std::vector<float> expected;
  {
    Net net;
    net.load_state_dict(first_values());
    Tensor loss = zeros({});
    for (int i = 0; i < 6; ++i) {
      const Batch b = batch_of(i, 8);
      loss = loss + cross_entropy(net(b.x), b.y) / 6.0f;
    }
    loss.backward();
    for (const ParameterRef& p : net.parameters())
      if (p->grad().defined())
        for (float v : p->grad().to_vector<float>()) expected.push_back(v);
      else expected.insert(expected.end(), static_cast<size_t>(p->size()), 0.0f);
  }
  const auto got = gradients(3, true);
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-5f);
}

BOOST_AUTO_TEST_CASE(alone_it_does_nothing) {
  Net net;
  distributed::DataParallel parallel(net);
  BOOST_TEST(parallel.buckets().empty());
  const Batch b = batch_of(1, 8);
  parallel.backward(sum(net(b.x)));
  BOOST_TEST(!net.seldom.weight.grad().defined());
  BOOST_TEST(net.out.weight.grad().defined());
}

BOOST_AUTO_TEST_SUITE_END()
