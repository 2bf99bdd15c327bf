// Trains networks of images in channels-last memory: losses, weights and state as of row-major memory, and
// where they lie after a step and after loading.
#include <functional>

#include "lazy/lazy.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

struct Net : nn::Module {
  nn::Conv2d first{3, 8, 3, {.padding = 1}};
  nn::BatchNorm2d norm{8};
  nn::Conv2d depthwise{8, 8, 3, {.padding = 1, .groups = 8, .bias = false}};
  nn::Conv2d second{8, 6, {3, 2}, {.stride = 2}};
  nn::Linear out{6, 4};
  LAZY_MODULE(first, norm, depthwise, second, out)
  Tensor operator()(const Tensor& x) {
    const Tensor a = max_pool(relu(norm(first(x))), 2);
    return out(mean(gelu(second(a + depthwise(a))), {2, 3}));
  }
};

using Make = std::function<std::unique_ptr<optim::Optimizer>(Net&)>;

bool lies_last(const Tensor& t) { return t.is_contiguous(channels_last); }

}  // namespace

BOOST_AUTO_TEST_SUITE(modules_memory_format)

BOOST_AUTO_TEST_CASE(training_keeps_the_format) {
  const std::vector<std::pair<std::string, Make>> optimizers = {
      {"SGD",
       [](Net& n) {
         return std::make_unique<optim::SGD>(n.named_parameters(),
                                             optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
       }},
      {"AdamW", [](Net& n) {
         return std::make_unique<optim::AdamW>(n.named_parameters(), optim::AdamWOptions{.lr = 0.01});
       }}};
  for (const auto& [name, make] : optimizers) BOOST_TEST_CONTEXT(name) {
      Net plain, moved;
      moved.load_state_dict(plain.state_dict());
      moved.to_memory_format(channels_last);
      const auto a = make(plain), b = make(moved);
      uint64_t misses = 0;
      for (int i = 0; i < 12; ++i) {
        Generator g(static_cast<uint64_t>(i) + 3);
        const Tensor x = randn(g, {8, 3, 11, 9}), labels = (arange(0, 8, 1, int64) * (i + 1)) % 4;
        lazy::eval(x, labels);
        const auto loss = [&](Net& net, optim::Optimizer& o, const Tensor& image) {
          o.zero_grad();
          const Tensor l = cross_entropy(net(image), labels);
          l.backward();
          o.step();
          return l.item<float>();
        };
        const float expected = loss(plain, *a, x);
        if (i == 4) misses = metrics().program_misses;
        BOOST_TEST(loss(moved, *b, x.to_memory_format(channels_last)) == expected,
                   boost::test_tools::tolerance(2e-4f));
      }
      BOOST_TEST(metrics().program_misses ==
                 misses);  // a step that comes back as another format is another program
      for (const Tensor* w : {&static_cast<const Tensor&>(moved.first.weight),
                              &static_cast<const Tensor&>(moved.second.weight)})
        BOOST_TEST((lies_last(*w) && !w->is_contiguous()));
      for (const auto& [key, value] : b->state_dict())
        if (value.ndim() == 4 && value.size(1) > 1) BOOST_TEST_CONTEXT(key) {
            BOOST_TEST(lies_last(value));
          }
    }
}

BOOST_AUTO_TEST_CASE(loading_keeps_the_format) {
  Net from, to;
  to.to_memory_format(channels_last);
  to.load_state_dict(from.state_dict());
  const Tensor& w = to.first.weight;
  BOOST_TEST(lies_last(w));
  BOOST_TEST(w.to_vector<float>() == static_cast<const Tensor&>(from.first.weight).to_vector<float>(),
             boost::test_tools::per_element());
  // And back.
  to.to_memory_format(channels_first);
  BOOST_TEST(to.first.weight.eval().is_contiguous());
}

BOOST_AUTO_TEST_SUITE_END()
