#include "lazy/models/bert_heads.hpp"

#include "lazy/models/heads.hpp"
#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::models {
namespace {

const BertConfig& with_pooler(const BertConfig& c, const Site& s) {
  if (!c.pooler)
    lazy::detail::fail<Error>("BertForSequenceClassification",
                              "classifies what a pooler gives: pooler = true", s);
  return c;
}

BertConfig without_pooler(BertConfig c) {
  c.pooler = false;
  return c;
}

void fill(nn::Linear& l, const Site& s) {
  nn::init::normal_({l.weight, s}, 0, 0.02);
  if (l.bias.defined()) nn::init::zeros_({l.bias, s});
}

}  // namespace

BertForSequenceClassification::BertForSequenceClassification(const BertConfig& c, int64_t labels, Site s)
    : bert(with_pooler(c, s), s), classifier(c.hidden_size, labels, {}, s) {
  fill(classifier, s);
}
Tensor BertForSequenceClassification::operator()(Arg ids, const Tensor& mask, const Tensor& types) const {
  const Tensor x = bert(std::move(ids), mask, types).pooler_output;
  return classifier(dropped(x, bert.config().hidden_dropout_prob, training()));
}

BertForTokenClassification::BertForTokenClassification(const BertConfig& c, int64_t labels, Site s)
    : bert(without_pooler(c), s), classifier(c.hidden_size, labels, {}, s) {
  fill(classifier, s);
}
Tensor BertForTokenClassification::operator()(Arg ids, const Tensor& mask, const Tensor& types) const {
  const Tensor x = bert(std::move(ids), mask, types).last_hidden_state;
  return classifier(dropped(x, bert.config().hidden_dropout_prob, training()));
}

BertPredictions::BertPredictions(const BertConfig& c, bool tied, const Site& s)
    : bias(zeros({c.vocab_size}, float32, {}, s)), transform(c, s) {
  if (!tied) decoder.emplace(c.hidden_size, c.vocab_size, nn::LinearOptions{.bias = false}, s);
}

BertForMaskedLM::BertForMaskedLM(const BertConfig& c, bool tied, Site s)
    : bert(without_pooler(c), s), cls(c, tied, s) {
  fill(cls.predictions.transform.dense, s);
  if (cls.predictions.decoder) fill(*cls.predictions.decoder, s);
}
Tensor BertForMaskedLM::operator()(Arg ids, const Tensor& mask, const Tensor& types) const {
  const BertPredictions& p = cls.predictions;
  const Tensor x = bert(std::move(ids), mask, types).last_hidden_state;
  const Tensor y = p.transform.LayerNorm(activate(bert.config().hidden_act, p.transform.dense(x)));
  const Tensor& weights = p.decoder ? p.decoder->weight : bert.embeddings.word_embeddings.weight;
  return linear(y, weights, p.bias);
}

}  // namespace lazy::models
