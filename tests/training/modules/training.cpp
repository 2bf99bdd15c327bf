// Trains models of layers: what a step flushes and compiles, and what it leaves alone.
#include <sstream>

#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"

namespace {

using namespace lazy;

struct Net : nn::Module {
  nn::Conv2d conv{1, 4, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d norm{4};
  nn::Dropout drop{0.25};
  nn::Linear out{64, 3};
  LAZY_MODULE(conv, norm, drop, out)
  Tensor operator()(const Tensor& x) { return out(drop(relu(norm(conv(x))).reshape({x.size(0), 64}))); }
};

/// Describes a batch with labels that depend on it.
struct Batch {
  Tensor x, labels;
  explicit Batch(uint64_t seed, int64_t n = 16) {
    Generator g(seed);
    x = randn(g, {n, 1, 4, 4});
    labels = argmax(sum(x, {1, 2})(_, slice(0, 3)), 1);
    lazy::eval(x, labels);
  }
};

/// Records a step of gradient descent and returns its loss.
Tensor step(Net& net, const Batch& b, double rate) {
  net.zero_grad();
  Tensor loss = cross_entropy(net(b.x), b.labels);
  loss.backward();
  const no_grad scope;
  for (const ParameterRef& p : net.parameters()) *p -= rate * p->grad();
  return loss;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(modules_training)

BOOST_AUTO_TEST_CASE(a_step_is_one_flush_of_one_program) {
  Net net;
  double first = 0, last = 0;
  uint64_t misses = 0;
  for (int i = 0; i < 40; ++i) {
    const Batch batch(static_cast<uint64_t>(i) + 1);
    Tensor loss;
    {
      const no_flush recording;  // nothing is read
      loss = step(net, batch, 0.2 / (1 + 0.01 * i));
    }
    const uint64_t flushes = metrics().flushes;
    const double value = loss.item<double>();
    BOOST_TEST(metrics().flushes == flushes + 1);
    for (const ParameterRef& p : net.parameters()) (void)p->eval();
    lazy::eval(net.norm.running_mean, net.norm.running_var);
    BOOST_TEST(metrics().flushes == flushes + 1, "the state is not part of the step's flush");
    if (i == 2) misses = metrics().program_misses;
    if (i < 5) first += value;
    if (i >= 35) last += value;
  }
  BOOST_TEST(metrics().program_misses == misses);
  BOOST_TEST(last < 0.75 * first);
  check::equal(net.norm.num_batches_tracked, int64, {}, {40});
}

BOOST_AUTO_TEST_CASE(copies_are_trained_apart) {
  Net net;
  Net copy = net;
  const Batch batch(7);
  const std::vector<float> weight = net.out.weight.to_vector<float>(),
                           mean = net.norm.running_mean.to_vector<float>();
  check::same(copy.out.weight, net.out.weight);
  (void)step(copy, batch, 0.5).item<float>();
  BOOST_TEST(net.out.weight.to_vector<float>() == weight);
  BOOST_TEST(net.norm.running_mean.to_vector<float>() == mean);
  BOOST_TEST(!net.out.weight.grad().defined());
  BOOST_TEST(copy.out.weight.to_vector<float>() != weight);
  BOOST_TEST(copy.norm.running_mean.to_vector<float>() != mean);
  BOOST_TEST(copy.out.weight.grad().defined());
  net = copy;
  check::same(net.out.weight, copy.out.weight);
  (void)step(net, batch, 0.5).item<float>();
  BOOST_TEST(copy.out.weight.to_vector<float>() != net.out.weight.to_vector<float>());
}

BOOST_AUTO_TEST_CASE(references_follow_moves) {
  std::vector<Net> nets(1);
  const std::vector<ParameterRef> parameters = nets[0].parameters();
  nets.reserve(100);
  Net moved = std::move(nets[0]);
  for (size_t i = 0; i < parameters.size(); ++i) BOOST_TEST((parameters[i] == moved.parameters()[i]));
  BOOST_TEST(parameters[0].get() == &moved.conv.weight);
  const std::vector<float> before = moved.conv.weight.to_vector<float>();
  (void)step(moved, Batch(3), 0.5).item<float>();
  BOOST_TEST(parameters[0]->to_vector<float>() != before);
}

BOOST_AUTO_TEST_CASE(frozen_parameters_stay) {
  Net net;
  net.conv.requires_grad_(false);
  BOOST_TEST(net.num_parameters() == 4 * 9 + 4 + 4 + 64 * 3 + 3);
  BOOST_TEST(net.num_parameters(true) == 4 + 4 + 64 * 3 + 3);
  Tensor loss = mean(net(Batch(1).x));
  loss.backward();
  BOOST_TEST(!net.conv.weight.grad().defined());
  BOOST_TEST(net.out.weight.grad().defined());
  net.zero_grad();
  BOOST_TEST(!net.out.weight.grad().defined());
  Net copy = net;
  BOOST_TEST(copy.num_parameters(true) == net.num_parameters(true));
}

BOOST_AUTO_TEST_CASE(evaluation_draws_and_changes_nothing) {
  Net net;
  net.eval();
  const Tensor x = Batch(1).x;
  const uint64_t position = default_generator().position();
  const Tensor mean = net.norm.running_mean;
  const no_grad scope;
  check::same(net(x), net(x));
  BOOST_TEST(default_generator().position() == position);
  check::same(net.norm.running_mean, mean);
  check::equal(net.norm.num_batches_tracked, int64, {}, {0});
}

BOOST_AUTO_TEST_CASE(statistics_count_on_where_they_were_loaded) {
  nn::BatchNorm1d norm{2, {.momentum = std::nullopt}};
  NamedTensors state = norm.state_dict();
  state.set("num_batches_tracked", tensor(3));
  norm.load_state_dict(state);
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 6.0}});
  (void)norm(x);
  check::equal(norm.num_batches_tracked, int64, {}, {4});
  check::close(norm.running_mean, {0.5, 1}, 1e-6);  // a fourth of the batch's, for the fourth batch
  nn::BatchNorm1d copy = norm;
  (void)copy(x);
  check::equal(copy.num_batches_tracked, int64, {}, {5});
  check::equal(norm.num_batches_tracked, int64, {}, {4});
}

