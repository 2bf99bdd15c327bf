// Tests what goldens of torch can't contain: channels last, dtypes that torch refuses, mixed ones, edges.
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

Tensor wave(const Shape& shape, double frequency = 0.37) {
  return sin(reshape(arange(0, numel(shape), 1, float32), shape) * frequency).eval();
}
Tensor to_last(const Tensor& x) { return permute_dims(x, {0, 2, 3, 1}).eval(); }
Tensor to_first(const Tensor& x) { return permute_dims(x, {0, 3, 1, 2}); }
/// Permutes weights (O, C, H, W) to (H, W, C, O).
Tensor weights_to_last(const Tensor& w) { return permute_dims(w, {2, 3, 1, 0}).eval(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(network_options)

BOOST_AUTO_TEST_CASE(channels_last_is_the_same) {
  const Tensor image = wave({2, 4, 7, 6}), w = wave({6, 4, 2, 3}, 0.7), half = wave({6, 2, 2, 3}, 0.7),
               bias = wave({6}, 0.3);
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular})
    for (const bool same : {false, true})
      for (const int groups : {1, 2}) {
        ConvOptions o{.groups = groups, .bias = bias, .padding_mode = mode};
        if (same) o.padding = same_padding;
        else o.padding = {1, 2};
        const Tensor& k = groups == 1 ? w : half;
        const Tensor y = conv2d(image, k, o);
        o.layout = channels_last;
        check::close(to_first(conv2d(to_last(image), weights_to_last(k), o)), y.to_vector<double>(), 2e-6);
      }
  for (const Interpolation mode : {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic}) {
    const Tensor y = interpolate(image, {.size = {5, 11}, .mode = mode});
    check::same(
        to_first(interpolate(to_last(image), {.size = {5, 11}, .mode = mode, .layout = channels_last})), y);
  }
  for (const bool counts : {false, true}) {
    PoolOptions o{.stride = 2, .padding = 1, .count_padding = counts, .ceil_mode = true};
    const Tensor y = avg_pool(image, 3, o), z = max_pool(image, 3, o);
    o.layout = channels_last;
    check::same(to_first(avg_pool(to_last(image), 3, o)), y);
    check::same(to_first(max_pool(to_last(image), 3, o)), z);
  }
  const Tensor flat = reshape(image, {2, 4, 42}), mean = wave({4}), var = square(wave({4}, 0.2));
  check::same(permute_dims(batch_norm(permute_dims(flat, {0, 2, 1}), mean, var, {}, {}, 1e-5, channels_last),
                           {0, 2, 1}),
              batch_norm(flat, mean, var));
}

BOOST_AUTO_TEST_CASE(integers_and_bools) {
  const Tensor i = tensor({-4, 0, 3}), b = tensor({true, false});
  check::equal(leaky_relu(i, 0.5), float32, {3}, {-2, 0, 3});
  check::equal(relu6(i * 3), float32, {3}, {0, 0, 6});
  check::close(softmax(b, 0), {0.7310585786300049, 0.2689414213699951}, 1e-7);
  check::equal(mse_loss(i, 1), float32, {}, {10});
  check::equal(linear(i, tensor({{1, 2, 3}, {0, 0, -1}}), tensor({10, 20})), int64, {2}, {15, 17});
  check::equal(pad(b, {1, 0}), bool_, {3}, {0, 1, 0});
  check::equal(pad(i, {0, 2}, PadMode::constant, 7), int64, {5}, {-4, 0, 3, 7, 7});
  check::equal(interpolate(reshape(i, {1, 1, 3}), {.size = 6}), int64, {1, 1, 6}, {-4, -4, 0, 0, 3, 3});
  check::equal(pixel_shuffle(reshape(arange(4), {4, 1, 1}), 2), int64, {1, 2, 2}, {0, 1, 2, 3});
  check::equal(conv1d(reshape(i, {1, 1, 3}), ones({1, 1, 2}, int64),
                      {.padding = same_padding, .bias = tensor({1}), .padding_mode = PadMode::replicate}),
               int64, {1, 1, 3}, {-3, 4, 7});
  const check::DefaultDType wide(float64);
  BOOST_TEST((silu(i).dtype() == float64));
}

