#include "lazy/models/gpt2.hpp"

#include <cmath>

#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/nn/functional/activation.hpp"
#include "lazy/nn/functional/attention.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/random/random.hpp"

namespace lazy::models {
namespace {

constexpr double kDeviation = 0.02;  // of weights at first

int64_t inner(const GPT2Config& c) { return c.n_inner > 0 ? c.n_inner : 4 * c.n_embd; }

}  // namespace

Conv1D::Conv1D(int64_t inputs, int64_t outputs, const Site& s)
    : TransposedLinear(nn::detail::Fresh(nn::LinearOptions{}, s).normal({inputs, outputs}) * kDeviation,
                       zeros({outputs}, float32, {}, s), s) {}

GPT2Attention::GPT2Attention(const GPT2Config& c, const Site& s)
    : c_attn(c.n_embd, 3 * c.n_embd, s), c_proj(c.n_embd, c.n_embd, s), heads(c.n_head), dropout(c.dropout) {}

namespace {

struct QueryKeyValue {
  Tensor q, k, v;  // (N, heads, T, width of a head)
};
QueryKeyValue cut(const GPT2Attention& a, const Tensor& x) {
  const Tensor all = a.c_attn(x);
  const int64_t width = x.size(2);
  const auto part = [&](int64_t i) {
    return split_heads(all(ellipsis, slice(i * width, (i + 1) * width)), a.heads);
  };
  return {part(0), part(1), part(2)};
}

}  // namespace

Tensor GPT2Attention::operator()(const Tensor& x) const {
  const auto [q, k, v] = cut(*this, x);
  const Tensor joined = join_heads(scaled_dot_product_attention(q, k, v, {}, true));
  return dropped(c_proj(joined), dropout, training());
}
Tensor GPT2Attention::operator()(const Tensor& x, const Tensor& seen, size_t layer, GPT2Cache& cache) const {
  auto [q, k, v] = cut(*this, x);
  extend(cache, layer, k, v);
  return dropped(c_proj(join_heads(scaled_dot_product_attention(q, k, v, seen))), dropout, training());
}

GPT2MLP::GPT2MLP(const GPT2Config& c, const Site& s)
    : c_fc(c.n_embd, inner(c), s),
      c_proj(inner(c), c.n_embd, s),
      activation(c.activation),
      dropout(c.dropout) {}
Tensor GPT2MLP::operator()(const Tensor& x) const {
  return dropped(c_proj(activate(activation, c_fc(x))), dropout, training());
}

GPT2Block::GPT2Block(const GPT2Config& c, const Site& s)
    : ln_1(c.n_embd, {.eps = c.layer_norm_epsilon}, s),
      attn(c, s),
      ln_2(c.n_embd, {.eps = c.layer_norm_epsilon}, s),
      mlp(c, s) {}
Tensor GPT2Block::operator()(const Tensor& x) const {
  const Tensor y = x + attn(ln_1(x));
  return y + mlp(ln_2(y));
}
Tensor GPT2Block::operator()(const Tensor& x, const Tensor& seen, size_t layer, GPT2Cache& cache) const {
  const Tensor y = x + attn(ln_1(x), seen, layer, cache);
  return y + mlp(ln_2(y));
}

GPT2Transformer::GPT2Transformer(const GPT2Config& c, const Site& s)
    : wte(c.vocab_size, c.n_embd, {}, s),
      wpe(c.n_positions, c.n_embd, {}, s),
      ln_f(c.n_embd, {.eps = c.layer_norm_epsilon}, s),
      dropout(c.dropout) {
  for (int64_t i = 0; i < c.n_layer; ++i) h.emplace_back(c, s);
}

Tensor GPT2Transformer::operator()(Arg ids) const {
  const Shape shape = check_ids("GPT2", ids, wpe.weight.size(0));
  Tensor x = dropped(wte(std::move(ids)) + wpe.weight(slice(shape[1])), dropout, training());
  for (const GPT2Block& block : h) x = block(x);
  return ln_f(x);
}
Tensor GPT2Transformer::operator()(Arg ids, GPT2Cache& cache) const {
  const Site s = ids.site();
  const Shape shape = check_ids("GPT2", ids, wpe.weight.size(0) - cache.length);
  check_cache("GPT2", cache, shape, s);
  const Tensor seen = seen_mask(&cache, shape[1], 0, s);
  const Slice here = slice(cache.length, cache.length + shape[1]);
  Tensor x = dropped(wte(std::move(ids)) + wpe.weight(here), dropout, training());
  for (size_t i = 0; i < h.size(); ++i) x = h[i](x, seen, i, cache);
  cache.length += shape[1];
  return ln_f(x);
}

GPT2::GPT2(const GPT2Config& c, Site s) : transformer(c, s), config_(c) {
  check_heads("GPT2", c.n_embd, c.n_head, s);
  nn::init::normal_({transformer.wte.weight, s}, 0, kDeviation);
  nn::init::normal_({transformer.wpe.weight, s}, 0, kDeviation);
  if (!c.tie_word_embeddings) {
    lm_head.emplace(c.n_embd, c.vocab_size, nn::LinearOptions{.bias = false}, s);
    nn::init::normal_({lm_head->weight, s}, 0, kDeviation);
  }
  // Sums of as many branches as there are keep their variance.
  const double scaled = kDeviation / std::sqrt(2 * static_cast<double>(c.n_layer));
  for (GPT2Block& block : transformer.h) {
    nn::init::normal_({block.attn.c_proj.weight, s}, 0, scaled);
    nn::init::normal_({block.mlp.c_proj.weight, s}, 0, scaled);
  }
}

Tensor GPT2::scores(const Tensor& x, const Site& s) const {
  return lm_head ? (*lm_head)(Arg(x, s)) : linear(Arg(x, s), transformer.wte.weight);
}
Tensor GPT2::operator()(Arg ids) const {
  const Site s = ids.site();
  return scores(transformer(std::move(ids)), s);
}
Tensor GPT2::operator()(Arg ids, GPT2Cache& cache) const {
  const Site s = ids.site();
  return scores(transformer(std::move(ids), cache), s);
}
Tensor GPT2::next_scores(Arg ids, GPT2Cache& cache) const {
  const Site s = ids.site();
  const Tensor x = transformer(std::move(ids), cache);
  return scores(x(_, slice(x.size(1) - 1, x.size(1))), s);
}

GPT2Cache GPT2::cache(IntegerArg sequences, IntegerArg positions, Site s) const {
  return new_cache(config_.n_layer, {sequences, config_.n_head, positions, config_.n_embd / config_.n_head},
                   transformer.ln_f.weight, s);
}

}  // namespace lazy::models
