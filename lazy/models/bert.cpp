#include "lazy/models/bert.hpp"

#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/nn/functional/attention.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/running.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::models {

BertEmbeddings::BertEmbeddings(const BertConfig& c, const Site& s)
    : word_embeddings(c.vocab_size, c.hidden_size, {.padding_idx = c.pad_token_id}, s),
      position_embeddings(c.max_position_embeddings, c.hidden_size, {}, s),
      LayerNorm(c.hidden_size, {.eps = c.layer_norm_eps}, s) {
  if (c.type_vocab_size > 0)
    token_type_embeddings.emplace(c.type_vocab_size, c.hidden_size, nn::EmbeddingOptions{}, s);
}

BertSelfAttention::BertSelfAttention(const BertConfig& c, const Site& s)
    : query(c.hidden_size, c.hidden_size, {}, s),
      key(c.hidden_size, c.hidden_size, {}, s),
      value(c.hidden_size, c.hidden_size, {}, s) {}

BertOutput::BertOutput(int64_t inputs, const BertConfig& c, const Site& s)
    : dense(inputs, c.hidden_size, {}, s),
      LayerNorm(c.hidden_size, {.eps = c.layer_norm_eps}, s),
      dropout(c.hidden_dropout_prob) {}

Tensor BertOutput::operator()(const Tensor& x, const Tensor& begun_with) const {
  Tensor y = dense(x);
  if (training() && dropout > 0) y = lazy::dropout(y, dropout, true);
  return LayerNorm(y + begun_with);
}

BertLayer::BertLayer(const BertConfig& c, const Site& s)
    : attention(c, s),
      intermediate(c.hidden_size, c.intermediate_size, s),
      output(c.intermediate_size, c, s),
      heads(c.num_attention_heads),
      activation(c.hidden_act) {}

Tensor BertLayer::operator()(const Tensor& x, const Tensor& mask) const {
  const BertSelfAttention& self = attention.self;
  const Tensor joined = join_heads(scaled_dot_product_attention(split_heads(self.query(x), heads),
                                                                split_heads(self.key(x), heads),
                                                                split_heads(self.value(x), heads), mask));
  const Tensor y = attention.output(joined, x);
  return output(activate(activation, intermediate.dense(y)), y);
}

BertEncoder::BertEncoder(const BertConfig& c, const Site& s) {
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layer.emplace_back(c, s);
}

Bert::Bert(const BertConfig& c, Site s) : embeddings(c, s), encoder(c, s), config_(c) {
  check_heads("Bert", c.hidden_size, c.num_attention_heads, s);
  if (c.pooler) pooler.emplace(c.hidden_size, c.hidden_size, s);
  apply([&](nn::Linear& l) {
    nn::init::normal_({l.weight, s}, 0, 0.02);
    nn::init::zeros_({l.bias, s});
  });
  apply([&](nn::Embedding& e) {
    nn::init::normal_({e.weight, s}, 0, 0.02);
    if (!e.padding_idx) return;
    const Tensor rows = arange(e.weight.size(0)).reshape({-1, 1});
    e.weight.reset(where(rows == *e.padding_idx, 0, e.weight), s);
  });
}

Tensor Bert::embed(Arg ids, const Tensor& token_type_ids) const {
  const Site s = ids.site();
  const bool shifted = config_.positions == Positions::after_padding;
  const Shape shape =
      check_ids("Bert", ids, config_.max_position_embeddings - (shifted ? config_.pad_token_id + 1 : 0));
  const Tensor all(ids.take());
  Tensor x = embeddings.word_embeddings(Arg(all, s));
  if (embeddings.token_type_embeddings) {
    const nn::Embedding& types = *embeddings.token_type_embeddings;
    x = x + (token_type_ids.defined() ? types(Arg(token_type_ids, s)) : types.weight(0));
  } else if (token_type_ids.defined()) {
    lazy::detail::fail<Error>("Bert", "token types for a model that has none", s);
  }
  if (shifted) {
    const Tensor counts = (all != config_.pad_token_id).astype(int64);
    x = x + embeddings.position_embeddings(cumsum(counts, 1) * counts + config_.pad_token_id);
  } else {
    x = x + embeddings.position_embeddings.weight(slice(shape[1]));
  }
  return dropped(embeddings.LayerNorm(x), config_.hidden_dropout_prob, training());
}

BertOutputs Bert::operator()(Arg ids, const Tensor& attention_mask, const Tensor& token_type_ids) const {
  const Site s = ids.site();
  const Shape shape = lazy::detail::Operand("Bert", ids)->shape;
  Tensor x = embed(std::move(ids), token_type_ids), mask;
  if (attention_mask.defined()) {
    if (attention_mask.shape(s) != shape)
      lazy::detail::fail<ShapeError>(
          "Bert", "an attention_mask " + to_string(attention_mask.shape(s)) + " for ids " + to_string(shape),
          s);
    mask = reshape(Arg(attention_mask, s), {shape[0], 1, 1, shape[1]}) != 0;
  }
  for (const BertLayer& layer : encoder.layer) x = layer(x, mask);
  if (!pooler) return {x, {}};
  return {x, activate(config_.pooler_act, pooler->dense(x(_, 0)))};
}

}  // namespace lazy::models
