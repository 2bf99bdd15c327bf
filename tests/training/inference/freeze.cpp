// Tests frozen models: what is folded and what isn't, that values are those of the model before, that weights
// are computed once, and what can't be done until a model is thawed.
#include "lazy/inference/freeze.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <thread>

#include "lazy/inference/replay.hpp"
#include "lazy/lazy.hpp"
#include "lazy/models/models.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/training/models/cases.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor waves(Shape shape, float factor = 1, float shift = 0) {
  return (sin(arange(1, numel(shape) + 1, 1, float32) * 0.7f) * factor + shift).reshape(shape).copy().eval();
}

/// Gives parameters and buffers values that differ, variances positive ones.
void fill_in(nn::Module& m) {
  const no_grad scope;
  float shift = 0.1f;
  NamedTensors state;
  for (const auto& [name, t] : m.state_dict()) {
    shift += 0.3f;
    const bool positive = name.ends_with("running_var");
    state.set(name, is_float(t.dtype()) && t.size() > 0
                        ? (waves(t.shape(), 0.4f, positive ? 1 : std::sin(shift))).astype(t.dtype())
                        : t);
  }
  m.load_state_dict(state);
}

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.astype(float32).to_vector<float>(), y = b.astype(float32).to_vector<float>();
  BOOST_REQUIRE_EQUAL(x.size(), y.size());
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    most = std::max(most, std::abs(double{x[i]} - y[i]) / std::max(1.0, std::abs(double{y[i]})));
  return most;
}

uint64_t folds() { return metrics().calls_folded; }

/// Freezes a model and compares its results with those before; `expected` is how often something is folded.
template <class M>
void compare(M& model, const Tensor& x, uint64_t expected, double most = 1e-4) {
  fill_in(model);
  model.eval();
  const Tensor before = [&] {
    const no_grad scope;
    return model(x).eval();
  }();
  inference::freeze(model);
  const uint64_t count = folds();
  const Tensor after = model(x).eval();
  BOOST_TEST(folds() - count == expected);
  BOOST_TEST(distance(after, before) <= most);
  if (expected == 0) BOOST_TEST(after.to_vector<float>() == before.to_vector<float>());
  inference::thaw(model);
  const no_grad scope;
  const Tensor thawed = model(x).eval();
  BOOST_TEST(folds() - count == expected);
  BOOST_TEST(thawed.to_vector<float>() == before.to_vector<float>(), boost::test_tools::per_element());
}

/// Checks that the call throws Error at this line, which names thaw().
template <class F>
void fails(F&& call, uint32_t line, const std::string& part = "thaw()") {
  try {
    call();
    BOOST_ERROR("nothing was thrown, expected: " + part);
  } catch (const Error& e) {
    const std::string text = e.what();
    BOOST_TEST(text.find(part) != text.npos, text);
    BOOST_TEST(text.find("freeze.cpp:" + std::to_string(line)) != text.npos,
               text << ", expected line " << line);
  }
}

template <class Conv, class Norm>
struct Pair : nn::Module {
  Conv conv;
  Norm norm;
  Pair(Conv c, Norm n) : conv(std::move(c)), norm(std::move(n)) {}
  LAZY_MODULE(conv, norm)
  Tensor operator()(const Tensor& x) { return relu(norm(conv(x))); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(frozen_models)

BOOST_AUTO_TEST_CASE(a_batch_norm_behind_a_convolution_is_folded) {
  for (const bool bias : {true, false})
    for (const bool affine : {true, false}) {
      Pair m(nn::Conv2d(3, 7, 3, {.padding = {1}, .bias = bias}), nn::BatchNorm2d(7, {.affine = affine}));
      compare(m, waves({2, 3, 9, 11}), 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
