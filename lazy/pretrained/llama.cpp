// Llama and what has its structure: Mistral, Qwen2, Phi-3.
#include <algorithm>

#include "lazy/pretrained/common.hpp"

namespace lazy::pretrained {
namespace {

using models::Llama;
using models::RopeType;

struct RopeName {
  const char* name;
  RopeType type;
};
// The first name of a type is the one that is written.
constexpr RopeName kRopes[] = {{"default", RopeType::none},    {"linear", RopeType::linear},
                               {"dynamic", RopeType::dynamic}, {"llama3", RopeType::llama3},
                               {"yarn", RopeType::yarn},       {"longrope", RopeType::longrope},
                               {"su", RopeType::longrope}};  // as it was called first

RopeType rope_type(const ConfigFile& c) {
  const char* const key = c.has("rope_type") ? "rope_type" : "type";
  const std::string name = c.text(key, "default");
  std::string all;
  for (const RopeName& row : kRopes) {
    if (name == row.name) return row.type;
    all += (all.empty() ? "" : ", ") + std::string(row.name);
  }
  c.unsupported(key, all);
}

/// Returns a list of `pairs` factors.
std::vector<float> factors_of(const ConfigFile& c, const char* key, int64_t pairs) {
  std::vector<float> all = c.factors(key);
  if (static_cast<int64_t>(all.size()) != pairs)
    c.unsupported(key, "lists of " + std::to_string(pairs) + " numbers, one of each pair in a head");
  return all;
}

models::RopeScaling rope_scaling(const ConfigFile& c, int64_t width) {
  constexpr double kMost = 1e6;
  models::RopeScaling r;
  r.type = rope_type(c);
  if (r.type == RopeType::none) return r;
  r.factor = c.real("factor", 1, 1e-3, kMost);
  r.original_max_position_embeddings = c.integer("original_max_position_embeddings", 0);
  if (r.type == RopeType::llama3) {
    r.low_freq_factor = c.real("low_freq_factor", 1, 1e-6, kMost);
    r.high_freq_factor = c.real("high_freq_factor", 4, 1e-6, kMost);
    if (r.high_freq_factor <= r.low_freq_factor)
      c.unsupported("high_freq_factor", "numbers above low_freq_factor");
  }
  if (r.type == RopeType::yarn) {
    c.only("truncate", true);
    r.beta_fast = c.real("beta_fast", 32, 1e-6, kMost);
    r.beta_slow = c.real("beta_slow", 1, 1e-6, kMost);
    r.attention_factor = c.real("attention_factor", 0, 0, kMost);
    r.mscale = c.real("mscale", 0, 0, kMost);
    r.mscale_all_dim = c.real("mscale_all_dim", 0, 0, kMost);
  }
  if (r.type == RopeType::longrope) {
    r.attention_factor = c.real("attention_factor", 0, 0, kMost);
    r.factors = factors_of(c, "short_factor", width / 2);
    r.long_factors = factors_of(c, "long_factor", width / 2);
  }
  return r;
}

void read_sliding_window(const ConfigFile& c, const std::string& kind, models::LlamaConfig& r) {
  if (kind == "qwen2") c.only("use_sliding_window", false);
  // A window of null is none.
  for (const std::string& type : c.texts("layer_types"))
    if (type != "full_attention") c.unsupported("layer_types", "lists of full_attention");
  if (kind == "mistral" || kind == "phi3") r.sliding_window = c.integer("sliding_window", 0);
}

models::LlamaConfig llama_config(const ConfigFile& c) {
  check_common(c);
  const std::string kind = c.text("model_type", "llama");
  models::LlamaConfig r;
  r.vocab_size = c.integer("vocab_size", 32000);
  r.hidden_size = c.integer("hidden_size");
  r.intermediate_size = c.integer("intermediate_size");
  r.num_hidden_layers = c.integer("num_hidden_layers", {}, 1, kMostLayers);
  r.num_attention_heads = c.integer("num_attention_heads");
  r.num_key_value_heads = c.integer("num_key_value_heads", r.num_attention_heads);
  r.max_position_embeddings = c.integer("max_position_embeddings", 2048);
  r.head_dim = c.integer("head_dim", 0);
  if (r.head_dim % 2 != 0) c.unsupported("head_dim", "even numbers");
  r.rms_norm_eps = c.real("rms_norm_eps", 1e-6, 0, 1);
  r.rope_theta = c.real("rope_theta", 10000, 1.0001, 1e12);
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const auto rope = c.object(key)) {
      r.rope_scaling = rope_scaling(*rope, r.head_width());
      r.rope_theta = rope->real("rope_theta", r.rope_theta, 1.0001, 1e12);
      rope->only("partial_rotary_factor", 1.0);
    }
  c.only("partial_rotary_factor", 1.0);
  // Phi-3 has them beside the object.
  if (r.rope_scaling.type == RopeType::longrope)
    r.rope_scaling.original_max_position_embeddings =
        c.integer("original_max_position_embeddings", r.rope_scaling.original_max_position_embeddings, 0);
  r.hidden_act = c.activation("hidden_act", "silu");
  r.qkv_bias = kind == "qwen2" || c.flag("attention_bias", false);
  r.output_bias = kind != "qwen2" && c.flag("attention_bias", false);
  r.mlp_bias = c.flag("mlp_bias", false);
  r.tie_word_embeddings = c.flag("tie_word_embeddings", false);
  read_sliding_window(c, kind, r);
  return r;
}

nlohmann::ordered_json rope_json(const models::RopeScaling& r, const char* type_key) {
  nlohmann::ordered_json j;
  j[type_key] = std::ranges::find(kRopes, r.type, &RopeName::type)->name;
  if (r.type != RopeType::longrope || r.original_max_position_embeddings == 0) j["factor"] = r.factor;
  if (r.original_max_position_embeddings > 0 && r.type != RopeType::longrope)
    j["original_max_position_embeddings"] = r.original_max_position_embeddings;
  if (r.type == RopeType::llama3) {
    j["low_freq_factor"] = r.low_freq_factor;
    j["high_freq_factor"] = r.high_freq_factor;
  }
  if (r.type == RopeType::yarn) {
    j["beta_fast"] = r.beta_fast;
    j["beta_slow"] = r.beta_slow;
    if (r.attention_factor > 0) j["attention_factor"] = r.attention_factor;
    if (r.mscale > 0) j["mscale"] = r.mscale;
    if (r.mscale_all_dim > 0) j["mscale_all_dim"] = r.mscale_all_dim;
  }
  if (r.type == RopeType::longrope) {
    if (r.attention_factor > 0) j["attention_factor"] = r.attention_factor;
    j["short_factor"] = r.factors;
    j["long_factor"] = r.long_factors;
  }
  return j;
}

/// Lists what one product computes in files of Phi-3.
std::vector<Join> phi3_joins() {
  return {{"self_attn.qkv_proj.weight",
           {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"}},
          {"mlp.gate_up_proj.weight", {"mlp.gate_proj.weight", "mlp.up_proj.weight"}}};
}

/// Names the architecture that has these biases, rotation and window; null pointers if there is none.
std::pair<const char*, const char*> llama_kind(const models::LlamaConfig& c) {
  const bool is_long = c.rope_scaling.type == RopeType::longrope;
  if ((!c.rope_scaling.factors.empty() && !is_long) || c.embedding_scale != 1) return {nullptr, nullptr};
  if (is_long && !c.qkv_bias && !c.output_bias && !c.mlp_bias) return {"Phi3ForCausalLM", "phi3"};
  if (c.sliding_window > 0 && !is_long && !c.qkv_bias && !c.output_bias && !c.mlp_bias)
    return {"MistralForCausalLM", "mistral"};
  if (c.sliding_window == 0 && !is_long && c.qkv_bias && !c.output_bias && !c.mlp_bias)
    return {"Qwen2ForCausalLM", "qwen2"};
  if (c.sliding_window == 0 && c.qkv_bias == c.output_bias) return {"LlamaForCausalLM", "llama"};
  return {nullptr, nullptr};
}

}  // namespace

const std::vector<std::string>& Family<Llama>::kinds() {
  static const auto& kinds = *new std::vector<std::string>{"llama", "mistral", "qwen2", "phi3"};
  return kinds;
}
Llama Family<Llama>::make(const Source& from) {
  const models::LlamaConfig c = llama_config(from.config);
  check_layers(from, c.num_hidden_layers);
  return Llama(c, from.site);
}
Layout Family<Llama>::layout(const Source& from, const Llama& m) {
  Layout l;
  if (from.config.text("model_type", "llama") == "phi3") l.splits = phi3_joins();
  l.ignored = {"*rotary_emb.inv_freq"};
  if (!m.lm_head) l.ignored.emplace_back("lm_head.weight");
  return l;
}
std::vector<Value> Family<Llama>::inputs(const Llama&) { return {{"input_ids", int64, {"batch", "tokens"}}}; }
std::vector<Value> Family<Llama>::outputs(const Llama& m) {
  return {{"logits", float32, {"batch", "tokens", m.config().vocab_size}}};
}
NamedTensors Family<Llama>::call(Llama& m, const NamedTensors& in, const Site& s) {
  return {{"logits", m(Arg(in.at("input_ids", s), s))}};
}

Saved saved(const Llama& m) {
  const models::LlamaConfig& c = m.config();
  const auto [architecture, kind] = llama_kind(c);
  if (!kind)
    return {.config = {},
            .problem =
                "Llama has biases of attention in all its products or in none, Qwen2 in those of queries, "
                "keys and values, a sliding window goes with Mistral, or Phi-3 with longrope, without "
                "biases, and other factors of single pairs in rotary embeddings and scales of embeddings are "
                "GGUF's alone"};
  Saved r{begun(architecture, kind)};
  nlohmann::ordered_json& j = r.config;
  j["vocab_size"] = c.vocab_size;
  j["hidden_size"] = c.hidden_size;
  j["intermediate_size"] = c.intermediate_size;
  j["num_hidden_layers"] = c.num_hidden_layers;
  j["num_attention_heads"] = c.num_attention_heads;
  j["num_key_value_heads"] = c.num_key_value_heads;
  j["max_position_embeddings"] = c.max_position_embeddings;
  if (c.head_dim > 0) j["head_dim"] = c.head_dim;
  j["rms_norm_eps"] = c.rms_norm_eps;
  j["rope_theta"] = c.rope_theta;
  if (c.rope_scaling.type == RopeType::longrope && c.rope_scaling.original_max_position_embeddings > 0)
    j["original_max_position_embeddings"] = c.rope_scaling.original_max_position_embeddings;
  if (std::string_view(kind) == "phi3") {
    r.joins = phi3_joins();
    j["pad_token_id"] = nullptr;  // transformers' is that of a vocabulary of 32,064, which this need not be
  }
  if (c.rope_scaling.type != RopeType::none)
    j["rope_scaling"] = rope_json(c.rope_scaling, std::string_view(kind) == "phi3" ? "type" : "rope_type");
  j["hidden_act"] = name_of(c.hidden_act);
  if (c.sliding_window > 0) j["sliding_window"] = c.sliding_window;
  if (std::string_view(kind) == "llama") {
    j["attention_bias"] = c.qkv_bias;
    j["mlp_bias"] = c.mlp_bias;
  }
  j["tie_word_embeddings"] = c.tie_word_embeddings;
  return r;
}

}  // namespace lazy::pretrained
