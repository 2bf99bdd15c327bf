#include "layers.hpp"

namespace layers {

using namespace lazy;

namespace {

void add_convolutions(Builders& b) {
  LAYER("conv1d", nn::Conv1d{2, 3, 3, {.padding = 1}});
  LAYER("conv2d", nn::Conv2d{2, 4, 3});
  LAYER("conv2d_options",
        nn::Conv2d{4,
                   4,
                   {3, 2},
                   {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2, .bias = false}});
  LAYER("conv2d_same", nn::Conv2d{1, 2, 3, {.padding = same_padding}});
  LAYER("conv2d_reflect", nn::Conv2d{1, 2, 3, {.padding = 1, .padding_mode = PadMode::reflect}});
  LAYER("conv2d_circular", nn::Conv2d{1, 2, 3, {.padding = 1, .padding_mode = PadMode::circular}});
  LAYER("conv2d_single", nn::Conv2d{2, 2, 2});
  LAYER("conv3d", nn::Conv3d{1, 2, 2});
  LAYER("conv_transpose1d", nn::ConvTranspose1d{2, 3, 3, {.stride = 2, .output_padding = 1}});
  LAYER("conv_transpose2d",
        nn::ConvTranspose2d{4, 2, 3, {.stride = 2, .padding = 1, .groups = 2, .bias = false}});
  LAYER("conv_transpose2d_single", nn::ConvTranspose2d{2, 1, 2, {.dilation = 2}});
  LAYER("conv_transpose3d", nn::ConvTranspose3d{1, 1, 2});
}

void add_norms(Builders& b) {
  LAYER("batch_norm1d", nn::BatchNorm1d{3});
  LAYER("batch_norm1d_eval", nn::BatchNorm1d{3});
  LAYER("batch_norm1d_sequence", nn::BatchNorm1d{3, {.momentum = std::nullopt}});
  LAYER("batch_norm2d", nn::BatchNorm2d{2, {.eps = 0.001, .momentum = 0.25}});
  LAYER("batch_norm2d_plain", nn::BatchNorm2d{2, {.affine = false}});
  LAYER("batch_norm2d_stateless", nn::BatchNorm2d{2, {.track_running_stats = false}});
  LAYER("batch_norm3d", nn::BatchNorm3d{2});
  LAYER("instance_norm1d", nn::InstanceNorm1d{3});
  LAYER("instance_norm2d", nn::InstanceNorm2d{2, {.affine = true, .track_running_stats = true}});
  LAYER("instance_norm2d_eval", nn::InstanceNorm2d{2, {.affine = true, .track_running_stats = true}});
  LAYER("instance_norm2d_single", nn::InstanceNorm2d{2});
  LAYER("instance_norm3d", nn::InstanceNorm3d{2, {.affine = true}});
  LAYER("layer_norm", nn::LayerNorm{5});
  LAYER("layer_norm_two", nn::LayerNorm{{2, 3}, {.bias = false}});
  LAYER("layer_norm_plain", nn::LayerNorm{5, {.eps = 0.01, .elementwise_affine = false}});
  LAYER("group_norm", nn::GroupNorm{2, 4});
  LAYER("group_norm_plain", nn::GroupNorm{2, 4, {.affine = false}});
  LAYER("rms_norm", nn::RMSNorm{5});
  LAYER("rms_norm_plain", nn::RMSNorm{5, {.eps = 0.01, .elementwise_affine = false}});
  LAYER("local_response_norm", nn::LocalResponseNorm{3, 0.5});
}

void add_embeddings(Builders& b) {
  LAYER("embedding", nn::Embedding{5, 3});
  LAYER("embedding_padding", nn::Embedding{5, 3, {.padding_idx = 1}});
  LAYER("embedding_padding_last", nn::Embedding{5, 3, {.padding_idx = -1}});
  LAYER("embedding_bag", nn::EmbeddingBag{5, 3});
  LAYER("embedding_bag_sum", nn::EmbeddingBag{5, 3, {.mode = Bag::sum}});
  LAYER("embedding_bag_max", nn::EmbeddingBag{5, 3, {.mode = Bag::max, .padding_idx = 4}});
}

}  // namespace

void add_weighted(Builders& b) {
  LAYER("linear", nn::Linear{5, 3});
  LAYER("linear_no_bias", nn::Linear{5, 1, {.bias = false}});
  LAYER("linear_vector", nn::Linear{5, 3});
  LAYER("bilinear", nn::Bilinear{3, 2, 4});
  LAYER("identity", nn::Identity{});
  LAYER("flatten", nn::Flatten{});
  LAYER("flatten_some", nn::Flatten{0, 1});
  LAYER("unflatten", nn::Unflatten{1, {2, 3}});
  LAYER("prelu", nn::PReLU{});
  LAYER("prelu_channels", nn::PReLU{3});
  LAYER("sequential",
        nn::Sequential{nn::Conv2d{1, 2, 3, {.padding = 1, .bias = false}}, nn::BatchNorm2d{2}, nn::ReLU{},
                       nn::MaxPool2d{2}, nn::Sequential{nn::Flatten{}, nn::Linear{8, 3}}, nn::LogSoftmax{1}});
  add_convolutions(b);
  add_norms(b);
  add_embeddings(b);
}

}  // namespace layers
