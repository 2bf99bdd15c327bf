// BERT (Devlin et al., 2018) with Hugging Face's names of BertModel.
#pragma once
#include <optional>
#include <vector>

#include "lazy/models/activation.hpp"
#include "lazy/nn/modules/embedding.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/normalisation.hpp"

namespace lazy::models {

/// Says how tokens are numbered. from_zero: as they stand. after_padding: from pad_token_id + 1 on, tokens
/// that are padding left out, as RoBERTa does (Liu et al., 2019).
enum class Positions : uint8_t { from_zero, after_padding };

/// Has the sizes of bert-base-uncased unless told otherwise.
struct BertConfig {
  int64_t vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  int64_t intermediate_size = 3072, max_position_embeddings = 512;
  int64_t type_vocab_size = 2;  // 0: tokens have no types
  int64_t pad_token_id = 0;     // this token's row begins as 0 and has no gradient
  double hidden_dropout_prob = 0.1, layer_norm_eps = 1e-12;
  Activation hidden_act = Activation::gelu, pooler_act = Activation::tanh;
  Positions positions = Positions::from_zero;
  bool pooler = true;  // Bert::pooler and BertOutputs::pooler_output are there
};

struct BertEmbeddings : nn::Module {
  nn::Embedding word_embeddings, position_embeddings;
  std::optional<nn::Embedding> token_type_embeddings;
  nn::LayerNorm LayerNorm;
  BertEmbeddings(const BertConfig&, const Site&);
  LAZY_MODULE(word_embeddings, position_embeddings, token_type_embeddings, LayerNorm)
};
struct BertSelfAttention : nn::Module {
  nn::Linear query, key, value;
  BertSelfAttention(const BertConfig&, const Site&);
  LAZY_MODULE(query, key, value)
};
/// Computes a product, adds what it began with, and normalises.
struct BertOutput : nn::Module {
  nn::Linear dense;
  nn::LayerNorm LayerNorm;
  double dropout;
  BertOutput(int64_t inputs, const BertConfig&, const Site&);
  Tensor operator()(const Tensor& x, const Tensor& begun_with) const;
  LAZY_MODULE(dense, LayerNorm)
};
struct BertAttention : nn::Module {
  BertSelfAttention self;
  BertOutput output;
  BertAttention(const BertConfig& c, const Site& s) : self(c, s), output(c.hidden_size, c, s) {}
  LAZY_MODULE(self, output)
};
struct BertDense : nn::Module {
  nn::Linear dense;
  BertDense(int64_t inputs, int64_t outputs, const Site& s) : dense(inputs, outputs, {}, s) {}
  LAZY_MODULE(dense)
};
struct BertLayer : nn::Module {
  BertAttention attention;
  BertDense intermediate;
  BertOutput output;
  int64_t heads;
  Activation activation;
  BertLayer(const BertConfig&, const Site&);
  Tensor operator()(const Tensor& x, const Tensor& mask) const;
  LAZY_MODULE(attention, intermediate, output)
};
struct BertEncoder : nn::Module {
  std::vector<BertLayer> layer;
  BertEncoder(const BertConfig&, const Site&);
  LAZY_MODULE(layer)
};

struct BertOutputs {
  Tensor last_hidden_state;  // (N, T, hidden)
  Tensor pooler_output;      // (N, hidden), of the first token; undefined without a pooler
};
/// Encodes ids (N, T). `attention_mask` (N, T) is 1 or true where a token counts; token types are 0 if not
/// given. Error for token types of a model that has none; IndexError, when a value is computed, for ids out
/// of range; ShapeError for more tokens than positions.
struct Bert : nn::Module {
  BertEmbeddings embeddings;
  BertEncoder encoder;
  std::optional<BertDense> pooler;
  explicit Bert(const BertConfig& config = {}, Site s = Site::current());
  BertOutputs operator()(Arg ids, const Tensor& attention_mask = {}, const Tensor& token_type_ids = {}) const;
  const BertConfig& config() const { return config_; }
  LAZY_MODULE(embeddings, encoder, pooler)

 private:
  Tensor embed(Arg ids, const Tensor& token_type_ids) const;
  BertConfig config_;
};

}  // namespace lazy::models
