#include "lazy/pretrained/common.hpp"

namespace lazy::pretrained {
namespace {

using models::GPT2;

models::GPT2Config gpt2_config(const ConfigFile& c) {
  check_common(c);
  c.only("scale_attn_weights", true);
  c.only("scale_attn_by_inverse_layer_idx", false);
  models::GPT2Config r;
  r.vocab_size = c.integer("vocab_size", 50257);
  r.n_positions = c.integer("n_positions", 1024);
  r.n_embd = c.integer("n_embd", 768);
  r.n_layer = c.integer("n_layer", 12, 1, kMostLayers);
  r.n_head = c.integer("n_head", 12);
  r.n_inner = c.integer("n_inner", 0);
  r.dropout = c.real("resid_pdrop", 0.1, 0, 1);
  r.layer_norm_epsilon = c.real("layer_norm_epsilon", 1e-5, 0, 1);
  r.activation = c.activation("activation_function", "gelu_new");
  r.tie_word_embeddings = c.flag("tie_word_embeddings", true);
  return r;
}

}  // namespace

const std::vector<std::string>& Family<GPT2>::kinds() {
  static const auto& kinds = *new std::vector<std::string>{"gpt2"};
  return kinds;
}
GPT2 Family<GPT2>::make(const Source& from) {
  const models::GPT2Config c = gpt2_config(from.config);
  check_layers(from, c.n_layer);
  return GPT2(c, from.site);
}
Layout Family<GPT2>::layout(const Source& from, const GPT2& m) {
  Layout l;
  // The first published files have no prefix.
  if (!from.weights.any_begins("transformer."))
    for (const char* part : {"wte", "wpe", "ln_f", "h.#"})
      l.renames.push_back({std::string("^") + part, std::string("transformer.") + part});
  l.ignored = {"*.attn.bias", "*.attn.masked_bias"};
  if (!m.lm_head) l.ignored.emplace_back("lm_head.weight");
  return l;
}
std::vector<Value> Family<GPT2>::inputs(const GPT2&) { return {{"input_ids", int64, {"batch", "tokens"}}}; }
std::vector<Value> Family<GPT2>::outputs(const GPT2& m) {
  return {{"logits", float32, {"batch", "tokens", m.config().vocab_size}}};
}
NamedTensors Family<GPT2>::call(GPT2& m, const NamedTensors& in, const Site& s) {
  return {{"logits", m(Arg(in.at("input_ids", s), s))}};
}

Saved saved(const GPT2& m) {
  const models::GPT2Config& c = m.config();
  Saved r{begun("GPT2LMHeadModel", "gpt2")};
  r.config["vocab_size"] = c.vocab_size;
  r.config["n_positions"] = c.n_positions;
  r.config["n_embd"] = c.n_embd;
  r.config["n_layer"] = c.n_layer;
  r.config["n_head"] = c.n_head;
  if (c.n_inner > 0) r.config["n_inner"] = c.n_inner;
  r.config["resid_pdrop"] = r.config["embd_pdrop"] = c.dropout;
  r.config["layer_norm_epsilon"] = c.layer_norm_epsilon;
  r.config["activation_function"] = name_of(c.activation);
  r.config["tie_word_embeddings"] = c.tie_word_embeddings;
  return r;
}

}  // namespace lazy::pretrained
