// Tests that two and four ranks lose as one rank does that has whole batches, through 200 steps: a
// perceptron, a residual network whose batch norms see all ranks, and a transformer; by SGD and AdamW, plain,
// clipped, with several batches a step, sharded, in bfloat16. LAZY_TEST_CASES is how many steps.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
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
constexpr int kBatches = 8;  // that are visited in turn

struct Batch {
  Tensor x, y;
};

struct Perceptron : nn::Module {
  static constexpr DType kType = float32;
  static constexpr double kRate = 0.02;  // of SGD
  nn::Linear first{20, 64}, second{64, 64}, out{64, 5};
  LAZY_MODULE(first, second, out)
  Tensor loss(const Batch& b) { return cross_entropy(out(gelu(second(gelu(first(b.x))))), b.y); }
  static Batch batch(Generator& g) {
    const Tensor x = randn(g, {kBatch, 20});
    return {x, argmax(x(_, slice(0, 5)), 1)};
  }
};
// In float32 a value near 0 is now and then on the other side of a relu's bend, and 1e-7 become 1e-4.
struct Residual : nn::Module {
  static constexpr DType kType = float64;
  static constexpr double kRate = 2e-3;
  nn::Conv2d stem{3, 8, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  models::ResidualBlock first{8, 8, 1, false, Site::current()}, second{8, 16, 2, false, Site::current()};
  nn::Linear out{16, 5};
  LAZY_MODULE(stem, norm, first, second, out)
  Tensor loss(const Batch& b) {
    return cross_entropy(out(mean(second(first(relu(norm(stem(b.x))))), {2, 3})), b.y);
  }
  static Batch batch(Generator& g) {
    const Tensor y = randint(g, 0, 5, {kBatch});
    const Tensor x = randn(g, {kBatch, 3, 8, 8}) + (y.astype(float32) - 2).reshape({kBatch, 1, 1, 1});
    return {x, y};
  }
};
struct Text : nn::Module {
  static constexpr DType kType = float32;
  static constexpr double kRate = 0.02;
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
  bool clips = false, bfloat = false;
  int zero = 0;        // stage
  int batches = 1;     // to a step
  bool fixed = false;  // batch norms go by given statistics: those of a part of a batch are others
  double tolerance = 1e-5, alone = 1e-6;  // of ranks, and of one rank that has several batches a step
};
constexpr Way kWays[] = {{.name = "plain"},
                         {.name = "clipped", .clips = true},
                         {.name = "four batches a step", .batches = 4, .fixed = true},
                         {.name = "ZeRO 1", .zero = 1},
                         {.name = "ZeRO 2, clipped", .clips = true, .zero = 2},
                         {.name = "bfloat16", .bfloat = true, .tolerance = 0.05}};

std::unique_ptr<optim::Optimizer> optimizer_of(const optim::ParameterList& p, bool adam, double rate) {
  if (adam) return std::make_unique<optim::AdamW>(p, optim::AdamWOptions{.lr = 1e-3});
  return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = rate, .momentum = 0.9});
}

/// Trains on this rank's share of every batch, and returns the means of all ranks' losses.
template <class Model>
std::vector<double> losses(const Way& way, bool adam, int steps) {
  const int ranks = distributed::world_size(), me = distributed::rank();
  Model model;
  model.load_state_dict(test::first_values<Model>(3));
  const DType type = way.bfloat ? float32 : Model::kType;
  model.to(type);
  if (way.fixed) model.eval();
  distributed::sync_batch_norms(model);
  std::unique_ptr<distributed::DataParallel> parallel;
  std::unique_ptr<distributed::ZeroOptimizer> zero;
  std::unique_ptr<optim::Optimizer> plain;
  if (way.zero) {
    zero = std::make_unique<distributed::ZeroOptimizer>(
        model, [&](const optim::ParameterList& p) { return optimizer_of(p, adam, Model::kRate); },
        distributed::ZeroOptions{.stage = way.zero});
  } else {
    parallel = std::make_unique<distributed::DataParallel>(model);
    plain = optimizer_of(model.named_parameters(), adam, Model::kRate);
  }
  std::vector<Batch> data;
  Generator g(5);
  for (int i = 0; i < kBatches; ++i) {
    const Batch b = Model::batch(g);
    data.push_back({(is_float(b.x.dtype()) ? b.x.astype(type) : b.x).eval(), b.y.eval()});
  }
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) {
    if (zero) zero->zero_grad();
    else plain->zero_grad();
    const Batch& whole = data[static_cast<size_t>(i % kBatches)];
    Tensor sum_of_losses;
    for (int b = 0; b < way.batches; ++b) {
      const int64_t share = kBatch / way.batches / ranks, first = (b * ranks + me) * share;
      const Slice mine = slice(first, first + share);
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
    all.push_back(distributed::all_reduce(sum_of_losses.astype(type), distributed::ReduceOp::mean).item());
  }
  return all;
}

double worst_of(const std::vector<double>& a, const std::vector<double>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

/// Compares each way with one rank that has whole batches, and nothing sharded.
template <class Model>
void compare() {
  const int steps = static_cast<int>(test::asked_cases(200));
  std::map<std::array<bool, 4>, std::vector<double>> known;  // of one rank
  for (const bool adam : {false, true})
    for (const Way& way : kWays) BOOST_TEST_CONTEXT((adam ? "AdamW, " : "SGD, ") << way.name) {
        Way simple = way;
        simple.zero = 0, simple.batches = 1;
        std::vector<double>& alone = known[{adam, way.clips, way.bfloat, way.fixed}];
        if (alone.empty()) alone = losses<Model>(simple, adam, steps);
        if (way.batches > 1) {
          const double off = worst_of(alone, losses<Model>(way, adam, steps));
          BOOST_TEST_MESSAGE((adam ? "AdamW, " : "SGD, ") << way.name << ", one rank: off by " << off);
          BOOST_TEST(off <= way.alone);
        }
        for (const int ranks : {2, 4}) {
          std::vector<double> together;
          distributed::run_ranks(ranks, [&] {
            auto own = losses<Model>(way, adam, steps);
            if (distributed::rank() == 0) together = std::move(own);
          });
          const double off = worst_of(alone, together);
          BOOST_TEST_MESSAGE((adam ? "AdamW, " : "SGD, ")
                             << way.name << ", " << ranks << " ranks: from " << alone.front() << " to "
                             << alone.back() << ", off by " << off);
          BOOST_TEST(off <= way.tolerance);
        }
        if (steps >= 30) BOOST_TEST(alone.back() < alone.front());
      }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributed_same_losses)

BOOST_AUTO_TEST_CASE(perceptron) { compare<Perceptron>(); }
BOOST_AUTO_TEST_CASE(residual_network) { compare<Residual>(); }
BOOST_AUTO_TEST_CASE(transformer) { compare<Text>(); }

BOOST_AUTO_TEST_SUITE_END()
