// Tests that four ranks lose as one rank does that has whole batches, step by step: a residual network whose
// batch norms see all ranks, and a transformer; plain and sharded optimizers, clipped, with several batches a
// step, in bfloat16. LAZY_TEST_CASES is how many steps.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>

#include "lazy/amp/autocast.hpp"
#include "lazy/distributed/data_parallel.hpp"
#include "lazy/distributed/sync_batch_norm.hpp"
#include "lazy/distributed/zero.hpp"
#include "lazy/lazy.hpp"
#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/asked.hpp"
#include "tests/training/distributed/first_values.hpp"

using namespace lazy;

namespace {

constexpr int64_t kBatch = 16;

struct Batch {
  Tensor x, y;
};

struct Residual : nn::Module {
  models::ResNet net{models::ResNetConfig{.layers = {1, 1, 1, 1}, .width = 8, .classes = 5}};
  LAZY_MODULE(net)
  Tensor loss(const Batch& b) { return cross_entropy(net(b.x), b.y); }
  static Batch batch(Generator& g) {
    const Tensor x = randn(g, {kBatch, 3, 32, 32});
    return {x, argmax(mean(x, {1, 2})(_, slice(0, 5)), 1)};
  }
};
struct Text : nn::Module {
  models::GPT2 net{
      {.vocab_size = 40, .n_positions = 16, .n_embd = 32, .n_layer = 2, .n_head = 4, .dropout = 0}};
  LAZY_MODULE(net)
  Tensor loss(const Batch& b) { return cross_entropy(net(b.x).reshape({-1, 40}), b.y.reshape({-1})); }
  static Batch batch(Generator& g) {
    const Tensor from = randint(g, 0, 40, {kBatch, 1}), x = (from + arange(16) * 3) % 40;
    return {x, (x + 3) % 40};
  }
};

struct Way {
  const char* name;
  bool adam = true, clips = false, bfloat = false;
  int zero = 0;  // stage
  int batches = 1;
  double tolerance = 1e-5;
};
constexpr Way kWays[] = {{.name = "AdamW"},
                         {.name = "SGD, clipped", .adam = false, .clips = true},
                         {.name = "two batches a step", .batches = 2},
                         {.name = "ZeRO 1", .zero = 1},
                         {.name = "ZeRO 2, clipped", .clips = true, .zero = 2},
                         {.name = "bfloat16", .bfloat = true, .tolerance = 0.1}};

std::unique_ptr<optim::Optimizer> optimizer_of(const optim::ParameterList& p, bool adam) {
  if (adam) return std::make_unique<optim::AdamW>(p, optim::AdamWOptions{.lr = 1e-3});
  return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.02, .momentum = 0.9});
}

/// Trains on this rank's share of every batch, and returns the means of all ranks' losses.
template <class Model>
std::vector<double> losses(const Way& way, int steps) {
  const int ranks = distributed::world_size(), me = distributed::rank();
  Model model;
  model.load_state_dict(test::first_values<Model>(3));
  distributed::sync_batch_norms(model);
  std::unique_ptr<distributed::DataParallel> parallel;
  std::unique_ptr<distributed::ZeroOptimizer> zero;
  std::unique_ptr<optim::Optimizer> plain;
  if (way.zero) {
    zero = std::make_unique<distributed::ZeroOptimizer>(
        model, [&](const optim::ParameterList& p) { return optimizer_of(p, way.adam); },
        distributed::ZeroOptions{.stage = way.zero});
  } else {
    parallel = std::make_unique<distributed::DataParallel>(model);
    plain = optimizer_of(model.named_parameters(), way.adam);
  }
  Generator g(5);
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) {
    if (zero) zero->zero_grad();
    else plain->zero_grad();
    Tensor sum_of_losses;
    for (int b = 0; b < way.batches; ++b) {
      const Batch whole = Model::batch(g);
      const int64_t share = kBatch / ranks;
      const Slice mine = slice(me * share, (me + 1) * share);
      const autocast scope(way.bfloat);
      const Tensor loss = model.loss({whole.x(mine), whole.y(mine)}) / static_cast<double>(way.batches);
      {
        const autocast off(false);
        const auto backward = [&](auto& trainer) {
          if (b + 1 == way.batches) return trainer.backward(loss);
          const auto alone = trainer.no_sync();
          trainer.backward(loss);
        };
        if (zero) backward(*zero);
        else backward(*parallel);
      }
      sum_of_losses = sum_of_losses.defined() ? sum_of_losses + loss.detach() : loss.detach();
    }
    if (way.clips) {
      if (zero) zero->clip_grad_norm_(0.5);
      else optim::clip_grad_norm_(model.parameters(), 0.5);
    }
    if (zero) zero->step();
    else plain->step();
    all.push_back(distributed::all_reduce(sum_of_losses.astype(float32), distributed::ReduceOp::mean).item());
  }
  return all;
}

template <class Model>
void compare(int steps, bool learns) {
  for (const Way& way : kWays) BOOST_TEST_CONTEXT(way.name) {
      const std::vector<double> alone = losses<Model>(way, steps);
      std::vector<double> together;
      distributed::run_ranks(4, [&] {
        auto own = losses<Model>(way, steps);
        if (distributed::rank() == 0) together = std::move(own);
      });
      BOOST_REQUIRE(together.size() == alone.size());
      double worst = 0;
      for (size_t i = 0; i < alone.size(); ++i) worst = std::max(worst, std::abs(alone[i] - together[i]));
      BOOST_TEST_MESSAGE(way.name << ": from " << alone.front() << " to " << alone.back() << ", off by "
                                  << worst);
      BOOST_TEST(worst <= way.tolerance);
      if (learns) BOOST_TEST(alone.back() < alone.front());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_same_losses)

BOOST_AUTO_TEST_CASE(residual_network) { compare<Residual>(static_cast<int>(test::asked_cases(12)), false); }
BOOST_AUTO_TEST_CASE(transformer) { compare<Text>(static_cast<int>(test::asked_cases(30)), true); }

BOOST_AUTO_TEST_SUITE_END()
