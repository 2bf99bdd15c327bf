// Tests that network functions stay lazy and fuse: how many kernels one flush takes, beside what the same
// formula takes when it is written by hand, and that new sizes and options compile nothing.
#include <functional>

#include "lazy/core/record.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

Tensor wave(const Shape& shape, double frequency = 0.37) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}

/// Returns the number of kernels of the one flush that computes f().
uint64_t kernels(const std::function<Tensor()>& f) {
  const Explanation e = explain([&] { f().eval(); });
  BOOST_REQUIRE_EQUAL(e.flushes.size(), 1u);
  return e.flushes[0].kernels;
}

struct Row {
  const char* what;
  uint64_t expected;
  std::function<Tensor()> function, by_hand;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(network_kernels)

BOOST_AUTO_TEST_CASE(as_many_as_by_hand) {
  const Tensor x = wave({64, 96}), b = wave({96}, 0.11), mask = wave({64, 96}, 0.73), w = wave({96}, 0.21),
               weights = wave({96, 10}, 0.17), labels = (arange(64) % 10).eval(), lw = wave({10, 96}),
               lb = wave({10});
  const Row rows[] = {
      {"softmax", 3, [&] { return softmax(x + b, -1) * mask; },
       [&] {
         const Tensor y = x + b, e = exp(y - max(y, {-1}, keepdims));
         return e / sum(e, {-1}, keepdims) * mask;
       }},
      {"log_softmax", 3, [&] { return log_softmax(x + b, -1) * mask; },
       [&] {
         const Tensor y = x + b, d = y - max(y, {-1}, keepdims);
         return (d - log(sum(exp(d), {-1}, keepdims))) * mask;
       }},
      {"layer_norm", 3, [&] { return layer_norm(x, {96}) * w + b; },
       [&] {
         const Tensor d = x - mean(x, {-1}, keepdims);
         return d * rsqrt(mean(d * d, {-1}, keepdims) + 1e-5) * w + b;
       }},
      {"layer_norm with weights", 3, [&] { return layer_norm(x, {96}, w, b); },
       [&] {
         const Tensor d = x - mean(x, {-1}, keepdims);
         return d * rsqrt(mean(d * d, {-1}, keepdims) + 1e-5) * w + b;
       }},
      {"rms_norm", 2, [&] { return rms_norm(x, {96}, w); },
       [&] { return x * rsqrt(mean(x * x, {-1}, keepdims) + 1e-6) * w; }},
      {"silu", 1, [&] { return silu(x + b) * mask; },
       [&] {
         const Tensor y = x + b;
         return y * sigmoid(y) * mask;
       }},
      {"mish", 1, [&] { return mish(x) + b; }, [&] { return x * tanh(log1p(exp(x))) + b; }},
      {"batch_norm", 2,  // one has the roots of variances, a number for each channel
       [&] { return batch_norm(x, w, w * w, w, b); }, [&] { return (x - w) * rsqrt(w * w + 1e-5) * w + b; }},
      {"mse_loss", 1, [&] { return mse_loss(x * 2, mask); }, [&] { return mean(square(x * 2 - mask)); }},
      {"cross_entropy", 4, [&] { return cross_entropy(matmul(x, weights), labels); },
       [&] {
         const Tensor y = matmul(x, weights), top = max(y, {1}, keepdims),
                      rest = log(sum(exp(y - top), {1}, keepdims));
         return -mean((take_along_axis(y, labels(_, newaxis), 1) - top) - rest);
       }},
      {"linear", 1, [&] { return relu6(linear(x, lw, lb)); },
       [&] { return clip(matmul(x, lw.T()) + lb, 0, 6); }},
      {"cdist", 1, [&] { return cdist(x, mask); },
       [&] { return sqrt(sum(square(x(_, newaxis, _) - mask(newaxis, _, _)), {-1})); }},
      {"interpolate", 3,  // two have the positions and weights along one axis each
       [&] {
         return interpolate(reshape(x, {1, 2, 32, 96}), {.size = {64, 64}, .mode = Interpolation::bilinear}) *
                2;
       },
       nullptr},
      {"reflect", 3,
       [&] {
         return pad(x, {2, 2, 1, 1}, PadMode::reflect) + 1;
       },
       nullptr},
      {"pixel_shuffle", 2,  // one copies: no strides say the result
       [&] {
         return pixel_shuffle(reshape(x, {1, 16, 16, 24}), 2) + 1;
       },
       nullptr},
  };
  for (const Row& r : rows) {
    const uint64_t n = kernels(r.function);
    BOOST_TEST(n == r.expected, r.what << " takes " << n << " kernels");
    if (r.by_hand) BOOST_TEST(n <= kernels(r.by_hand), r.what << " takes " << n << " kernels");
  }
}

// Sizes and options are arguments of the compiled program.
BOOST_AUTO_TEST_CASE(new_sizes_and_options_compile_nothing) {
  const auto all = [](int64_t n, double option) {
    const Tensor x = wave({n, n + 3}), labels = (arange(n) % 3).eval();
    leaky_relu(x, option).eval();
    softplus(x, option + 1).eval();
    softmax(x, 1).eval();
    layer_norm(x, {n + 3}, {}, {}, option).eval();
    cross_entropy(x, labels, {.label_smoothing = option}).eval();
    interpolate(reshape(x, {1, 1, n, n + 3}), {.size = {n + 5, n}, .mode = Interpolation::bilinear}).eval();
    pad(x, {2, 1, n / 2, 1}, PadMode::reflect).eval();
    pad(x, {2, 1, n / 2, 1}, PadMode::constant, option).eval();
  };
  all(17, 0.25);
  all(18, 0.5);
  const uint64_t misses = metrics().program_misses;
  all(23, 0.125);
  all(40, 0.75);
  BOOST_TEST(metrics().program_misses == misses);
}

BOOST_AUTO_TEST_CASE(only_recorded) {
  const Tensor x = wave({4, 6}), image = wave({1, 4, 6, 6}), labels = zeros({4}, int64);
  const uint64_t flushes = metrics().flushes;
  const no_flush guard;
  (void)softmax(x, 1);
  (void)batch_norm_training(x, ones({6}), ones({6}));
  (void)cross_entropy(x, labels, {.weight = ones({6}), .label_smoothing = 0.5});
  (void)conv2d(image, ones({2, 4, 2, 2}),
               {.padding = same_padding, .bias = ones({2}), .padding_mode = PadMode::circular});
  (void)interpolate(image, {.scale_factor = {1.5}, .mode = Interpolation::bicubic});
  (void)grid_sample(image, ones({1, 2, 2, 2}), {.padding = GridPadding::reflection});
  (void)triplet_margin_loss(x, x, x);
  (void)one_hot(labels, 3);
  BOOST_TEST(metrics().flushes == flushes);
}

// Functions are announced to observers as a whole, with the operands that the user gave.
BOOST_AUTO_TEST_CASE(announced) {
  struct Log : detail::Observer {
    std::vector<std::string> text;
    void recorded(const detail::Recorded&) override {}
    void begins(const char* name, std::span<const jit::Handle* const> o, const Site&) override {
      text.push_back(name + std::string("/") + std::to_string(o.size()));
    }
    void ends(const char* name, const jit::Handle* r, const detail::Derivative*) override {
      text.push_back(std::string(r ? "end of " : "no ") + name);
    }
  } log;
  const Tensor x = wave({4, 6}), v = wave({6});
  {
    const detail::Observing all(log);
    (void)softmax(x, 1);
    (void)layer_norm(x, {6}, v, v);
    (void)mse_loss(x, x);
    BOOST_CHECK_THROW((void)layer_norm(x, {6}, x), ShapeError);
  }
  const std::vector<std::string> expected{"softmax/1",         "end of softmax", "layer_norm/3",
                                          "end of layer_norm", "mse_loss/2",     "end of mse_loss",
                                          "layer_norm/3",      "no layer_norm"};
  BOOST_TEST(log.text == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
