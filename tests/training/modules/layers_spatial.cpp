#include "layers.hpp"

namespace layers {

using namespace lazy;

namespace {

void add_pools(Builders& b) {
  LAYER("max_pool1d", nn::MaxPool1d{2});
  LAYER("max_pool2d", nn::MaxPool2d{3, {.stride = 2, .padding = 1}});
  LAYER("max_pool2d_ceil", nn::MaxPool2d{{2, 3}, {.ceil_mode = true}});
  LAYER("max_pool2d_single", nn::MaxPool2d{2, {.stride = 1, .dilation = 2}});
  LAYER("max_pool3d", nn::MaxPool3d{2});
  LAYER("avg_pool1d", nn::AvgPool1d{3, {.stride = 1, .padding = 1}});
  LAYER("avg_pool2d", nn::AvgPool2d{3, {.stride = 2, .padding = 1, .count_padding = false}});
  LAYER("avg_pool3d", nn::AvgPool3d{2, {.divisor_override = 5}});
  LAYER("lp_pool1d", nn::LPPool1d{2, 2});
  LAYER("lp_pool2d", nn::LPPool2d{3, 2, {.stride = 1}});
  LAYER("lp_pool3d", nn::LPPool3d{2, 2});
  LAYER("adaptive_avg_pool1d", nn::AdaptiveAvgPool1d{3});
  LAYER("adaptive_avg_pool2d", nn::AdaptiveAvgPool2d{{1, 1}});
  LAYER("adaptive_avg_pool3d", nn::AdaptiveAvgPool3d{2});
  LAYER("adaptive_max_pool1d", nn::AdaptiveMaxPool1d{3});
  LAYER("adaptive_max_pool2d", nn::AdaptiveMaxPool2d{{2, 3}});
  LAYER("adaptive_max_pool3d", nn::AdaptiveMaxPool3d{2});
  LAYER("fractional_max_pool2d", nn::FractionalMaxPool2d{{2, 3}, {.output_size = {3, 2}}});
  LAYER("fractional_max_pool3d", nn::FractionalMaxPool3d{2, {.output_ratio = {0.6}}});
  LAYER("max_unpool1d", nn::MaxUnpool1d{2});
  LAYER("max_unpool2d", nn::MaxUnpool2d{2});
  LAYER("max_unpool3d", nn::MaxUnpool3d{2});
}

template <int D>
void add_padding(Builders& b, const Pads& constant) {
  const std::string d = std::to_string(D) + "d";
  LAYER("zero_pad" + d, nn::ZeroPadNd<D>{1});
  LAYER("reflection_pad" + d, nn::ReflectionPadNd<D>{1});
  LAYER("replication_pad" + d, nn::ReplicationPadNd<D>{1});
  LAYER("circular_pad" + d, nn::CircularPadNd<D>{1});
  b["constant_pad" + d] = [constant] { return layer(nn::ConstantPadNd<D>{constant, 1.5}); };
}

}  // namespace

void add_spatial(Builders& b) {
  add_pools(b);
  add_padding<1>(b, {0, 1});
  add_padding<2>(b, {0, 1, 2, 3});
  add_padding<3>(b, {0, 1, 2, 3, 4, 5});
  LAYER("pixel_shuffle", nn::PixelShuffle{2});
  LAYER("pixel_unshuffle", nn::PixelUnshuffle{2});
  LAYER("channel_shuffle", nn::ChannelShuffle{2});
  LAYER("upsample", nn::Upsample{{.scale_factor = {2}}});
  LAYER("upsample_bilinear", nn::Upsample{{.size = {3, 5}, .mode = Interpolation::bilinear}});
  LAYER("upsample_linear", nn::Upsample{{.size = 5, .mode = Interpolation::linear, .align_corners = true}});
  LAYER("upsampling_nearest2d", nn::UpsamplingNearest2d{{.size = {3, 4}}});
  LAYER("upsampling_bilinear2d", nn::UpsamplingBilinear2d{{.scale_factor = {2}}});
  LAYER("unfold", nn::Unfold{2});
  LAYER("fold", nn::Fold{{3, 3}, 2});
  LAYER("cosine_similarity", nn::CosineSimilarity{});
  LAYER("pairwise_distance", nn::PairwiseDistance{2, 1e-6, true});
}

}  // namespace layers
