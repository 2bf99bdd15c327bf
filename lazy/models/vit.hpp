// Vision transformers (Dosovitskiy et al., 2020) with torchvision's names.
#pragma once
#include <optional>
#include <vector>

#include "lazy/models/activation.hpp"
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
  int64_t classes = 1000;  // 0: the model encodes images, and has no heads
  int64_t channels = 3;
  double dropout = 0, attention_dropout = 0, layer_norm_eps = 1e-6;
  Activation activation = Activation::gelu;
  bool pooler = false;  // ViT::pooler is there
};

struct ViTBlock : nn::Module {
  nn::LayerNorm ln_1;
  nn::MultiheadAttention self_attention;
  nn::LayerNorm ln_2;
  nn::Sequential mlp;
  Activation activation;
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

struct ViTPooler : nn::Module {
  nn::Linear dense;
  ViTPooler(const ViTConfig& c, const Site& s) : dense(c.width, c.width, {}, s) {}
  LAZY_MODULE(dense)
};

/// Classifies images (N, channels, image_size, image_size) -> (N, classes).
struct ViT : nn::Module {
  Parameter class_token;  // (1, 1, width)
  nn::Conv2d conv_proj;
  ViTEncoder encoder;
  std::optional<ViTHeads> heads;
  std::optional<ViTPooler> pooler;  // Hugging Face's, of models that encode
  explicit ViT(const ViTConfig& config = {}, Site s = Site::current());
  /// Throws Error without heads.
  Tensor operator()(Arg x) const;
  /// Encodes images -> (N, patches + 1, width): of the class token and of each patch.
  Tensor encode(Arg x) const;
  const ViTConfig& config() const { return config_; }
  LAZY_MODULE(class_token, conv_proj, encoder, heads, pooler)

 private:
  ViTConfig config_;
};

}  // namespace lazy::models
