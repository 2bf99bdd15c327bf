#include "lazy/models/llama.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/attention.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/functional/places.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"

namespace lazy::models {
namespace {

constexpr nn::LinearOptions kNoBias{.bias = false};

const LlamaConfig& checked(const LlamaConfig& c, const Site& s) {
  if (c.head_dim <= 0) check_heads("Llama", c.hidden_size, c.num_attention_heads, s);
  check_heads("Llama", c.num_attention_heads, c.num_key_value_heads, s);
  return c;
}

}  // namespace

/// Says by what heads are rotated.
struct Llama::Places {
  Tensor at;           // of the tokens, (T)
  Tensor frequencies;  // of the pairs, (width / 2); undefined: by rope_theta alone
  double scale = 1;    // of rotated queries and keys
};

LlamaAttention::LlamaAttention(const LlamaConfig& c, const Site& s)
    : q_proj(c.hidden_size, c.head_width() * c.num_attention_heads, {.bias = c.qkv_bias}, s),
      k_proj(c.hidden_size, c.head_width() * c.num_key_value_heads, {.bias = c.qkv_bias}, s),
      v_proj(c.hidden_size, c.head_width() * c.num_key_value_heads, {.bias = c.qkv_bias}, s),
      o_proj(c.head_width() * c.num_attention_heads, c.hidden_size, {.bias = c.output_bias}, s),
      heads(c.num_attention_heads),
      key_heads(c.num_key_value_heads) {}

LlamaMLP::LlamaMLP(const LlamaConfig& c, const Site& s)
    : gate_proj(c.hidden_size, c.intermediate_size, {.bias = c.mlp_bias}, s),
      up_proj(c.hidden_size, c.intermediate_size, {.bias = c.mlp_bias}, s),
      down_proj(c.intermediate_size, c.hidden_size, {.bias = c.mlp_bias}, s),
      activation(c.hidden_act) {}
Tensor LlamaMLP::operator()(const Tensor& x) const {
  return down_proj(activate(activation, gate_proj(x)) * up_proj(x));
}

LlamaLayer::LlamaLayer(const LlamaConfig& c, const Site& s)
    : self_attn(c, s),
      mlp(c, s),
      input_layernorm(c.hidden_size, {.eps = c.rms_norm_eps}, s),
      post_attention_layernorm(c.hidden_size, {.eps = c.rms_norm_eps}, s) {}

LlamaModel::LlamaModel(const LlamaConfig& c, const Site& s)
    : embed_tokens(c.vocab_size, c.hidden_size, {}, s), norm(c.hidden_size, {.eps = c.rms_norm_eps}, s) {
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layers.emplace_back(c, s);
}

Llama::Llama(const LlamaConfig& c, Site s) : model(checked(c, s), s), config_(c) {
  if (!c.tie_word_embeddings) lm_head.emplace(c.hidden_size, c.vocab_size, kNoBias, s);
  apply([&](nn::Linear& l) { nn::init::normal_({l.weight, s}, 0, 0.02); });
  nn::init::normal_({model.embed_tokens.weight, s}, 0, 0.02);
}

Tensor Llama::operator()(Arg ids) const {
  const Site s = ids.site();
  return scores(hidden(std::move(ids), nullptr), s);
}
Tensor Llama::operator()(Arg ids, LlamaCache& cache) const {
  const Site s = ids.site();
  return scores(hidden(std::move(ids), &cache), s);
}
Tensor Llama::next_scores(Arg ids, LlamaCache& cache) const {
  const Site s = ids.site();
  const Tensor x = hidden(std::move(ids), &cache);
  return scores(x(_, slice(x.size(1) - 1, x.size(1))), s);
}

LlamaCache Llama::cache(IntegerArg sequences, IntegerArg positions, Site s) const {
  return new_cache(config_.num_hidden_layers,
                   {sequences, config_.num_key_value_heads, positions, config_.head_width()},
                   model.norm.weight, s);
}

int64_t Llama::longest() const {
  const bool grows = config_.rope_scaling.type == RopeType::dynamic;
  const double most = static_cast<double>(config_.max_position_embeddings) *
                      (grows ? std::max(config_.rope_scaling.factor, 1.0) : 1.0);
  return static_cast<int64_t>(std::min(most, 9e18));
}

Llama::Places Llama::places(int64_t before, int64_t length, const LlamaCache* cache) const {
  Places p;
  p.at = arange(length).astype(float32) + static_cast<double>(before);
  // Keys in a cache keep their rotation: all are turned as in the longest text that it has room for.
  const int64_t longest = cache ? cache->keys[0].size(2) : length;
  const RopeFrequencies f = rope_frequencies(config_.rope_scaling, config_.rope_theta, config_.head_width(),
                                             config_.max_position_embeddings, longest);
  if (!f.values.empty()) p.frequencies = from_span(f.values);
  p.scale = f.scale;
  return p;
}

Tensor Llama::attend(const LlamaAttention& a, const Tensor& x, const Places& places, const Tensor& mask,
                     size_t layer, LlamaCache* cache) const {
  const int64_t n = x.size(0), length = x.size(1), groups = a.heads / a.key_heads,
                width = config_.head_width();
  const auto rotated = [&](const Tensor& t) {
    if (!places.frequencies.defined()) return rotary_embedding(t, places.at, config_.rope_theta);
    const Tensor y = rotary_embedding(t, places.at, places.frequencies);
    return places.scale == 1 ? y : y * places.scale;
  };
  const Tensor q = rotated(split_heads(a.q_proj(x), a.heads));
  Tensor k = rotated(split_heads(a.k_proj(x), a.key_heads)), v = split_heads(a.v_proj(x), a.key_heads);
  if (cache) extend(*cache, layer, k, v);
  // Each key serves a group of queries.
  const Tensor grouped = reshape(q, {n, a.key_heads, groups, length, width});
  const auto shared = [&](const Tensor& t) { return reshape(t, {n, a.key_heads, 1, t.size(2), width}); };
  const Tensor y = scaled_dot_product_attention(grouped, shared(k), shared(v), mask, !mask.defined());
  return a.o_proj(join_heads(reshape(y, {n, a.heads, length, width})));
}

Tensor Llama::hidden(Arg ids, LlamaCache* cache) const {
  const Site s = ids.site();
  const Shape shape = check_ids("Llama", ids, longest());
  if (cache) check_cache("Llama", *cache, shape, s);
  const Places where = places(cache ? cache->length : 0, shape[1], cache);
  const Tensor seen = seen_mask(cache, shape[1], config_.sliding_window, s);
  Tensor x = model.embed_tokens(std::move(ids));
  if (config_.embedding_scale != 1) x = x * config_.embedding_scale;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LlamaLayer& layer = model.layers[i];
    x = x + attend(layer.self_attn, layer.input_layernorm(x), where, seen, i, cache);
    x = x + layer.mlp(layer.post_attention_layernorm(x));
  }
  if (cache) cache->length += shape[1];
  return model.norm(x);
}

Tensor Llama::scores(const Tensor& x, const Site& s) const {
  return lm_head ? (*lm_head)(Arg(x, s)) : linear(Arg(x, s), model.embed_tokens.weight);
}

}  // namespace lazy::models
