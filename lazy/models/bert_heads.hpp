// Puts BERT to use: for classes of texts, classes of tokens, and tokens that are masked. Names are Hugging
// Face's.
#pragma once
#include "lazy/models/bert.hpp"

namespace lazy::models {

/// Returns the scores (N, labels) of texts, from the pooler's output.
struct BertForSequenceClassification : nn::Module {
  Bert bert;
  nn::Linear classifier;
  /// Error for a config without a pooler.
  BertForSequenceClassification(const BertConfig&, int64_t labels, Site s = Site::current());
  Tensor operator()(Arg ids, const Tensor& attention_mask = {}, const Tensor& token_type_ids = {}) const;
  LAZY_MODULE(bert, classifier)
};

/// Returns the scores (N, T, labels) of tokens.
struct BertForTokenClassification : nn::Module {
  Bert bert;
  nn::Linear classifier;
  BertForTokenClassification(const BertConfig&, int64_t labels, Site s = Site::current());
  Tensor operator()(Arg ids, const Tensor& attention_mask = {}, const Tensor& token_type_ids = {}) const;
  LAZY_MODULE(bert, classifier)
};

struct BertTransform : nn::Module {
  nn::Linear dense;
  nn::LayerNorm LayerNorm;
  BertTransform(const BertConfig& c, const Site& s)
      : dense(c.hidden_size, c.hidden_size, {}, s), LayerNorm(c.hidden_size, {.eps = c.layer_norm_eps}, s) {}
  LAZY_MODULE(dense, LayerNorm)
};
struct BertPredictions : nn::Module {
  Parameter bias;  // (vocab_size)
  BertTransform transform;
  std::optional<nn::Linear> decoder;  // without bias; none: the words' own weights
  BertPredictions(const BertConfig&, bool tied, const Site&);
  LAZY_MODULE(bias, transform, decoder)
};
struct BertMaskedHead : nn::Module {
  BertPredictions predictions;
  BertMaskedHead(const BertConfig& c, bool tied, const Site& s) : predictions(c, tied, s) {}
  LAZY_MODULE(predictions)
};

/// Returns the scores (N, T, vocab_size) of what stands in each place. Their weights are those of the words
/// unless `tied` is false.
struct BertForMaskedLM : nn::Module {
  Bert bert;
  BertMaskedHead cls;
  explicit BertForMaskedLM(const BertConfig&, bool tied = true, Site s = Site::current());
  Tensor operator()(Arg ids, const Tensor& attention_mask = {}, const Tensor& token_type_ids = {}) const;
  LAZY_MODULE(bert, cls)
};

}  // namespace lazy::models
