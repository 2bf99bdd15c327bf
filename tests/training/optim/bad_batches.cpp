// Tests steps that cannot be computed because of an index out of range: training goes on as if the batch had
// not been there, with the same bits.
#include "tests/training/optim/golden.hpp"

using namespace lazy;
using namespace lazy::optim;

namespace {

Tensor wave(const Shape& shape, double frequency) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

/// Is a table of vectors and a layer that tells classes.
struct Net {
  Parameter table{wave({10, 16}, 1.7)}, w{wave({16, 4}, 0.9)}, b{wave({4}, 0.1)};
  std::vector<std::pair<std::string, ParameterRef>> named_parameters() {
    return {{"table", table.ref()}, {"w", w.ref()}, {"b", b.ref()}};
  }
  std::vector<ParameterRef> parameters() { return {table.ref(), w.ref(), b.ref()}; }
  Tensor loss(const Tensor& tokens, const Tensor& labels) const {
    return cross_entropy(matmul(tanh(embedding(tokens, table)), w) + b, labels);
  }
};

std::vector<float> all_values(const Net& m) {
  std::vector<float> all;
  for (const Parameter* p : {&m.table, &m.w, &m.b})
    for (float v : p->to_vector<float>()) all.push_back(v);
  return all;
}

struct Batch {
  Tensor tokens, labels;
};
std::vector<Batch> good_batches() {
  std::vector<Batch> all;
  for (int i = 0; i < 6; ++i)
    all.push_back({tensor({i, 1, 9 - i, 3}).eval(), tensor({i % 4, 3, 0, 1}).eval()});
  return all;
}
const Batch bad_label = {tensor({1, 2, 3, 4}), tensor({0, 4, 1, 2})},
            bad_token = {tensor({1, 10, 3, 4}), tensor({0, 3, 1, 2})};

void step(Optimizer& o, const Net& net, const Batch& batch, Tensor& loss) {
  o.zero_grad();
  loss = net.loss(batch.tokens, batch.labels);
  loss.backward();
  o.step();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bad_batches)

BOOST_AUTO_TEST_CASE(are_as_if_they_had_not_been) {
  for (const auto& [name, make] : golden::optimizers()) BOOST_TEST_CONTEXT(name) {
      if (name == "LBFGS") continue;
      Net net, expected;
      const auto o = make(net.named_parameters()), as_expected = make(expected.named_parameters());
      int i = 0;
      Tensor loss;
      for (const Batch& batch : good_batches()) {
        step(*as_expected, expected, batch, loss);
        eval(loss);
        step(*o, net, batch, loss);
        eval(loss);
        step(*o, net, i++ % 2 ? bad_label : bad_token, loss);
        BOOST_CHECK_THROW(eval(loss), IndexError);
        BOOST_CHECK_THROW(eval(loss), IndexError);  // it stays what it is
      }
      BOOST_TEST(all_values(net) == all_values(expected), boost::test_tools::per_element());
      const NamedTensors state = o->state_dict(), other = as_expected->state_dict();
      for (const auto& [key, value] : state) BOOST_TEST(array_equal(value, other.at(key)).item<bool>(), key);
    }
}

// A loop that reads a value now and then loses the steps from the bad one to the value that is read.
BOOST_AUTO_TEST_CASE(end_a_run_of_steps_without_values) {
  Net net, expected;
  Adam o(net.named_parameters(), {.lr = 0.01}), as_expected(expected.named_parameters(), {.lr = 0.01});
  const std::vector<Batch> good = good_batches();
  Tensor loss;
  for (const int i : {0, 1, 4}) step(as_expected, expected, good[static_cast<size_t>(i)], loss);
  step(o, net, good[0], loss);
  step(o, net, good[1], loss);
  step(o, net, bad_label, loss);
  step(o, net, good[3], loss);
  BOOST_CHECK_THROW(eval(loss), IndexError);
  step(o, net, good[4], loss);
  BOOST_TEST(all_values(net) == all_values(expected), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(leave_averages_alone) {
  Net net, expected;
  SGD o(net.named_parameters(), {.lr = 0.1}), as_expected(expected.named_parameters(), {.lr = 0.1});
  AveragedModel<Net> average(net, 0.9), expected_average(expected, 0.9);
  Tensor loss;
  for (const Batch& batch : good_batches()) {
    step(as_expected, expected, batch, loss);
    expected_average.update_parameters(expected);
    eval(loss);
    step(o, net, batch, loss);
    average.update_parameters(net);
    eval(loss);
    step(o, net, bad_label, loss);
    average.update_parameters(net);
    BOOST_CHECK_THROW(eval(loss), IndexError);
  }
  BOOST_TEST(all_values(average.module) == all_values(expected_average.module),
             boost::test_tools::per_element());
}

// The gradient that a bad batch was added to is none; other optimizers' steps and values stay.
BOOST_AUTO_TEST_CASE(touch_nothing_else) {
  Net net, other;
  Adam o(net.named_parameters(), {.lr = 0.01}), another(other.named_parameters(), {.lr = 0.01});
  const std::vector<Batch> good = good_batches();
  Tensor loss, fine;
  step(o, net, good[1], loss);
  eval(loss);
  o.zero_grad();
  step(another, other, good[0], fine);
  net.loss(good[0].tokens, good[0].labels).backward();
  loss = net.loss(bad_label.tokens, bad_label.labels);
  loss.backward();
  BOOST_CHECK_THROW(eval(loss), IndexError);
  BOOST_TEST(!net.w.grad().defined());
  Net alone;
  Adam as_alone(alone.named_parameters(), {.lr = 0.01});
  step(as_alone, alone, good[0], loss);
  BOOST_TEST(all_values(other) == all_values(alone), boost::test_tools::per_element());
  // A parameter that was given another value since keeps that.
  const std::vector<float> bias = net.b.to_vector<float>();
  step(o, net, bad_label, loss);
  {
    const no_grad scope;
    net.w = ones({16, 4});
  }
  BOOST_CHECK_THROW(eval(loss), IndexError);
  BOOST_TEST(all(net.w == 1).item<bool>());
  BOOST_TEST(net.b.to_vector<float>() == bias, boost::test_tools::per_element());
}

// LBFGS evaluates the loss within its step, before it changes anything.
BOOST_AUTO_TEST_CASE(end_a_step_of_lbfgs_before_it_begins) {
  Net net, other;
  LBFGS o(net.named_parameters()), another(other.named_parameters());
  const std::vector<Batch> good = good_batches();
  const auto step = [](LBFGS& of, const Net& n, const Batch& b) {
    return of.step([&] {
      of.zero_grad();
      const Tensor loss = n.loss(b.tokens, b.labels);
      loss.backward();
      return loss;
    });
  };
  step(o, net, good[0]).eval();
  step(another, other, good[0]).eval();
  BOOST_CHECK_THROW(step(o, net, bad_label).eval(), IndexError);
  BOOST_TEST(all_values(net) == all_values(other), boost::test_tools::per_element());
  step(o, net, good[1]).eval();
  step(another, other, good[1]).eval();
  BOOST_TEST(all_values(net) == all_values(other), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
