// Trains a model of modules as docs/optim.md shows: optimizer, schedule, clipping and average in one flush.
#include "lazy/nn/nn.hpp"
#include "tests/training/optim/golden.hpp"

using namespace lazy;
using namespace lazy::optim;

namespace {

struct Net : nn::Module {
  nn::Linear hidden{8, 32};
  nn::BatchNorm1d norm{32};
  nn::Linear out{32, 4};
  LAZY_MODULE(hidden, norm, out)
  Tensor operator()(const Tensor& x) { return out(tanh(norm(hidden(x)))); }
};

Tensor wave(const Shape& shape, double frequency) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optim_model)

BOOST_AUTO_TEST_CASE(of_modules) {
  manual_seed(1);
  Net model;
  AdamW optimizer(model.named_parameters(), {.lr = 3e-2, .weight_decay = 0.01});
  lr_scheduler::LinearLR warm_up(optimizer, 0.01, 1.0, 5);
  lr_scheduler::CosineAnnealingLR cosine(optimizer, 35);
  lr_scheduler::SequentialLR schedule(optimizer, {&warm_up, &cosine}, {5});
  AveragedModel ema(model, 0.9);
  const Tensor x = wave({64, 8}, 0.11), y = x(_, slice(0, 4)) * 0.5;
  float first = 0, last = 0;
  uint64_t misses = 0;
  for (int i = 0; i < 40; ++i) {
    const uint64_t flushes = metrics().flushes;
    optimizer.zero_grad();
    const Tensor loss = mse_loss(model(x), y);
    loss.backward();
    clip_grad_norm_(model.parameters(), 1.0);
    optimizer.step();
    ema.update_parameters(model);
    schedule.step();
    last = loss.item<float>();
    BOOST_TEST(metrics().flushes == flushes + 1);
    if (i == 0) first = last;
    if (i == 2) misses = metrics().program_misses;
  }
  BOOST_TEST(metrics().program_misses == misses);
  BOOST_TEST(last < first * 0.1);
  BOOST_TEST(optimizer.state_dict().contains("state.hidden.weight.exp_avg"));
  // The average is near the model, and has its statistics.
  check::same(ema.module.norm.running_mean, model.norm.running_mean);
  ema.module.eval();
  BOOST_TEST(mse_loss(ema.module(x), y).item<float>() < first * 0.2);
  BOOST_TEST(ema.module.out.weight.to_vector<float>() != model.out.weight.to_vector<float>());
}

BOOST_AUTO_TEST_SUITE_END()