BOOST_AUTO_TEST_CASE(one_layer_can_be_in_evaluation) {
  Net net;
  net.norm.eval();  // keeps its statistics while the others are trained
  const Tensor mean = net.norm.running_mean;
  (void)step(net, Batch(5), 0.1).item<float>();
  check::same(net.norm.running_mean, mean);
  BOOST_TEST(net.training());
  BOOST_TEST(!net.norm.training());
}

// The example of docs/modules.md and lazy/nn/modules/module.hpp.
BOOST_AUTO_TEST_CASE(the_pages_example) {
  struct Net : nn::Module {
    nn::Linear hidden{784, 512}, out{512, 10};
    nn::Dropout drop{0.1};
    LAZY_MODULE(hidden, drop, out)
    Tensor operator()(const Tensor& x) const { return out(drop(relu(hidden(x)))); }
  };
  const Tensor images = lazy::rand({4, 784}), labels = arange(4);
  lazy::eval(images, labels);

  Net net;
  Tensor loss = cross_entropy(net(images), labels);
  loss.backward();
  {
    const no_grad scope;
    for (const ParameterRef& p : net.parameters()) *p -= 0.1 * p->grad();
  }
  net.zero_grad();
  std::ostringstream out;
  const uint64_t flushes = metrics().flushes;
  out << loss.item<float>() << "\n" << net;
  BOOST_TEST(metrics().flushes == flushes + 1);
  BOOST_TEST(out.str().find("# 407050 parameters") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