BOOST_AUTO_TEST_CASE(dtypes_promote) {
  const Tensor x = ones({2, 3}, bfloat16), w = ones({3}, float32);
  BOOST_TEST((layer_norm(x, {3}).dtype() == bfloat16));
  BOOST_TEST((layer_norm(x, {3}, w).dtype() == float32));
  BOOST_TEST((cross_entropy(x, zeros({2}, int64)).dtype() == bfloat16));
  BOOST_TEST((cross_entropy(x, ones({2, 3}, float64)).dtype() == float64));
  BOOST_TEST((softmax(x, 0, float64).dtype() == float64));
  BOOST_TEST((conv1d(ones({1, 1, 3}), ones({1, 1, 1}), {.bias = ones({1}, float64)}).dtype() == float64));
  const BatchNormResult b = batch_norm_training(x, zeros({3}, float64), ones({3}, float64));
  BOOST_TEST((b.output.dtype() == bfloat16));
  BOOST_TEST((b.running_mean.dtype() == float64));
  BOOST_TEST(!batch_norm_training(x).running_var.defined());
}

// The mean of float16 values whose sum overflows, and logits whose exponentials do.
BOOST_AUTO_TEST_CASE(nothing_overflows) {
  check::equal(mse_loss(full({300}, 200.0, float16), zeros({300}, float16)), float16, {}, {40000});
  check::equal(layer_norm(tensor({{60000.0, 60000.0}}, float16), {2}), float16, {1, 2}, {0, 0});
  check::equal(cross_entropy(tensor({{1e30, 0.0}}, float32), tensor({0})), float32, {}, {-0.0});
  check::equal(softplus(tensor({1000.0f})), float32, {1}, {1000});
  check::equal(mish(tensor({1000.0f, -1000.0f})), float32, {2}, {1000, -0.0});
  check::equal(logsigmoid(tensor({-1000.0f, 1000.0f})), float32, {2}, {-1000, 0});
}

BOOST_AUTO_TEST_CASE(scalars_and_temporaries) {
  check::equal(relu6(7.0f), float32, {}, {6});
  check::equal(softmax(3.0f, 0), float32, {}, {1});
  const Tensor x = wave({3, 4});
  const uint64_t live = metrics().bytes_live;
  Tensor y = softmax(silu(x * 2) + 1, 1);
  y.eval();
  BOOST_TEST(metrics().bytes_live - live <= 3u * 4 * 4 + 64);  // nothing in between is kept
  check::same(layer_norm(Tensor(x), {4}), layer_norm(x, {4}));
}

BOOST_AUTO_TEST_CASE(padding_beyond_one_reflection) {
  const Tensor x = tensor({1, 2, 3});
  check::equal(pad(x, {2, 2}, PadMode::reflect), int64, {7}, {3, 2, 1, 2, 3, 2, 1});
  check::equal(pad(x, {3, 3}, PadMode::circular), int64, {9}, {1, 2, 3, 1, 2, 3, 1, 2, 3});
  check::equal(pad(x, {0, 4}, PadMode::replicate), int64, {7}, {1, 2, 3, 3, 3, 3, 3});
  check::equal(pad(x, {-1, 2}, PadMode::replicate), int64, {4}, {2, 3, 3, 3});
  check::equal(pad(x, {}), int64, {3}, {1, 2, 3});
  check::equal(pad(reshape(x, {1, 3}), {1, 1, 1, 0}, PadMode::replicate), int64, {2, 5},
               {1, 1, 2, 3, 3, 1, 1, 2, 3, 3});
}

BOOST_AUTO_TEST_SUITE_END()
