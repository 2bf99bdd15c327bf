// Vision transformers, whose names are torchvision's here, and Hugging Face's in files.
#include "lazy/indexing/indexing.hpp"
#include "lazy/pretrained/common.hpp"

namespace lazy::pretrained {
namespace {

using models::ViT;

models::ViTConfig vit_config(const Source& from) {
  const ConfigFile& c = from.config;
  check_common(c);
  c.only("qkv_bias", true);
  models::ViTConfig r;
  r.image_size = c.integer("image_size", 224);
  r.patch_size = c.integer("patch_size", 16);
  r.layers = c.integer("num_hidden_layers", 12, 1, kMostLayers);
  r.heads = c.integer("num_attention_heads", 12);
  r.width = c.integer("hidden_size", 768);
  r.mlp = c.integer("intermediate_size", 3072);
  r.channels = c.integer("num_channels", 3);
  r.dropout = c.real("hidden_dropout_prob", 0, 0, 1);
  r.attention_dropout = c.real("attention_probs_dropout_prob", 0, 0, 1);
  r.layer_norm_eps = c.real("layer_norm_eps", 1e-12, 0, 1);
  r.activation = c.activation("hidden_act", "gelu");
  c.only("pooler_output_size", r.width);
  c.only("pooler_act", "tanh");
  r.classes = has_architecture(c, "ViTForImageClassification") ? c.labels() : 0;
  r.pooler = r.classes == 0 && from.weights.has("pooler.dense.weight");
  check_layers(from, r.layers);
  return r;
}

const std::vector<Rename>& vit_names() {
  static const auto& names =
      *new std::vector<Rename>{{"^vit.", ""},
                               {"^embeddings.cls_token", "class_token"},
                               {"^embeddings.position_embeddings", "encoder.pos_embedding"},
                               {"^embeddings.patch_embeddings.projection", "conv_proj"},
                               {"^layernorm", "encoder.ln"},
                               {"^encoder.layer.#", "encoder.layers.encoder_layer_#"},
                               {"attention.attention", "self_attention"},
                               {"attention.output.dense", "self_attention.out_proj"},
                               {"layernorm_before", "ln_1"},
                               {"layernorm_after", "ln_2"},
                               {"intermediate.dense", "mlp.0"},
                               {"output.dense", "mlp.3"},
                               {"^classifier", "heads.head"}};
  return names;
}

std::vector<Join> vit_joins() {
  std::vector<Join> all;
  for (const std::string w : {"weight", "bias"})
    all.push_back({"in_proj_" + w, {"query." + w, "key." + w, "value." + w}});
  return all;
}

}  // namespace

const std::vector<std::string>& Family<ViT>::kinds() {
  static const auto& kinds = *new std::vector<std::string>{"vit"};
  return kinds;
}
ViT Family<ViT>::make(const Source& from) { return ViT(vit_config(from), from.site); }
Layout Family<ViT>::layout(const Source&, const ViT&) {
  return {.renames = vit_names(), .joins = vit_joins()};
}
std::vector<Value> Family<ViT>::inputs(const ViT& m) {
  const models::ViTConfig& c = m.config();
  return {{"pixel_values", float32, {"batch", c.channels, c.image_size, c.image_size}}};
}
std::vector<Value> Family<ViT>::outputs(const ViT& m) {
  const models::ViTConfig& c = m.config();
  if (m.heads) return {{"logits", float32, {"batch", c.classes}}};
  const int64_t side = c.image_size / c.patch_size;
  std::vector<Value> all{{"last_hidden_state", float32, {"batch", side * side + 1, c.width}}};
  if (m.pooler) all.push_back({"pooler_output", float32, {"batch", c.width}});
  return all;
}
NamedTensors Family<ViT>::call(ViT& m, const NamedTensors& in, const Site& s) {
  Arg x(in.at("pixel_values", s), s);
  if (m.heads) return {{"logits", m(std::move(x))}};
  const Tensor y = m.encode(std::move(x));
  NamedTensors r{{"last_hidden_state", y}};
  if (m.pooler) r.set("pooler_output", models::activate(models::Activation::tanh, m.pooler->dense(y(_, 0))));
  return r;
}

Saved saved(const ViT& m) {
  const models::ViTConfig& c = m.config();
  Saved r{begun(m.heads ? "ViTForImageClassification" : "ViTModel", "vit"), reversed(vit_names()),
          vit_joins()};
  if (m.heads) add_prefix("vit.", {"embeddings", "encoder", "layernorm"}, r.renames);
  nlohmann::ordered_json& j = r.config;
  j["image_size"] = c.image_size;
  j["patch_size"] = c.patch_size;
  j["num_hidden_layers"] = c.layers;
  j["num_attention_heads"] = c.heads;
  j["hidden_size"] = c.width;
  j["intermediate_size"] = c.mlp;
  j["num_channels"] = c.channels;
  j["hidden_dropout_prob"] = c.dropout;
  j["attention_probs_dropout_prob"] = c.attention_dropout;
  j["layer_norm_eps"] = c.layer_norm_eps;
  j["hidden_act"] = name_of(c.activation);
  for (int64_t i = 0; i < c.classes; ++i) j["id2label"][std::to_string(i)] = "LABEL_" + std::to_string(i);
  return r;
}

}  // namespace lazy::pretrained
