#include "lazy/models/llama.hpp"

#include <cmath>

#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/attention.hpp"
#include "lazy/nn/functional/places.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"

namespace lazy::models {
namespace {

constexpr nn::LinearOptions kNoBias{.bias = false};

}  // namespace

LlamaAttention::LlamaAttention(const LlamaConfig& c, const Site& s)
    : q_proj(c.hidden_size, c.hidden_size, kNoBias, s),
      k_proj(c.hidden_size, c.hidden_size / c.num_attention_heads * c.num_key_value_heads, kNoBias, s),
      v_proj(c.hidden_size, c.hidden_size / c.num_attention_heads * c.num_key_value_heads, kNoBias, s),
      o_proj(c.hidden_size, c.hidden_size, kNoBias, s),
      heads(c.num_attention_heads),
      key_heads(c.num_key_value_heads) {}

LlamaMLP::LlamaMLP(const LlamaConfig& c, const Site& s)
    : gate_proj(c.hidden_size, c.intermediate_size, kNoBias, s),
      up_proj(c.hidden_size, c.intermediate_size, kNoBias, s),
      down_proj(c.intermediate_size, c.hidden_size, kNoBias, s) {}
Tensor LlamaMLP::operator()(const Tensor& x) const { return down_proj(silu(gate_proj(x)) * up_proj(x)); }

LlamaLayer::LlamaLayer(const LlamaConfig& c, const Site& s)
    : self_attn(c, s),
      mlp(c, s),
      input_layernorm(c.hidden_size, {.eps = c.rms_norm_eps}, s),
      post_attention_layernorm(c.hidden_size, {.eps = c.rms_norm_eps}, s) {}

LlamaModel::LlamaModel(const LlamaConfig& c, const Site& s)
    : embed_tokens(c.vocab_size, c.hidden_size, {}, s), norm(c.hidden_size, {.eps = c.rms_norm_eps}, s) {
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layers.emplace_back(c, s);
}

Llama::Llama(const LlamaConfig& c, Site s)
    : model((check_heads("Llama", c.hidden_size, c.num_attention_heads, s),
             check_heads("Llama", c.num_attention_heads, c.num_key_value_heads, s), c),
            s),
      lm_head(c.hidden_size, c.vocab_size, kNoBias, s),
      config_(c) {
  apply([&](nn::Linear& l) { nn::init::normal_({l.weight, s}, 0, 0.02); });
  nn::init::normal_({model.embed_tokens.weight, s}, 0, 0.02);
}

Tensor Llama::operator()(Arg ids) const { return run(std::move(ids), nullptr); }
Tensor Llama::operator()(Arg ids, LlamaCache& cache) const { return run(std::move(ids), &cache); }

LlamaCache Llama::cache(IntegerArg sequences, IntegerArg positions, Site s) const {
  LlamaCache c;
  const Shape shape{sequences, config_.num_key_value_heads, positions,
                    config_.hidden_size / config_.num_attention_heads};
  for (int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    c.keys.push_back(zeros(shape, lm_head.weight.dtype(s), lm_head.weight.device(s), s));
    c.values.push_back(c.keys.back());
  }
  return c;
}

Tensor Llama::attend(const LlamaAttention& a, const Tensor& x, const Tensor& places, size_t layer,
                     LlamaCache* cache) const {
  const int64_t n = x.size(0), length = x.size(1), groups = a.heads / a.key_heads,
                width = x.size(2) / a.heads;
  const Tensor q = rotary_embedding(split_heads(a.q_proj(x), a.heads), places, config_.rope_theta);
  Tensor k = rotary_embedding(split_heads(a.k_proj(x), a.key_heads), places, config_.rope_theta),
         v = split_heads(a.v_proj(x), a.key_heads);
  Tensor mask;
  if (cache) {
    const Slice here = slice(cache->length, cache->length + length);
    cache->keys[layer](_, _, here) = k;
    cache->values[layer](_, _, here) = v;
    k = cache->keys[layer], v = cache->values[layer];
    mask = arange(k.size(2)) <= reshape(arange(length), {length, 1}) + cache->length;
  }
  // Each key serves a group of queries.
  const Tensor grouped = reshape(q, {n, a.key_heads, groups, length, width});
  const auto shared = [&](const Tensor& t) { return reshape(t, {n, a.key_heads, 1, t.size(2), width}); };
  const Tensor y = scaled_dot_product_attention(grouped, shared(k), shared(v), mask, cache == nullptr);
  return a.o_proj(join_heads(reshape(y, {n, a.heads, length, width})));
}

Tensor Llama::run(Arg ids, LlamaCache* cache) const {
  const Site s = ids.site();
  const Shape shape = check_ids("Llama", ids, config_.max_position_embeddings);
  if (cache && (cache->keys.empty() || cache->keys[0].size(0, s) != shape[0] ||
                cache->length + shape[1] > cache->keys[0].size(2, s)))
    lazy::detail::fail<ShapeError>("Llama",
                                   "ids " + to_string(shape) + " after " + std::to_string(cache->length) +
                                       " tokens don't fit a cache " +
                                       (cache->keys.empty() ? "()" : to_string(cache->keys[0].shape(s))),
                                   s);
  const Tensor places = arange(shape[1]).astype(float32) + static_cast<double>(cache ? cache->length : 0);
  Tensor x = model.embed_tokens(std::move(ids));
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LlamaLayer& layer = model.layers[i];
    x = x + attend(layer.self_attn, layer.input_layernorm(x), places, i, cache);
    x = x + layer.mlp(layer.post_attention_layernorm(x));
  }
  if (cache) cache->length += shape[1];
  return lm_head(model.norm(x));
}

}  // namespace lazy::models
