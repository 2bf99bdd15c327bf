#include "lazy/pretrained/gguf_models.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/pretrained/gguf_keys.hpp"
#include "lazy/pretrained/gguf_weights.hpp"

namespace lazy::pretrained {
namespace {

/// Throws IoError for more layers than there can be: no more is made than is read.
void check_blocks(const char* op, const gguf::File& f, const std::string& architecture, int64_t layers,
                  const Site& s) {
  if (static_cast<size_t>(layers) > f.tensors().size())
    throw IoError(std::string(op) + ": " + f.path() + ": " + architecture + ".block_count is " +
                      std::to_string(layers) + ", but there are only " + std::to_string(f.tensors().size()) +
                      " tensors",
                  s);
}

/// Returns the shape of the tokens' embeddings.
Shape words_of(const gguf::File& f, const Site& s) {
  const gguf::TensorInfo* const words = f.find("token_embd.weight");
  if (!words || words->shape.size() != 2)
    throw IoError(f.path() + ": expected a matrix token_embd.weight" +
                      (words ? ", found " + to_string(words->shape) : ""),
                  s);
  return words->shape;
}

/// Returns the factors of that name, one for each pair; nothing if the file has none.
std::vector<float> factors_of(const gguf::File& f, const char* name, int64_t width, const Site& s) {
  const gguf::TensorInfo* const t = f.find(name);
  if (!t) return {};
  if (t->shape != Shape{width / 2} || t->type != gguf::TensorType::f32)
    throw IoError(f.path() + ": " + name + " is " + to_string(t->shape) + " " + gguf::name_of(t->type) +
                      ", expected " + to_string(Shape{width / 2}) + " F32",
                  s);
  return f.tensor(name, Device{}, s).to_vector<float>(s);
}

models::RopeScaling rope_of(const GgufKeys& k, int64_t width, const Site& s) {
  using models::RopeType;
  models::RopeScaling r;
  const gguf::File& f = k.file();
  r.factors = factors_of(f, "rope_factors_short.weight", width, s);
  r.long_factors = factors_of(f, "rope_factors_long.weight", width, s);
  if (r.factors.empty() != r.long_factors.empty())
    throw IoError(f.path() + ": expected rope_factors_short.weight and rope_factors_long.weight, found one",
                  s);
  const std::string type = k.text_of("rope.scaling.type", "none");
  if (!r.factors.empty()) r.type = RopeType::longrope;  // the type is left out by converters
  else if (type == "linear") r.type = RopeType::linear;
  else if (type == "yarn") r.type = RopeType::yarn;
  else if (type != "none") k.unsupported("rope.scaling.type", text::quoted(type), "none, linear, yarn");
  const double attention = k.real("rope.scaling.attn_factor", 1, 1e-6, 1e6);
  if (r.type == RopeType::longrope) r.attention_factor = attention;
  else if (r.type != RopeType::none && attention != 1)
    k.unsupported("rope.scaling.attn_factor", "another number than 1", "1");
  if (r.type != RopeType::none) {
    r.factor = k.real("rope.scaling.factor", 1, 1e-3, 1e6);
    r.original_max_position_embeddings = k.integer("rope.scaling.original_context_length", 0);
  }
  if (r.factors.empty()) r.factors = factors_of(f, "rope_freqs.weight", width, s);
  return r;
}

models::LlamaConfig llama_config_of(const GgufKeys& k, const std::string& architecture, const Site& s) {
  const gguf::File& f = k.file();
  models::LlamaConfig c;
  c.vocab_size = words_of(f, s)[0];
  c.hidden_size = k.integer("embedding_length");
  c.intermediate_size = k.integer("feed_forward_length");
  c.num_hidden_layers = k.integer("block_count", {}, kMostLayers);
  c.num_attention_heads = k.integer("attention.head_count");
  c.num_key_value_heads = k.integer("attention.head_count_kv", c.num_attention_heads);
  c.max_position_embeddings = k.integer("context_length");
  c.head_dim = k.integer("attention.key_length", 0);
  c.sliding_window = k.integer("attention.sliding_window", 0);
  c.rms_norm_eps = k.real("attention.layer_norm_rms_epsilon", 1e-5, 0, 1);
  c.rope_theta = k.real("rope.freq_base", 10000, 1.0001, 1e12);
  const int64_t width = c.head_width(), rotated = k.integer("rope.dimension_count", width);
  if (rotated != width || width % 2 != 0)
    k.unsupported("rope.dimension_count", std::to_string(rotated), "all of a head, an even number");
  if (k.integer("attention.value_length", width) != width)
    k.unsupported("attention.value_length", "another number than key_length", std::to_string(width));
  if (k.has("expert_count")) k.unsupported("expert_count", "there", "models without experts");
  c.qkv_bias = f.find("blk.0.attn_q.bias") != nullptr;
  c.output_bias = f.find("blk.0.attn_output.bias") != nullptr;
  c.tie_word_embeddings = f.find("output.weight") == nullptr;
  c.rope_scaling = rope_of(k, width, s);
  if (architecture == "gemma") {
    c.hidden_act = models::Activation::gelu_tanh;
    c.embedding_scale = std::sqrt(static_cast<double>(c.hidden_size));
  }
  return c;
}

models::GPT2Config gpt2_config_of(const GgufKeys& k, const Site& s) {
  const gguf::File& f = k.file();
  models::GPT2Config c;
  c.vocab_size = words_of(f, s)[0];
  c.n_positions = k.integer("context_length");
  c.n_embd = k.integer("embedding_length");
  c.n_layer = k.integer("block_count", {}, kMostLayers);
  c.n_head = k.integer("attention.head_count");
  c.n_inner = k.integer("feed_forward_length");
  c.layer_norm_epsilon = k.real("attention.layer_norm_epsilon", 1e-5, 0, 1);
  c.tie_word_embeddings = f.find("output.weight") == nullptr;
  return c;
}

const std::vector<Rename>& llama_names() {
  static const auto& names = *new std::vector<Rename>{{"^token_embd", "model.embed_tokens"},
                                                      {"^output_norm", "model.norm"},
                                                      {"^output", "lm_head"},
                                                      {"^blk.#", "model.layers.#"},
                                                      {"attn_norm", "input_layernorm"},
                                                      {"ffn_norm", "post_attention_layernorm"},
                                                      {"attn_q", "self_attn.q_proj"},
                                                      {"attn_k", "self_attn.k_proj"},
                                                      {"attn_v", "self_attn.v_proj"},
                                                      {"attn_output", "self_attn.o_proj"},
                                                      {"ffn_gate", "mlp.gate_proj"},
                                                      {"ffn_up", "mlp.up_proj"},
                                                      {"ffn_down", "mlp.down_proj"}};
  return names;
}

const std::vector<Rename>& gpt2_names() {
  static const auto& names = *new std::vector<Rename>{{"^token_embd", "transformer.wte"},
                                                      {"^position_embd", "transformer.wpe"},
                                                      {"^output_norm", "transformer.ln_f"},
                                                      {"^output", "lm_head"},
                                                      {"^blk.#", "transformer.h.#"},
                                                      {"attn_norm", "ln_1"},
                                                      {"ffn_norm", "ln_2"},
                                                      {"attn_qkv", "attn.c_attn"},
                                                      {"attn_output", "attn.c_proj"},
                                                      {"ffn_up", "mlp.c_fc"},
                                                      {"ffn_down", "mlp.c_proj"}};
  return names;
}

/// Returns the metadata that a model is made of as JSON: lists by their lengths.
std::string json_of(const gguf::File& f) {
  nlohmann::ordered_json j;
  for (const auto& [key, v] : f.metadata()) {
    switch (v.kind()) {
      case gguf::Kind::list: j[key] = "list of " + std::to_string(v.size()); break;
      case gguf::Kind::text: j[key] = v.text(); break;
      case gguf::Kind::boolean: j[key] = v.flag(); break;
      case gguf::Kind::float32:
      case gguf::Kind::float64: j[key] = v.real(); break;
      case gguf::Kind::uint64: j[key] = v.real(); break;
      default: j[key] = v.integer();
    }
  }
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

// These compute as Llama does, but for what their configs say.
constexpr const char* kLikeLlama[] = {"llama", "qwen2", "phi3", "gemma"};

/// Returns the name with another part in the place of one that it has.
std::string with_part(std::string name, std::string_view part, std::string_view by) {
  return name.replace(name.find(part), part.size(), by);
}

GgufLayout llama_layout(const std::string& architecture, const models::LlamaConfig& c) {
  GgufLayout l{.names = llama_names(),
               .ignored = {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"}};
  const int64_t heads = c.num_attention_heads, key_heads = c.num_key_value_heads, width = c.head_width(),
                inner = c.intermediate_size;
  // Converters put the pairs that are rotated side by side for this one alone.
  if (architecture == "llama")
    l.heads = [=](const std::string& name) -> int64_t {
      if (name.find(".attn_q.") != name.npos) return heads;
      return name.find(".attn_k.") != name.npos ? key_heads : 0;
    };
  if (architecture == "phi3")
    l.parts = [=](const std::string& name) -> std::vector<GgufPart> {
      const std::string_view qkv = ".attn_qkv.", up = ".ffn_up.";
      if (name.find(qkv) != name.npos)
        return {{with_part(name, qkv, ".attn_q."), heads * width},
                {with_part(name, qkv, ".attn_k."), key_heads * width},
                {with_part(name, qkv, ".attn_v."), key_heads * width}};
      if (name.find(up) != name.npos) return {{with_part(name, up, ".ffn_gate."), inner}, {name, inner}};
      return {};
    };
  return l;
}

models::Llama llama_of(const char* op, const gguf::File& f, const std::string& architecture, const Options& o,
                       const Site& s) {
  const models::LlamaConfig c = llama_config_of(GgufKeys(op, f, architecture, s), architecture, s);
  check_blocks(op, f, architecture, c.num_hidden_layers, s);
  models::Llama m = [&] {
    const nn::init::Skip skip;
    return models::Llama(c, s);
  }();
  adopt_gguf(op, m, f, llama_layout(architecture, c), o, s);
  return m;
}

models::GPT2 gpt2_of(const char* op, const gguf::File& f, const Options& o, const Site& s) {
  const models::GPT2Config c = gpt2_config_of(GgufKeys(op, f, "gpt2", s), s);
  check_blocks(op, f, "gpt2", c.n_layer, s);
  models::GPT2 m = [&] {
    const nn::init::Skip skip;
    return models::GPT2(c, s);
  }();
  adopt_gguf(op, m, f, {.names = gpt2_names(), .transposed = true}, o, s);
  return m;
}

}  // namespace

std::unique_ptr<Held> load_gguf_model(const char* op, const std::filesystem::path& path, const Options& o,
                                      const Site& s) {
  check_options(op, o, s);
  const gguf::File f = gguf::load(path.string(), s);
  const std::string architecture(f.at("general.architecture", s).text(s));
  std::unique_ptr<Held> held;
  if (architecture == "gpt2") held = std::make_unique<HeldAs<models::GPT2>>(gpt2_of(op, f, o, s));
  else if (std::find(std::begin(kLikeLlama), std::end(kLikeLlama), architecture) != std::end(kLikeLlama))
    held = std::make_unique<HeldAs<models::Llama>>(llama_of(op, f, architecture, o, s));
  else
    throw Error(std::string(op) + ": " + f.path() + ": general.architecture is " +
                    text::quoted(architecture) +
                    ", which is not supported; supported: llama, qwen2, phi3, gemma, gpt2",
                s);
  held->architecture = architecture;
  held->config = json_of(f);
  return held;
}

}  // namespace lazy::pretrained
