// A decoder as Llama's (Touvron et al., 2023) with Hugging Face's names of LlamaForCausalLM: positions by
// rotation, normalisation by the root of the mean of squares, gated products, several queries for each key.
#pragma once
#include <optional>
#include <vector>

#include "lazy/models/activation.hpp"
#include "lazy/models/cache.hpp"
#include "lazy/models/rope.hpp"
#include "lazy/nn/modules/embedding.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/normalisation.hpp"

namespace lazy::models {

/// Has the sizes of TinyLlama unless told otherwise. Mistral and Qwen2 are of this structure, too.
struct LlamaConfig {
  int64_t vocab_size = 32000, hidden_size = 2048, intermediate_size = 5632, num_hidden_layers = 22;
  int64_t num_attention_heads = 32, num_key_value_heads = 4, max_position_embeddings = 2048;
  int64_t head_dim = 0;        // width of a head; 0: hidden_size / num_attention_heads
  int64_t sliding_window = 0;  // keys less than so many tokens back are seen; 0: all
  double rms_norm_eps = 1e-5, rope_theta = 10000;
  double embedding_scale = 1;  // what rows of tokens are multiplied by (Gemma's is the root of hidden_size)
  RopeScaling rope_scaling = {};
  Activation hidden_act = Activation::silu;
  bool qkv_bias = false, output_bias = false,
       mlp_bias = false;             // biases of attention and of products behind it
  bool tie_word_embeddings = false;  // the scores' weights are those of the tokens

  int64_t head_width() const { return head_dim > 0 ? head_dim : hidden_size / num_attention_heads; }
};

using LlamaCache = KeyValueCache;

struct LlamaAttention : nn::Module {
  nn::Linear q_proj, k_proj, v_proj, o_proj;
  int64_t heads, key_heads;
  LlamaAttention(const LlamaConfig&, const Site&);
  LAZY_MODULE(q_proj, k_proj, v_proj, o_proj)
};
struct LlamaMLP : nn::Module {
  nn::Linear gate_proj, up_proj, down_proj;
  Activation activation;
  LlamaMLP(const LlamaConfig&, const Site&);
  Tensor operator()(const Tensor& x) const;
  LAZY_MODULE(gate_proj, up_proj, down_proj)
};
struct LlamaLayer : nn::Module {
  LlamaAttention self_attn;
  LlamaMLP mlp;
  nn::RMSNorm input_layernorm, post_attention_layernorm;
  LlamaLayer(const LlamaConfig&, const Site&);
  LAZY_MODULE(self_attn, mlp, input_layernorm, post_attention_layernorm)
};
struct LlamaModel : nn::Module {
  nn::Embedding embed_tokens;
  std::vector<LlamaLayer> layers;
  nn::RMSNorm norm;
  LlamaModel(const LlamaConfig&, const Site&);
  LAZY_MODULE(embed_tokens, layers, norm)
};

/// Returns for each token of ids (N, T) the scores (N, T, vocab_size) of what follows it. Without lm_head
/// they are products with the tokens' own weights. ShapeError for more tokens than positions; IndexError,
/// when a value is computed, for ids out of range.
struct Llama : nn::Module {
  LlamaModel model;
  std::optional<nn::Linear> lm_head;
  explicit Llama(const LlamaConfig& config = {}, Site s = Site::current());
  Tensor operator()(Arg ids) const;
  /// Goes on after the tokens that the cache has, and adds these to it. ShapeError for another number of
  /// sequences than cache() was made for.
  Tensor operator()(Arg ids, LlamaCache& cache) const;
  /// Does the same, and returns the scores behind the last of the ids alone, (N, 1, vocab_size).
  Tensor next_scores(Arg ids, LlamaCache& cache) const;
  /// Returns an empty cache for so many sequences, and tokens of each.
  LlamaCache cache(IntegerArg sequences, IntegerArg positions, Site s = Site::current()) const;
  /// Returns how many tokens a sequence can have.
  int64_t longest() const;
  const LlamaConfig& config() const { return config_; }
  LAZY_MODULE(model, lm_head)

 private:
  struct Places;
  Places places(int64_t before, int64_t length, const LlamaCache*) const;
  Tensor hidden(Arg ids, LlamaCache* cache) const;
  Tensor scores(const Tensor& x, const Site&) const;
  Tensor attend(const LlamaAttention&, const Tensor& x, const Places&, const Tensor& mask, size_t layer,
                LlamaCache*) const;
  LlamaConfig config_;
};

}  // namespace lazy::models
