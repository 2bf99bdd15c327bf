// Vision transformers (Dosovitskiy et al., 2020) with torchvision's names.
#pragma once
#include <vector>

#include "lazy/nn/modules/attention.hpp"
#include "lazy/nn/modules/containers.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/normalisation.hpp"

namespace lazy::models {

/// Has the sizes of ViT-S/16 unless told otherwise.
struct ViTConfig {
  int64_t image_size = 224, patch_size = 16;
  int64_t layers = 12, heads = 6, width = 384, mlp = 1536;
  int64_t classes = 1000, channels = 3;
  double dropout = 0, attention_dropout = 0;
};

struct ViTBlock : nn::Module {
  nn::LayerNorm ln_1;
  nn::MultiheadAttention self_attention;
  nn::LayerNorm ln_2;
  nn::Sequential mlp;
  double dropout;
  ViTBlock(const ViTConfig&, const Site&);
  Tensor operator()(Arg x) const;
  LAZY_MODULE(ln_1, self_attention, ln_2, mlp)
};
struct ViTEncoder : nn::Module {
  Parameter pos_embedding;  // (1, patches + 1, width)
  std::vector<ViTBlock> layers;
  nn::LayerNorm ln;
  double dropout;
  ViTEncoder(const ViTConfig&, const Site&);
  Tensor operator()(Arg x) const;

 protected:
  void members(nn::Visitor&) override;  // layers.encoder_layer_0, ...
};
struct ViTHeads : nn::Module {
  nn::Linear head;
  ViTHeads(const ViTConfig& c, const Site& s) : head(c.width, c.classes, {}, s) {}
  LAZY_MODULE(head)
};

/// Classifies images (N, channels, image_size, image_size) -> (N, classes).
struct ViT : nn::Module {
  Parameter class_token;  // (1, 1, width)
  nn::Conv2d conv_proj;
  ViTEncoder encoder;
  ViTHeads heads;
  explicit ViT(const ViTConfig& config = {}, Site s = Site::current());
  Tensor operator()(Arg x) const;
  LAZY_MODULE(class_token, conv_proj, encoder, heads)

 private:
  ViTConfig config_;
};

}  // namespace lazy::models
