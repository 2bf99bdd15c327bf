#include "lazy/models/bert.hpp"

#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/models/heads.hpp"
#include "lazy/nn/functional/attention.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/random/random.hpp"

namespace lazy::models {

BertEmbeddings::BertEmbeddings(const BertConfig& c, const Site& s)
    : word_embeddings(c.vocab_size, c.hidden_size, {.padding_idx = c.pad_token_id}, s),
      position_embeddings(c.max_position_embeddings, c.hidden_size, {}, s),
      token_type_embeddings(c.type_vocab_size, c.hidden_size, {}, s),
      LayerNorm(c.hidden_size, {.eps = c.layer_norm_eps}, s) {}

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
      heads(c.num_attention_heads) {}

Tensor BertLayer::operator()(const Tensor& x, const Tensor& mask) const {
  const BertSelfAttention& self = attention.self;
  const Tensor joined = join_heads(scaled_dot_product_attention(split_heads(self.query(x), heads),
                                                                split_heads(self.key(x), heads),
                                                                split_heads(self.value(x), heads), mask));
  const Tensor y = attention.output(joined, x);
  return output(gelu(intermediate.dense(y)), y);
}

BertEncoder::BertEncoder(const BertConfig& c, const Site& s) {
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layer.emplace_back(c, s);
}

Bert::Bert(const BertConfig& c, Site s)
    : embeddings(c, s), encoder(c, s), pooler(c.hidden_size, c.hidden_size, s), config_(c) {
  check_heads("Bert", c.hidden_size, c.num_attention_heads, s);
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

BertOutputs Bert::operator()(Arg ids, const Tensor& attention_mask, const Tensor& token_type_ids) const {
  const Site s = ids.site();
  const Shape shape = check_ids("Bert", ids, config_.max_position_embeddings);
  Tensor mask;
  if (attention_mask.defined()) {
    if (attention_mask.shape(s) != shape)
      lazy::detail::fail<ShapeError>(
          "Bert", "an attention_mask " + to_string(attention_mask.shape(s)) + " for ids " + to_string(shape),
          s);
    mask = reshape(Arg(attention_mask, s), {shape[0], 1, 1, shape[1]}) != 0;
  }
  const Tensor types = token_type_ids.defined() ? embeddings.token_type_embeddings(Arg(token_type_ids, s))
                                                : embeddings.token_type_embeddings.weight(0);
  const Tensor positions = embeddings.position_embeddings.weight(slice(shape[1]));
  Tensor x = embeddings.LayerNorm(embeddings.word_embeddings(std::move(ids)) + types + positions);
  if (training() && config_.hidden_dropout_prob > 0) x = dropout(x, config_.hidden_dropout_prob, true);
  for (const BertLayer& layer : encoder.layer) x = layer(x, mask);
  return {x, tanh(pooler.dense(x(_, 0)))};
}

}  // namespace lazy::models
