// Trains models as torch does, from the same weights and on the same batches: losses of 200 steps are torch's
// (tools/parity/make.py curves), a step is one flush, and after the second nothing is
// compiled.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "cases.hpp"
#include "formula.hpp"
#include "lazy/optim/optim.hpp"

using namespace lazy;

namespace {

constexpr int kBatches = 8;

struct Batch {
  Tensor x, labels;
};

Batch batch_of(const std::string& model, int step) {
  const std::string name = "batch" + std::to_string(step % kBatches);
  if (model == "mlp") return {parity::uniform(name, {8, 12}), parity::integers("label" + name, {8}, 3)};
  if (model == "lenet")
    return {parity::uniform(name, {4, 1, 28, 28}), parity::integers("label" + name, {4}, 10)};
  if (model == "tagger") {
    const Tensor ids = parity::integers(name, {4, 7}, 20);
    return {ids, ids % 5};
  }
  const Tensor ids = parity::integers(name, {4, 12}, 30);
  return {ids(_, slice(0, 11)), ids(_, slice(1, 12))};
}

std::unique_ptr<optim::Optimizer> optimizer_of(const std::string& model, nn::Module& m) {
  if (model == "gpt2")
    return std::make_unique<optim::AdamW>(m.named_parameters(), optim::AdamWOptions{.lr = 1e-3});
  if (model == "tagger")
    return std::make_unique<optim::Adam>(m.named_parameters(), optim::AdamOptions{.lr = 1e-3});
  return std::make_unique<optim::SGD>(
      m.named_parameters(), optim::SGDOptions{.lr = model == "mlp" ? 0.01 : 0.002, .momentum = 0.9});
}

const std::vector<std::string> kTrained{"mlp", "lenet", "tagger", "gpt2"};

}  // namespace

BOOST_AUTO_TEST_SUITE(training_models)

BOOST_DATA_TEST_CASE(losses_of_training, boost::unit_test::data::make(kTrained), name) {
  const Safetensors golden =
      load_safetensors(std::string(LAZY_SOURCE_DIR) + "/tests/training/models/golden/curves.safetensors");
  const std::vector<float> expected = golden.at(std::string(name)).template to_vector<float>();
  parity::Case c = parity::build(name, false);
  parity::fill(*c.model);
  c.model->train();
  const auto optimizer = optimizer_of(name, *c.model);
  double worst = 0;
  for (size_t step = 0; step < expected.size(); ++step) {
    const Batch b = batch_of(name, static_cast<int>(step));
    eval(b.x, b.labels);
    const Metrics before = metrics();
    optimizer->zero_grad();
    const Tensor scores = c.run({b.x});
    const Tensor loss = cross_entropy(scores.reshape({-1, scores.size(-1)}), b.labels.reshape({-1}));
    loss.backward();
    optimizer->step();
    loss.eval();
    const Metrics after = metrics();
    BOOST_TEST(after.flushes - before.flushes == 1u,
               "step " << step << " is " << after.flushes - before.flushes << " flushes");
    if (step >= 2) BOOST_TEST(after.program_misses == before.program_misses, "step " << step << " compiles");
    const double difference = std::fabs(loss.item<double>() - expected[step]) / expected[step];
    worst = std::max(worst, difference);
  }
  BOOST_TEST_MESSAGE(name << ": losses differ by " << worst);
  BOOST_TEST(worst <= 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
