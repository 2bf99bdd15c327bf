// Tests recurrent layers on a GPU: their steps are recorded there, and nothing goes through the host.
#include "lazy/nn/nn.hpp"
#include "tests/backends/cuda/on_gpu.hpp"

using namespace lazy;

BOOST_AUTO_TEST_SUITE(calls_elsewhere)

namespace {

/// Returns the outputs and gradients of a layer on the device.
template <class Layer>
std::vector<std::vector<float>> values_of(Layer layer, const Tensor& x, Device device) {
  layer.to(device);
  const auto out = layer(x.to(device));
  const Tensor loss = sum(square(out.output)) + sum(out.h_n);
  loss.backward();
  std::vector<Tensor> all{out.output, out.h_n};
  for (const auto& [name, p] : layer.named_parameters()) all.push_back(p->grad());
  eval(all);
  std::vector<std::vector<float>> values;
  for (const Tensor& t : all) {
    BOOST_TEST((t.device() == device));
    values.push_back(t.to_vector<float>());
  }
  return values;
}

template <class Layer>
void is_the_same_there(const nn::RecurrentOptions& options) {
  manual_seed(4);
  const Layer layer(3, 5, options);
  const Tensor x = rand({4, 2, 3}).eval();
  const auto here = values_of(layer, x, cpu);
  reset_metrics();
  const auto there = values_of(layer, x, cuda(0));
  BOOST_TEST(metrics().calls == 0u);
  BOOST_TEST(metrics().call_host_transfers == 0u);
  BOOST_TEST_REQUIRE(here.size() == there.size());
  for (size_t i = 0; i < here.size(); ++i)
    for (size_t k = 0; k < here[i].size(); ++k)
      BOOST_TEST(std::abs(here[i][k] - there[i][k]) <= 1e-5 * (1 + std::abs(here[i][k])));
}

}  // namespace

BOOST_AUTO_TEST_CASE(recurrent_layers_stay_on_the_device) {
  is_the_same_there<nn::LSTM>({.bidirectional = true, .proj_size = 2});
  is_the_same_there<nn::GRU>({});
  is_the_same_there<nn::RNN>({.bias = false});
}

BOOST_AUTO_TEST_SUITE_END()
