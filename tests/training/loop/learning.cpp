// Tests a whole loop: loader, transforms, modules, optimizer, schedule, progress and checkpoints. A step is
// one flush and one cached program, and a run that is cut and goes on from its checkpoint has the bits of one
// that was not.
#include "lazy/data/data.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "lazy/training/training.hpp"
#include "tests/common/check.hpp"
#include "tests/common/folder.hpp"

using namespace lazy;

namespace {

struct Net : nn::Module {
  nn::Conv2d conv{1, 4, 3, {.padding = 1}};
  nn::BatchNorm2d norm{4};
  nn::Dropout drop{0.2};
  nn::Linear out{4 * 3 * 3, 3};
  LAZY_MODULE(conv, norm, drop, out)
  Tensor operator()(const Tensor& x) { return out(drop(flatten(max_pool2d(relu(norm(conv(x))), 2), 1))); }
};

data::TensorDataset examples() {
  Generator g(4);
  const Tensor y = randint(g, 0, 3, {44});
  const Tensor x = randint(g, 0, 64, {44, 1, 6, 6}) + 60 * y(_, newaxis, newaxis, newaxis);
  return data::TensorDataset(x.astype(uint8), y);
}

/// Holds all that a run has.
struct Run {
  // Draws of the layers and of the loop; the order has its own.
  Run() { manual_seed(12); }

  data::TensorDataset set = examples();
  Generator order{5};
  Net model = (manual_seed(12), Net());
  optim::AdamW optimizer{model.named_parameters(), {.lr = 0.01}};
  optim::lr_scheduler::CosineAnnealingLR schedule{optimizer, 40};
  data::DataLoader<data::TensorDataset> loader{
      set, {.batch_size = 8, .shuffle = true, .drop_last = true, .workers = 2, .generator = &order}};
  std::vector<float> losses;

  void step(const data::Batch& b) {
    optimizer.zero_grad();
    Generator& g = default_generator();
    const Tensor x = data::random_horizontal_flip(g, data::random_crop(g, b.x, 1));
    const Tensor loss = cross_entropy(model(data::normalize(data::to_float(x), {0.4}, {0.3})), b.y);
    loss.backward();
    optim::clip_grad_norm_(model.parameters(), 1);
    optimizer.step();
    schedule.step();
    losses.push_back(loss.item<float>());
  }
  training::Checkpoint checkpoint(int64_t at) const {
    training::Checkpoint c(at);
    c.add("model", model).add("optimizer", optimizer).add("schedule", schedule).add("loader", loader);
    return c.add("order", order).add("draws", default_generator()), c;
  }
  void restore(const training::Checkpoint& c) {
    c.restore("model", model).restore("optimizer", optimizer).restore("schedule", schedule);
    c.restore("loader", loader).restore("order", order).restore("draws", default_generator());
  }
  /// Steps from one step to another; saves the checkpoint after step `keep`.
  void run(int64_t from, int64_t end, const std::string& path = "", int64_t keep = -1) {
    for (int64_t at = from; at < end;)
      for (const data::Batch& b : loader) {
        step(b);
        if (++at == keep) checkpoint(at).save(path);
        if (at == end) break;
      }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(learning)

BOOST_AUTO_TEST_CASE(one_flush_a_step_and_nothing_compiled) {
  Run r;
  int64_t steps = 0;
  for (int epoch = 0; epoch < 4; ++epoch)
    for (const data::Batch& b : r.loader) {
      const Metrics before = metrics();
      r.step(b);
      const Metrics after = metrics();
      BOOST_TEST(after.flushes - before.flushes == 1u, "step " << steps);
      if (++steps > 2) BOOST_TEST(after.program_misses == before.program_misses, "step " << steps);
    }
  BOOST_TEST(steps == 20);
  BOOST_TEST(r.losses.back() < 0.7 * r.losses.front());
}

BOOST_AUTO_TEST_CASE(goes_on_bit_for_bit) {
  const test::Folder folder;
  for (const int64_t at : {3, 5, 7}) BOOST_TEST_CONTEXT("after step " << at) {  // an epoch has five
      Run whole;
      whole.run(0, 13, folder / "c", at);
      Run rest;
      rest.restore(training::Checkpoint::load(folder / "c"));
      BOOST_TEST(rest.optimizer.lr() < 0.01);
      rest.run(at, 13);
      for (size_t i = 0; i < rest.losses.size(); ++i)
        BOOST_TEST(rest.losses[i] == whole.losses[i + static_cast<size_t>(at)]);
      const NamedTensors a = whole.model.state_dict(), b = rest.model.state_dict();
      for (const auto& [name, x] : a) BOOST_TEST_CONTEXT(name) {
          check::same(x, b.at(name));
        }
      const NamedTensors s = whole.optimizer.state_dict(), t = rest.optimizer.state_dict();
      for (const auto& [name, x] : s) BOOST_TEST_CONTEXT(name) {
          check::same(x, t.at(name));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
