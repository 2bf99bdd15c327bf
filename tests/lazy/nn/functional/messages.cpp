// Tests that network functions refuse what they should, say which function was called, and where: each is
// called with an empty tensor, and wrongly in its own ways. A test of the headers sees that none is missing.
#include <fstream>
#include <limits>
#include <regex>
#include <set>

#include "tests/common/check.hpp"
#include "tests/common/names_itself.hpp"

using namespace lazy;

namespace {

#define FAILS(E, function, ...) \
  names_itself<E>(              \
      #function, #function, [&] { (void)(function(__VA_ARGS__)); }, __LINE__)

// Other spellings use the first name of what they call.
#define CALLS(name, function, ...) \
  names_itself(                    \
      #function, #name, [&] { (void)(function(__VA_ARGS__)); }, __LINE__)

const Tensor nothing;
struct Operands {
  Tensor x = ones({2, 3}), v = ones({3}), u = ones({2, 3}, uint64), i = ones({2, 3}, int64), b = x > 0,
         image = ones({1, 4, 5, 6}), odd = ones({2, 5});
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(network_messages, Operands)

BOOST_AUTO_TEST_CASE(of_empty_tensors) {
  FAILS(Error, softmax, nothing, 0);
  FAILS(Error, log_softmax, nothing, 0);
  FAILS(Error, softmin, nothing, 0);
  FAILS(Error, silu, nothing);
  FAILS(Error, leaky_relu, nothing);
  FAILS(Error, elu, nothing);
  FAILS(Error, selu, nothing);
  FAILS(Error, celu, nothing);
  FAILS(Error, softplus, nothing);
  FAILS(Error, softsign, nothing);
  FAILS(Error, mish, nothing);
  FAILS(Error, hardtanh, nothing);
  FAILS(Error, hardsigmoid, nothing);
  FAILS(Error, hardswish, nothing);
  FAILS(Error, relu6, nothing);
  FAILS(Error, glu, nothing);
  FAILS(Error, prelu, nothing, 1.0);
  FAILS(Error, prelu, x, nothing);
  FAILS(Error, logsigmoid, nothing);
  FAILS(Error, tanhshrink, nothing);
  FAILS(Error, softshrink, nothing);
  FAILS(Error, hardshrink, nothing);
  FAILS(Error, threshold, nothing, 1, 0);
  FAILS(Error, gelu, nothing, Approximate::tanh);
  FAILS(Error, layer_norm, nothing, {3});
  FAILS(Error, rms_norm, nothing, {3});
  FAILS(Error, batch_norm, nothing, v, v);
  FAILS(Error, batch_norm, x, nothing, v);
  FAILS(Error, batch_norm, x, v, nothing);
  FAILS(Error, batch_norm_training, nothing);
  FAILS(Error, group_norm, nothing, 1);
  FAILS(Error, instance_norm, nothing);
  FAILS(Error, local_response_norm, nothing, 1);
  FAILS(Error, normalize, nothing);
  FAILS(Error, linear, nothing, x);
  FAILS(Error, linear, x, nothing);
  FAILS(Error, bilinear, nothing, x, x);
  FAILS(Error, bilinear, x, nothing, x);
  FAILS(Error, bilinear, x, x, nothing);
  FAILS(Error, embedding, nothing, x);
  FAILS(Error, embedding, i, nothing);
  FAILS(Error, one_hot, nothing, 3);
  FAILS(Error, cosine_similarity, nothing, x);
  FAILS(Error, cosine_similarity, x, nothing);
  FAILS(Error, pairwise_distance, nothing, x);
  FAILS(Error, pairwise_distance, x, nothing);
  FAILS(Error, cdist, nothing, x);
  FAILS(Error, cdist, x, nothing);
  FAILS(Error, mse_loss, nothing, x);
  FAILS(Error, mse_loss, x, nothing);
  FAILS(Error, l1_loss, nothing, x);
  FAILS(Error, huber_loss, nothing, x);
  FAILS(Error, smooth_l1_loss, nothing, x);
  FAILS(Error, binary_cross_entropy, nothing, x);
  FAILS(Error, binary_cross_entropy, x, nothing);
  FAILS(Error, binary_cross_entropy_with_logits, nothing, x);
  FAILS(Error, kl_div, nothing, x);
  FAILS(Error, poisson_nll_loss, nothing, x);
  FAILS(Error, gaussian_nll_loss, nothing, x, x);
  FAILS(Error, gaussian_nll_loss, x, x, nothing);
  FAILS(Error, margin_ranking_loss, nothing, x, x);
  FAILS(Error, margin_ranking_loss, x, x, nothing);
  FAILS(Error, hinge_embedding_loss, nothing, x);
  FAILS(Error, cosine_embedding_loss, x, nothing, v);
  FAILS(Error, triplet_margin_loss, x, x, nothing);
  FAILS(Error, nll_loss, nothing, i);
  FAILS(Error, nll_loss, x, nothing);
  FAILS(Error, cross_entropy, nothing, i);
  FAILS(Error, cross_entropy, x, nothing);
  FAILS(Error, pad, nothing, {1, 1});
  FAILS(Error, interpolate, nothing, {.size = 2});
  names_itself<Error>(
      "upsample", "interpolate", [&] { (void)upsample(nothing, {.size = 2}); }, __LINE__);
  FAILS(Error, grid_sample, nothing, image);
  FAILS(Error, grid_sample, image, nothing);
  FAILS(Error, pixel_shuffle, nothing, 2);
  FAILS(Error, pixel_unshuffle, nothing, 2);
  FAILS(Error, channel_shuffle, nothing, 2);
}

BOOST_AUTO_TEST_CASE(of_activations) {
  FAILS(IndexError, softmax, x, 2);
  FAILS(IndexError, log_softmax, x, -3);
  FAILS(IndexError, softmin, ones({}), 1);
  FAILS(DtypeError, softmax, x, 0, int32);
  FAILS(Error, celu, x, 0);
  FAILS(Error, softplus, x, 0);
  FAILS(Error, hardtanh, x, 1, 0);
  FAILS(Error, softshrink, x, -1);
  FAILS(IndexError, glu, x, 2);
  FAILS(ShapeError, glu, x, 1);
  FAILS(ShapeError, prelu, x, ones({2}));
  FAILS(ShapeError, prelu, v, v);
  FAILS(ShapeError, prelu, x, ones({3, 1}));
  FAILS(DtypeError, prelu, i, ones({3}, uint64));
}

BOOST_AUTO_TEST_CASE(of_normalisations) {
  FAILS(ShapeError, layer_norm, x, {2});
  FAILS(ShapeError, layer_norm, x, {});
  FAILS(ShapeError, layer_norm, x, {1, 2, 3});
  FAILS(ShapeError, layer_norm, x, {3}, ones({1}));
  FAILS(ShapeError, layer_norm, x, {3}, v, ones({2, 3}));
  FAILS(DtypeError, layer_norm, i, {3}, ones({3}, uint64));
  FAILS(ShapeError, rms_norm, x, {2, 2});
  FAILS(ShapeError, rms_norm, x, {3}, ones({2}));
  FAILS(ShapeError, batch_norm, v, v, v);
  FAILS(ShapeError, batch_norm, x, ones({2}), v);
  FAILS(ShapeError, batch_norm, x, v, ones({2}));
  FAILS(ShapeError, batch_norm, x, v, v, ones({2}));
  FAILS(ShapeError, batch_norm_training, v);
  FAILS(ShapeError, batch_norm_training, ones({1, 3}));
  FAILS(ShapeError, batch_norm_training, x, ones({2}));
  FAILS(DtypeError, batch_norm_training, x, ones({3}, int64));
  FAILS(ShapeError, batch_norm_training, x, v, v, {.weight = ones({2})});
  FAILS(ShapeError, group_norm, x, 2);
  FAILS(ShapeError, group_norm, x, 0);
  FAILS(ShapeError, group_norm, v, 1);
  FAILS(ShapeError, group_norm, x, 1, ones({2}));
  FAILS(ShapeError, instance_norm, x);
  FAILS(ShapeError, instance_norm, ones({2, 3, 1}));
  FAILS(ShapeError, local_response_norm, x, 1);
  FAILS(ShapeError, local_response_norm, image, 0);
  FAILS(IndexError, normalize, v);
}

BOOST_AUTO_TEST_CASE(of_weights_and_distances) {
  FAILS(ShapeError, linear, x, odd);
  FAILS(ShapeError, linear, x, ones({2, 2, 3}));
  FAILS(ShapeError, linear, x, ones({}));
  FAILS(ShapeError, linear, x, x, v);
  FAILS(DtypeError, linear, b, b);
  FAILS(DtypeError, linear, i, u);
  FAILS(ShapeError, bilinear, x, x, x);
  FAILS(ShapeError, bilinear, x, odd, ones({1, 3, 4}));
  FAILS(ShapeError, bilinear, x, v, ones({1, 3, 3}));
  FAILS(ShapeError, bilinear, x, x, ones({2, 3, 3}), v);
  FAILS(DtypeError, embedding, x, x);
  FAILS(ShapeError, embedding, i, v);
  FAILS(IndexError, embedding, i, ones({0, 3}));
  FAILS(DtypeError, one_hot, x, 3);
  FAILS(ShapeError, one_hot, i, 0);
  FAILS(ShapeError, cosine_similarity, x, odd);
  FAILS(IndexError, cosine_similarity, x, x, 2);
  FAILS(ShapeError, pairwise_distance, x, odd);
  FAILS(ShapeError, pairwise_distance, 1.0, 2.0);
  FAILS(ShapeError, cdist, x, odd);
  FAILS(ShapeError, cdist, v, x);
  FAILS(Error, cdist, x, x, -1);
}

BOOST_AUTO_TEST_CASE(of_losses) {
  FAILS(ShapeError, mse_loss, x, odd);
  FAILS(DtypeError, mse_loss, i, u);
  FAILS(Error, mse_loss, x, x, Reduction::batchmean);
  FAILS(Error, huber_loss, x, x, Reduction::mean, 0);
  FAILS(Error, smooth_l1_loss, x, x, Reduction::mean, -1);
  FAILS(ShapeError, binary_cross_entropy, x, v);
  FAILS(ShapeError, binary_cross_entropy, x, x, ones({2}));
  FAILS(ShapeError, binary_cross_entropy_with_logits, x, v);
  FAILS(ShapeError, binary_cross_entropy_with_logits, x, x, {}, Reduction::mean, ones({2}));
  FAILS(ShapeError, kl_div, 1.0, 1.0, Reduction::batchmean);
  FAILS(ShapeError, gaussian_nll_loss, x, x, v);
  FAILS(Error, gaussian_nll_loss, x, x, x, false, 0);
  FAILS(ShapeError, margin_ranking_loss, x, odd, x);
  FAILS(ShapeError, cosine_embedding_loss, x, x, x);
  FAILS(ShapeError, triplet_margin_loss, x, x, v);
  FAILS(Error, triplet_margin_loss, x, x, x, {.margin = -1});
  FAILS(ShapeError, nll_loss, x, ones({3}, int64));
  FAILS(DtypeError, nll_loss, x, ones({2}));
  FAILS(ShapeError, nll_loss, 1.0, 1);
  FAILS(ShapeError, nll_loss, x, ones({2}, int64), {.weight = ones({2})});
  FAILS(ShapeError, cross_entropy, x, ones({3}, int64));
  FAILS(ShapeError, cross_entropy, x, ones({2}));
  FAILS(DtypeError, cross_entropy, x, b);
  FAILS(Error, cross_entropy, x, ones({2}, int64), {.label_smoothing = 2});
  FAILS(Error, cross_entropy, x, ones({2}, int64), {.reduction = Reduction::batchmean});
}

BOOST_AUTO_TEST_CASE(of_images) {
  FAILS(ShapeError, pad, x, {1});
  FAILS(ShapeError, pad, x, {1, 1, 1, 1, 1, 1});
  FAILS(ShapeError, pad, x, {-2, -2});
  FAILS(ShapeError, pad, x, {3, 0}, PadMode::reflect);
  FAILS(ShapeError, pad, x, {4, 0}, PadMode::circular);
  FAILS(ShapeError, pad, ones({0}), {1, 0}, PadMode::replicate);
  FAILS(DtypeError, pad, i, {1, 0}, PadMode::constant, 0.5);
  FAILS(ShapeError, interpolate, x, {.size = 2});
  FAILS(ShapeError, imresize, ones({4}), 2, 2);
  FAILS(DtypeError, imresize, ones({4, 4}, bool_), 2, 2);
  FAILS(ShapeError, interpolate, image, {});
  FAILS(ShapeError, interpolate, image, {.size = 2, .scale_factor = {2}});
  FAILS(ShapeError, interpolate, image, {.size = {1, 2, 3}});
  FAILS(ShapeError, interpolate, image, {.size = 0});
  FAILS(ShapeError, interpolate, image, {.scale_factor = {0.1}});
  FAILS(ShapeError, interpolate, image, {.scale_factor = {check::NaN}});
  FAILS(ShapeError, interpolate, image, {.scale_factor = {1, 1, 1}});
  FAILS(ShapeError, interpolate, ones({1, 2, 3}), {.size = 2, .mode = Interpolation::cubic});
  FAILS(ShapeError, interpolate, ones({1, 2, 0, 3}), {.size = 2});
  FAILS(ShapeError, grid_sample, image, x);
  FAILS(ShapeError, grid_sample, image, ones({1, 2, 2, 3}));
  FAILS(ShapeError, grid_sample, image, ones({2, 2, 2, 2}));
  FAILS(Error, grid_sample, image, ones({1, 2, 2, 2}), {.mode = Interpolation::area});
  FAILS(ShapeError, pixel_shuffle, image, 3);
  FAILS(ShapeError, pixel_shuffle, x, 1);
  FAILS(ShapeError, pixel_shuffle, image, 0);
  FAILS(ShapeError, pixel_unshuffle, image, 2);
  FAILS(ShapeError, channel_shuffle, image, 3);
  FAILS(ShapeError, channel_shuffle, x, 1);
  const Tensor w = ones({3, 4, 2, 2});
  FAILS(ShapeError, conv2d, image, w, {.bias = ones({4})});
  FAILS(ShapeError, conv2d, image, w, {.stride = 2, .padding = same_padding});
  FAILS(ShapeError, conv2d, image, w, {.padding = 5, .padding_mode = PadMode::reflect});
  FAILS(ShapeError, conv2d, image, ones({3, 3, 2, 2}), {.padding = 1, .padding_mode = PadMode::circular});
  FAILS(Error, conv_transpose, image, ones({4, 3, 2, 2}), {.padding = same_padding});
  FAILS(Error, conv_transpose, image, ones({4, 3, 2, 2}), {.padding_mode = PadMode::reflect});
  FAILS(ShapeError, conv_transpose, image, ones({4, 3, 2, 2}), {.bias = ones({2})});
  FAILS(ShapeError, max_pool, image, 9, {.stride = 2, .ceil_mode = true});
}

BOOST_AUTO_TEST_CASE(of_huge_numbers) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  const Tensor none = ones({0, 0, 0, 0});
  FAILS(ShapeError, pad, x, {huge, 0});
  FAILS(ShapeError, pad, x, {huge, least});
  FAILS(ShapeError, pad, x, {least, huge});
  FAILS(ShapeError, pad, x, {huge / 2, huge / 2}, PadMode::replicate);
  FAILS(ShapeError, pixel_shuffle, none, huge);
  FAILS(ShapeError, pixel_unshuffle, none, huge);
  FAILS(ShapeError, pixel_unshuffle, ones({1 << 30, 0, 0}), 1 << 30);
  FAILS(ShapeError, channel_shuffle, image, huge);
  FAILS(ShapeError, interpolate, image, {.scale_factor = {1e30}});
  FAILS(ShapeError, interpolate, image, {.size = huge});
  FAILS(ShapeError, one_hot, i, huge);
  FAILS(ShapeError, group_norm, x, huge);
  FAILS(ShapeError, conv2d, image, ones({1, 4, 2, 2}), {.padding = huge, .padding_mode = PadMode::replicate});
  FAILS(ShapeError, conv2d, image, ones({1, 4, 2, 2}), {.padding = same_padding, .dilation = huge});
  FAILS(ShapeError, max_pool, image, huge, {.ceil_mode = true});
  FAILS(ShapeError, max_pool, image, 2, {.dilation = huge, .ceil_mode = true});
  check::equal(max_pool(ones({1, 1, 3}), 2, {.stride = huge, .ceil_mode = true}), float32, {1, 1, 1}, {1});
  check::equal(local_response_norm(zeros({1, 2, 1}), huge), float32, {1, 2, 1}, {0, 0});
}

BOOST_AUTO_TEST_CASE(of_names) {
  const Tensor one = ones({}), k = ones({3}, int64), w = ones({2, 2, 3, 3}), steps = ones({4, 2, 3}),
               two = ones({2, 2}, int64), lengths = ones({2}, int64), row = ones({2}, int64);
  const DistanceFunction distance = [](const Tensor& a, const Tensor& b) { return sum(a - b, -1); };
  FAILS(Error, pdist, nothing);
  FAILS(ShapeError, pdist, v);
  FAILS(Error, pdist, x, -1);
  FAILS(Error, embedding_bag, nothing, x);
  FAILS(DtypeError, embedding_bag, x, x);
  FAILS(ShapeError, embedding_bag, k, x);
  FAILS(ShapeError, embedding_bag, i, v);
  FAILS(ShapeError, embedding_bag, i, x, {.mode = Bag::sum, .per_sample_weights = v});
  FAILS(Error, embedding_bag, i, x, {.per_sample_weights = x});
  FAILS(DtypeError, embedding_bag, k, x, {.offsets = v});
  FAILS(ShapeError, embedding_bag, k, x, {.offsets = zeros({0}, int64), .include_last_offset = true});
  FAILS(IndexError, embedding_bag, k, zeros({0, 2}), {.offsets = k});
  FAILS(Error, unfold, nothing, 2);
  FAILS(ShapeError, unfold, x, 2);
  FAILS(ShapeError, unfold, image, 9);
  FAILS(ShapeError, unfold, image, {2, 2, 2});
  CALLS(unfold, im2col, image, 9);
  FAILS(Error, fold, nothing, 2, 2);
  FAILS(ShapeError, fold, x, {4, 4}, 2);
  FAILS(ShapeError, fold, ones({1, 4, 8}), {4, 4}, 2);
  FAILS(ShapeError, fold, ones({1, 3, 9}), {4, 4}, 2);
  FAILS(DtypeError, fold, ones({1, 4, 9}) > 0, {4, 4}, 2);
  CALLS(fold, col2im, x, {4, 4}, 2);
  FAILS(Error, convolution_backward, nothing, image, w);
  FAILS(ShapeError, convolution_backward, image, image, ones({4, 4, 3, 3}));
  FAILS(ShapeError, convolution_backward, x, image, w);
  FAILS(Error, convolution_backward, image, image, ones({4, 4, 1, 1}), {.padding = same_padding});
  FAILS(Error, layer_norm_backward, nothing, x, {3});
  FAILS(ShapeError, layer_norm_backward, v, x, {3});
  FAILS(ShapeError, layer_norm_backward, x, x, {4});
  FAILS(ShapeError, layer_norm_backward, x, x, {3}, x);
  FAILS(Error, group_norm_backward, x, nothing, 1);
  FAILS(ShapeError, group_norm_backward, x, x, 2);
  FAILS(ShapeError, group_norm_backward, v, v, 1);
  FAILS(ShapeError, group_norm_backward, x, x, 1, ones({2}));
  FAILS(Error, embedding_dense_backward, nothing, k, 3);
  FAILS(DtypeError, embedding_dense_backward, x, v, 3);
  FAILS(ShapeError, embedding_dense_backward, x, k, 3);
  FAILS(ShapeError, embedding_dense_backward, x, row, -1);
  FAILS(IndexError, embedding_dense_backward, x, row, 0);
  FAILS(Error, soft_margin_loss, nothing, x);
  FAILS(ShapeError, soft_margin_loss, x, v);
  FAILS(Error, soft_margin_loss, x, x, Reduction::batchmean);
  FAILS(Error, multi_margin_loss, nothing, k);
  FAILS(DtypeError, multi_margin_loss, x, x);
  FAILS(ShapeError, multi_margin_loss, x, k);
  FAILS(ShapeError, multi_margin_loss, image, k);
  FAILS(ShapeError, multi_margin_loss, x, row, {.weight = odd});
  FAILS(Error, multi_margin_loss, x, row, {.p = 3});
  FAILS(Error, multilabel_margin_loss, nothing, i);
  FAILS(DtypeError, multilabel_margin_loss, x, x);
  FAILS(ShapeError, multilabel_margin_loss, x, k);
  FAILS(Error, multilabel_soft_margin_loss, nothing, x);
  FAILS(ShapeError, multilabel_soft_margin_loss, x, v);
  FAILS(ShapeError, multilabel_soft_margin_loss, one, one);
  FAILS(ShapeError, multilabel_soft_margin_loss, x, x, odd);
  FAILS(Error, triplet_margin_with_distance_loss, nothing, x, x, distance);
  FAILS(Error, triplet_margin_with_distance_loss, x, x, x, {});
  FAILS(Error, triplet_margin_with_distance_loss, x, x, x, distance, -1);
  FAILS(Error, ctc_loss, nothing, two, lengths, lengths);
  FAILS(DtypeError, ctc_loss, steps, x, lengths, lengths);
  FAILS(DtypeError, ctc_loss, steps, two, v, lengths);
  FAILS(ShapeError, ctc_loss, steps, k, lengths, lengths);
  FAILS(ShapeError, ctc_loss, steps, two, k, lengths);
  FAILS(ShapeError, ctc_loss, zeros({0, 2, 3}), two, lengths, lengths);
  FAILS(IndexError, ctc_loss, steps, two, lengths, lengths, {.blank = 3});
  FAILS(Error, affine_grid, nothing, {1, 1, 2, 2});
  FAILS(ShapeError, affine_grid, x, {1, 1, 2, 2});
  FAILS(ShapeError, affine_grid, ones({1, 2, 3}), {2, 1, 2, 2});
  FAILS(ShapeError, grid_sample, ones({1, 1, 2}), ones({1, 2, 1}), {.mode = Interpolation::cubic});
  FAILS(ShapeError, interpolate, image, {.size = 2, .antialias = true});
  FAILS(Error, feature_dropout, nothing);
  FAILS(ShapeError, feature_dropout, v);
  FAILS(Error, feature_dropout, x, 2);
  CALLS(feature_dropout, dropout1d, v);
  CALLS(feature_dropout, dropout2d, v);
  CALLS(feature_dropout, dropout3d, v);
  FAILS(Error, alpha_dropout, nothing);
  FAILS(Error, alpha_dropout, x, -1);
  FAILS(Error, feature_alpha_dropout, nothing);
  FAILS(ShapeError, feature_alpha_dropout, v);
  FAILS(Error, rrelu, nothing);
  FAILS(Error, rrelu, x, 1, 0);
  FAILS(Error, gumbel_softmax, nothing);
  FAILS(Error, gumbel_softmax, x, 0);
  FAILS(IndexError, gumbel_softmax, x, 1, false, 2);
  FAILS(Error, instance_norm_training, nothing);
  FAILS(ShapeError, instance_norm_training, x);
  FAILS(Error, instance_norm_training, image, {}, {}, {.layout = channels_last});
}

BOOST_AUTO_TEST_CASE(messages_say_what_is_wrong) {
  THROWS(ShapeError, glu(odd), "glu: axis 1 of [2, 5] has no halves");
  THROWS(ShapeError, linear(x, odd), "linear: x [2, 3] and weights [2, 5] do not fit");
  THROWS(ShapeError, layer_norm(x, {4}), "layer_norm: x of shape [2, 3] does not end in [4]");
  THROWS(ShapeError, pad(x, {3, 0}, PadMode::reflect),
         "pad: 3 elements beside axis 1 of [2, 3] are too many for mode reflect");
  THROWS(ShapeError, cross_entropy(x, ones({4}, int64)), "cross_entropy: labels [4] for x [2, 3]");
}

// A label or an id that is no class is found when the value is computed.
BOOST_AUTO_TEST_CASE(labels_out_of_range) {
  const Tensor labels = tensor({0, 3}), ids = tensor({1, -4});
  BOOST_CHECK_THROW(cross_entropy(x, labels).eval(), IndexError);
  BOOST_CHECK_THROW(nll_loss(x, labels).eval(), IndexError);
  BOOST_CHECK_THROW(embedding(ids, x).eval(), IndexError);
  check::equal(cross_entropy(zeros({2, 1}), labels, {.ignore_index = 3}), float32, {}, {0});
  check::equal(one_hot(tensor({1, 5, -1}), 2), int64, {3, 2}, {0, 1, 0, 0, 0, 0});
  BOOST_CHECK_THROW(embedding(tensor({-1}), tensor({{1.0f}, {2.0f}})).eval(), IndexError);
}

// Lists every function of the headers that functional.hpp includes.
BOOST_AUTO_TEST_CASE(none_is_left_out) {
  const std::string root = std::string(LAZY_SOURCE_DIR) + "/";
  const std::regex include("#include \"(lazy/nn/.*)\""),
      declaration("^(?:inline )?(?:Tensor|BatchNormResult|ConvGradients|NormGradients) ([a-z]\\w*)\\(.*");
  std::ifstream all(root + "lazy/nn/functional/functional.hpp");
  BOOST_REQUIRE(all);
  size_t found = 0;
  for (std::string line; std::getline(all, line);) {
    std::smatch header;
    if (!std::regex_match(line, header, include)) continue;
    std::ifstream in(root + header[1].str());
    BOOST_REQUIRE(in);
    for (std::string l; std::getline(in, l);) {
      std::smatch m;
      if (!std::regex_match(l, m, declaration)) continue;
      ++found;
      BOOST_TEST(called().contains(m[1]), m[1] << " of " << header[1] << " is not called here");
    }
  }
  BOOST_TEST(found >= 60u);
}

BOOST_AUTO_TEST_SUITE_END()
