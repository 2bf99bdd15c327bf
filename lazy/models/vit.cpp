#include "lazy/models/vit.hpp"

#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/nn/modules/activation.hpp"
#include "lazy/nn/modules/dropout.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::models {
namespace {

int64_t patches(const ViTConfig& c, const Site& s) {
  if (c.patch_size <= 0 || c.image_size % c.patch_size != 0)
    lazy::detail::fail<ShapeError>("ViT",
                                   "patches of " + std::to_string(c.patch_size) +
                                       " don't divide an image of " + std::to_string(c.image_size),
                                   s);
  const int64_t side = c.image_size / c.patch_size;
  return side * side;
}

}  // namespace

ViTBlock::ViTBlock(const ViTConfig& c, const Site& s)
    : ln_1(c.width, {.eps = c.layer_norm_eps}, s),
      self_attention(c.width, c.heads, {.dropout = c.attention_dropout, .batch_first = true}, s),
      ln_2(c.width, {.eps = c.layer_norm_eps}, s),
      activation(c.activation),
      dropout(c.dropout) {
  mlp.push_back(nn::Linear(c.width, c.mlp, {}, s));
  mlp.push_back(nn::GELU());
  mlp.push_back(nn::Dropout(c.dropout));
  mlp.push_back(nn::Linear(c.mlp, c.width, {}, s));
  mlp.push_back(nn::Dropout(c.dropout));
  for (const int64_t i : {0, 3}) {
    auto& linear = mlp.get<nn::Linear>(i);
    nn::init::xavier_uniform_({linear.weight, s});
    nn::init::normal_({linear.bias, s}, 0, 1e-6);
  }
}

Tensor ViTBlock::operator()(Arg arg) const {
  const Tensor x(arg.take()), n = ln_1(x);
  const Tensor y = x + dropped(self_attention(n, n, n, {.need_weights = false}).output, dropout, training());
  if (activation == Activation::gelu) return y + mlp(ln_2(y));
  const Tensor hidden = activate(activation, mlp.get<nn::Linear>(0)(ln_2(y)));
  return y + dropped(mlp.get<nn::Linear>(3)(dropped(hidden, dropout, training())), dropout, training());
}

ViTEncoder::ViTEncoder(const ViTConfig& c, const Site& s)
    : pos_embedding(nn::detail::Fresh(nn::LinearOptions{}, s).normal({1, patches(c, s) + 1, c.width}) * 0.02),
      ln(c.width, {.eps = c.layer_norm_eps}, s),
      dropout(c.dropout) {
  for (int64_t i = 0; i < c.layers; ++i) layers.emplace_back(c, s);
}

void ViTEncoder::members(nn::Visitor& v) {
  v.member("pos_embedding", pos_embedding);
  for (size_t i = 0; i < layers.size(); ++i) v.member("layers.encoder_layer_" + std::to_string(i), layers[i]);
  v.member("ln", ln);
}

Tensor ViTEncoder::operator()(Arg x) const {
  Tensor y = dropped(std::move(x) + pos_embedding, dropout, training());
  for (const ViTBlock& layer : layers) y = layer(y);
  return ln(y);
}

ViT::ViT(const ViTConfig& c, Site s)
    : class_token(zeros({1, 1, c.width}, float32, {}, s)),
      conv_proj(c.channels, c.width, c.patch_size, {.stride = c.patch_size}, s),
      encoder(c, s),
      config_(c) {
  if (c.classes > 0) heads.emplace(c, s);
  if (c.pooler) pooler.emplace(c, s);
  const auto fan = static_cast<double>(c.channels * c.patch_size * c.patch_size);
  nn::init::trunc_normal_({conv_proj.weight, s}, 0, std::sqrt(1 / fan));
  nn::init::zeros_({conv_proj.bias, s});
  if (!heads) return;
  nn::init::zeros_({heads->head.weight, s});
  nn::init::zeros_({heads->head.bias, s});
}

Tensor ViT::operator()(Arg x) const {
  if (!heads) lazy::detail::fail<Error>("ViT", "the model has no heads to classify with: encode()", x.site());
  return heads->head(encode(std::move(x))(_, 0));
}

Tensor ViT::encode(Arg x) const {
  const Site s = x.site();
  const Shape shape = lazy::detail::Operand("ViT", x)->shape;
  if (shape.size() != 4 || shape[2] != config_.image_size || shape[3] != config_.image_size)
    lazy::detail::fail<ShapeError>(
        "ViT",
        "x " + to_string(shape) + " instead of (N, " + std::to_string(config_.channels) + ", " +
            std::to_string(config_.image_size) + ", " + std::to_string(config_.image_size) + ")",
        s);
  const Tensor y = conv_proj(std::move(x));  // (N, width, rows, columns)
  const Tensor rows = permute(reshape(y, {shape[0], config_.width, -1}), {0, 2, 1});
  const Tensor all = concat({class_token.expand({shape[0], 1, config_.width}, s), rows}, 1, s);
  return encoder(all);
}

}  // namespace lazy::models
