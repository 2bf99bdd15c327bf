// Tests that training gives the same bits on any number of threads.
#include <cstring>

#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

struct Net : nn::Module {
  nn::Conv2d conv{1, 8, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  nn::LSTM lstm{64, 48, {.batch_first = true}};
  nn::LayerNorm last{48};
  nn::Linear out{48, 10};
  LAZY_MODULE(conv, norm, lstm, last, out)
  Tensor operator()(const Tensor& x) {
    Tensor h = max_pool2d(relu(norm(conv(x))), 2);  // (N, 8, 16, 8)
    h = reshape(permute(h, {0, 2, 1, 3}), {x.size(0), 16, 64});
    return out(last(lstm(h).output(_, -1)));
  }
};

/// Returns all that training has changed after a few steps.
std::vector<std::vector<float>> trained(const char* threads) {
  const config::Override with("LAZY_NUM_THREADS", threads);
  manual_seed(3);
  Net net;
  optim::Adam optimizer(net.named_parameters(), {.lr = 0.01});
  const Tensor x = rand({64, 1, 32, 16}), t = randint(0, 10, {64});
  for (int i = 0; i < 5; ++i) {
    Tensor loss = cross_entropy(net(x), t);
    loss.backward();
    (void)optim::clip_grad_norm_(net.parameters(), 1.0);
    optimizer.step();
    optimizer.zero_grad();
    loss.eval();
  }
  std::vector<std::vector<float>> all;
  for (const auto& [name, value] : net.state_dict()) all.push_back(value.to_vector<float>());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training_threads)

BOOST_AUTO_TEST_CASE(same_bits) {
  const auto one = trained("1"), two = trained("2");
  BOOST_REQUIRE_EQUAL(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i)
    BOOST_TEST(std::memcmp(one[i].data(), two[i].data(), one[i].size() * sizeof(float)) == 0,
               "value " << i << " differs");
}

BOOST_AUTO_TEST_SUITE_END()
