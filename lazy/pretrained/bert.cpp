// BERT and what has its structure: RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT.
#include "lazy/pretrained/common.hpp"

namespace lazy::pretrained {
namespace {

const std::vector<std::string>& bert_kinds() {
  static const auto& kinds =
      *new std::vector<std::string>{"bert", "roberta", "xlm-roberta", "camembert", "distilbert"};
  return kinds;
}

std::string kind_of(const ConfigFile& c) { return c.text("model_type", "bert"); }
bool is_distilbert(const ConfigFile& c) { return kind_of(c) == "distilbert"; }
bool is_roberta(const ConfigFile& c) { return !is_distilbert(c) && kind_of(c) != "bert"; }

models::BertConfig distilbert_config(const ConfigFile& c) {
  models::BertConfig r;
  r.vocab_size = c.integer("vocab_size", 30522);
  r.hidden_size = c.integer("dim", 768);
  r.num_hidden_layers = c.integer("n_layers", 6, 1, kMostLayers);
  r.num_attention_heads = c.integer("n_heads", 12);
  r.intermediate_size = c.integer("hidden_dim", 3072);
  r.max_position_embeddings = c.integer("max_position_embeddings", 512);
  r.type_vocab_size = 0;
  r.pad_token_id = c.integer("pad_token_id", 0, 0, r.vocab_size - 1);
  r.hidden_dropout_prob = c.real("dropout", 0.1, 0, 1);
  r.hidden_act = c.activation("activation", "gelu");
  r.pooler = false;
  return r;
}

/// Returns what a config says of all models of the family, without a pooler.
models::BertConfig bert_config(const Source& from) {
  const ConfigFile& c = from.config;
  check_common(c);
  c.only("position_embedding_type", "absolute");
  c.only("is_decoder", false);
  models::BertConfig r;
  if (is_distilbert(c)) {
    r = distilbert_config(c);
  } else {
    const bool shifted = is_roberta(c);
    r.vocab_size = c.integer("vocab_size", shifted ? 50265 : 30522);
    r.hidden_size = c.integer("hidden_size", 768);
    r.num_hidden_layers = c.integer("num_hidden_layers", 12, 1, kMostLayers);
    r.num_attention_heads = c.integer("num_attention_heads", 12);
    r.intermediate_size = c.integer("intermediate_size", 3072);
    r.max_position_embeddings = c.integer("max_position_embeddings", 512);
    r.type_vocab_size = c.integer("type_vocab_size", 2, 0);
    r.pad_token_id = c.integer("pad_token_id", shifted ? 1 : 0, 0, r.vocab_size - 1);
    r.hidden_dropout_prob = c.real("hidden_dropout_prob", 0.1, 0, 1);
    r.layer_norm_eps = c.real("layer_norm_eps", 1e-12, 0, 1);
    r.hidden_act = c.activation("hidden_act", "gelu");
    r.positions = shifted ? models::Positions::after_padding : models::Positions::from_zero;
    r.pooler = false;
  }
  check_layers(from, r.num_hidden_layers);
  return r;
}

// Undone in the opposite order, in which the longer names of attention come first.
const std::vector<Rename>& distilbert_names() {
  static const auto& names = *new std::vector<Rename>{{"transformer.layer.#", "encoder.layer.#"},
                                                      {"ffn.lin1", "intermediate.dense"},
                                                      {"ffn.lin2", "output.dense"},
                                                      {"output_layer_norm", "output.LayerNorm"},
                                                      {"attention.q_lin", "attention.self.query"},
                                                      {"attention.k_lin", "attention.self.key"},
                                                      {"attention.v_lin", "attention.self.value"},
                                                      {"attention.out_lin", "attention.output.dense"},
                                                      {"sa_layer_norm", "attention.output.LayerNorm"}};
  return names;
}

/// Returns the names of one model without heads, which begins with `prefix` in ours.
Layout bert_layout(const Source& from, const std::string& prefix) {
  Layout l;
  for (const char* base : {"bert.", "roberta.", "distilbert."})
    if (from.weights.any_begins(base)) l.renames.push_back({std::string("^") + base, prefix});
  // Weights of TensorFlow's time.
  l.renames.push_back({"LayerNorm.gamma", "LayerNorm.weight"});
  l.renames.push_back({"LayerNorm.beta", "LayerNorm.bias"});
  l.ignored = {"*position_ids", "*embeddings.token_type_ids", "cls.seq_relationship.*"};
  if (is_distilbert(from.config))
    l.renames.insert(l.renames.end(), distilbert_names().begin(), distilbert_names().end());
  return l;
}

void drop(Layout& l, std::initializer_list<const char*> names) {
  for (const char* n : names) l.ignored.emplace_back(n);
}

std::vector<Value> bert_inputs(const models::Bert& m) {
  const std::vector<Extent> shape{"batch", "tokens"};
  std::vector<Value> all{{"input_ids", int64, shape}, {"attention_mask", int64, shape, true}};
  if (m.embeddings.token_type_embeddings) all.push_back({"token_type_ids", int64, shape, true});
  return all;
}

template <class M>
auto called(const M& m, const NamedTensors& in, const Site& s) {
  return m(Arg(in.at("input_ids", s), s), given(in, "attention_mask"), given(in, "token_type_ids"));
}

bool is_shifted(const models::BertConfig& c) { return c.positions == models::Positions::after_padding; }
bool has_types(const models::BertConfig& c) { return c.type_vocab_size > 0; }

nlohmann::ordered_json distilbert_json(const models::BertConfig& c, const char* architecture) {
  nlohmann::ordered_json j = begun(architecture, "distilbert");
  j["vocab_size"] = c.vocab_size;
  j["dim"] = c.hidden_size;
  j["n_layers"] = c.num_hidden_layers;
  j["n_heads"] = c.num_attention_heads;
  j["hidden_dim"] = c.intermediate_size;
  j["max_position_embeddings"] = c.max_position_embeddings;
  j["pad_token_id"] = c.pad_token_id;
  j["dropout"] = j["attention_dropout"] = c.hidden_dropout_prob;
  j["activation"] = name_of(c.hidden_act);
  return j;
}

nlohmann::ordered_json bert_json(const models::BertConfig& c, const char* architecture, const char* kind) {
  nlohmann::ordered_json j = begun(architecture, kind);
  j["vocab_size"] = c.vocab_size;
  j["hidden_size"] = c.hidden_size;
  j["num_hidden_layers"] = c.num_hidden_layers;
  j["num_attention_heads"] = c.num_attention_heads;
  j["intermediate_size"] = c.intermediate_size;
  j["max_position_embeddings"] = c.max_position_embeddings;
  j["type_vocab_size"] = c.type_vocab_size;
  j["pad_token_id"] = c.pad_token_id;
  j["hidden_dropout_prob"] = j["attention_probs_dropout_prob"] = c.hidden_dropout_prob;
  j["layer_norm_eps"] = c.layer_norm_eps;
  j["hidden_act"] = name_of(c.hidden_act);
  return j;
}

/// Names an architecture of each structure.
struct Names {
  const char *bert, *roberta, *distilbert;
};

/// Begins what is written of a model of the family, with the names of all but its head.
Saved begun_as(const models::BertConfig& c, const Names& names, const std::string& prefix) {
  if (has_types(c) && !is_shifted(c)) return {bert_json(c, names.bert, "bert")};
  if (has_types(c)) {
    Saved r{bert_json(c, names.roberta, "roberta")};
    if (!prefix.empty()) r.renames = {{"^" + prefix, "roberta."}};
    return r;
  }
  Saved r{distilbert_json(c, names.distilbert), reversed(distilbert_names())};
  if (!prefix.empty()) r.renames.push_back({"^" + prefix, "distilbert."});
  constexpr double kEps = 1e-12;  // which no key changes
  if (is_shifted(c) || c.layer_norm_eps != kEps)
    r.problem =
        "without token types it is DistilBERT, whose positions are from zero and layer_norm_eps 1e-12";
  return r;
}

void add_labels(nlohmann::ordered_json& j, int64_t labels) {
  for (int64_t i = 0; i < labels; ++i) j["id2label"][std::to_string(i)] = "LABEL_" + std::to_string(i);
}

}  // namespace

// Bert

const std::vector<std::string>& Family<models::Bert>::kinds() { return bert_kinds(); }
models::Bert Family<models::Bert>::make(const Source& from) {
  models::BertConfig c = bert_config(from);
  for (const char* name : {"pooler.dense.weight", "bert.pooler.dense.weight", "roberta.pooler.dense.weight"})
    if (from.weights.has(name)) c.pooler = true;
  return models::Bert(c, from.site);
}
Layout Family<models::Bert>::layout(const Source& from, const models::Bert&) {
  Layout l = bert_layout(from, "");
  drop(l, {"cls.*", "lm_head.*", "classifier.*", "qa_outputs.*", "pre_classifier.*", "vocab_transform.*",
           "vocab_layer_norm.*", "vocab_projector.*"});
  return l;
}
std::vector<Value> Family<models::Bert>::inputs(const models::Bert& m) { return bert_inputs(m); }
std::vector<Value> Family<models::Bert>::outputs(const models::Bert& m) {
  std::vector<Value> all{{"last_hidden_state", float32, {"batch", "tokens", m.config().hidden_size}}};
  if (m.pooler) all.push_back({"pooler_output", float32, {"batch", m.config().hidden_size}});
  return all;
}
NamedTensors Family<models::Bert>::call(models::Bert& m, const NamedTensors& in, const Site& s) {
  const models::BertOutputs out = called(m, in, s);
  NamedTensors r{{"last_hidden_state", out.last_hidden_state}};
  if (m.pooler) r.set("pooler_output", out.pooler_output);
  return r;
}
Saved saved(const models::Bert& m) {
  Saved r = begun_as(m.config(), {"BertModel", "RobertaModel", "DistilBertModel"}, "");
  if (m.pooler && (!has_types(m.config()) || m.config().pooler_act != models::Activation::tanh))
    r.problem = "a pooler goes with token types, and has the activation tanh";
  return r;
}

// BertForSequenceClassification

using OfTexts = models::BertForSequenceClassification;
const std::vector<std::string>& Family<OfTexts>::kinds() { return bert_kinds(); }
OfTexts Family<OfTexts>::make(const Source& from) {
  models::BertConfig c = bert_config(from);
  c.pooler = true;
  if (is_distilbert(from.config)) c.pooler_act = models::Activation::relu;
  return OfTexts(c, from.config.labels(), from.site);
}
Layout Family<OfTexts>::layout(const Source& from, const OfTexts&) {
  Layout l = bert_layout(from, "bert.");
  if (is_roberta(from.config)) {
    l.renames.push_back({"^classifier.dense", "bert.pooler.dense"});
    l.renames.push_back({"^classifier.out_proj", "classifier"});
    drop(l, {"roberta.pooler.*"});
  }
  if (is_distilbert(from.config)) l.renames.push_back({"^pre_classifier", "bert.pooler.dense"});
  return l;
}
std::vector<Value> Family<OfTexts>::inputs(const OfTexts& m) { return bert_inputs(m.bert); }
std::vector<Value> Family<OfTexts>::outputs(const OfTexts& m) {
  return {{"logits", float32, {"batch", m.classifier.out_features()}}};
}
NamedTensors Family<OfTexts>::call(OfTexts& m, const NamedTensors& in, const Site& s) {
  return {{"logits", called(m, in, s)}};
}
Saved saved(const OfTexts& m) {
  const models::BertConfig& c = m.bert.config();
  Saved r = begun_as(c,
                     {"BertForSequenceClassification", "RobertaForSequenceClassification",
                      "DistilBertForSequenceClassification"},
                     "bert.");
  if (!has_types(c)) r.renames.insert(r.renames.begin(), {"^bert.pooler.dense", "pre_classifier"});
  if (has_types(c) && is_shifted(c))
    r.renames.insert(r.renames.begin(),
                     {{"^classifier", "classifier.out_proj"}, {"^bert.pooler.dense", "classifier.dense"}});
  const models::Activation pooled = has_types(c) ? models::Activation::tanh : models::Activation::relu;
  if (c.pooler_act != pooled) r.problem = std::string("its pooler's activation is ") + name_of(pooled);
  add_labels(r.config, m.classifier.out_features());
  return r;
}

// BertForTokenClassification

using OfTokens = models::BertForTokenClassification;
const std::vector<std::string>& Family<OfTokens>::kinds() { return bert_kinds(); }
OfTokens Family<OfTokens>::make(const Source& from) {
  return OfTokens(bert_config(from), from.config.labels(), from.site);
}
Layout Family<OfTokens>::layout(const Source& from, const OfTokens&) {
  Layout l = bert_layout(from, "bert.");
  drop(l, {"bert.pooler.*", "roberta.pooler.*"});
  return l;
}
std::vector<Value> Family<OfTokens>::inputs(const OfTokens& m) { return bert_inputs(m.bert); }
std::vector<Value> Family<OfTokens>::outputs(const OfTokens& m) {
  return {{"logits", float32, {"batch", "tokens", m.classifier.out_features()}}};
}
NamedTensors Family<OfTokens>::call(OfTokens& m, const NamedTensors& in, const Site& s) {
  return {{"logits", called(m, in, s)}};
}
Saved saved(const OfTokens& m) {
  Saved r = begun_as(
      m.bert.config(),
      {"BertForTokenClassification", "RobertaForTokenClassification", "DistilBertForTokenClassification"},
      "bert.");
  add_labels(r.config, m.classifier.out_features());
  return r;
}

// BertForMaskedLM

using OfMasks = models::BertForMaskedLM;
const std::vector<std::string>& Family<OfMasks>::kinds() { return bert_kinds(); }
OfMasks Family<OfMasks>::make(const Source& from) {
  const bool tied = from.config.flag("tie_word_embeddings", true);
  if (!tied && kind_of(from.config) != "bert") from.config.unsupported("tie_word_embeddings", "true");
  return OfMasks(bert_config(from), tied, from.site);
}
Layout Family<OfMasks>::layout(const Source& from, const OfMasks& m) {
  Layout l = bert_layout(from, "bert.");
  drop(l, {"bert.pooler.*", "roberta.pooler.*", "cls.predictions.decoder.bias", "lm_head.decoder.*",
           "vocab_projector.weight"});
  if (!m.cls.predictions.decoder) drop(l, {"cls.predictions.decoder.weight"});
  for (Rename rule : {Rename{"^lm_head.dense", "cls.predictions.transform.dense"},
                      {"^lm_head.layer_norm", "cls.predictions.transform.LayerNorm"},
                      {"^lm_head.bias", "cls.predictions.bias"},
                      {"^vocab_transform", "cls.predictions.transform.dense"},
                      {"^vocab_layer_norm", "cls.predictions.transform.LayerNorm"},
                      {"^vocab_projector.bias", "cls.predictions.bias"}})
    l.renames.push_back(std::move(rule));
  return l;
}
std::vector<Value> Family<OfMasks>::inputs(const OfMasks& m) { return bert_inputs(m.bert); }
std::vector<Value> Family<OfMasks>::outputs(const OfMasks& m) {
  return {{"logits", float32, {"batch", "tokens", m.bert.config().vocab_size}}};
}
NamedTensors Family<OfMasks>::call(OfMasks& m, const NamedTensors& in, const Site& s) {
  return {{"logits", called(m, in, s)}};
}
Saved saved(const OfMasks& m) {
  const models::BertConfig& c = m.bert.config();
  Saved r = begun_as(c, {"BertForMaskedLM", "RobertaForMaskedLM", "DistilBertForMaskedLM"}, "bert.");
  const bool tied = !m.cls.predictions.decoder;
  r.config["tie_word_embeddings"] = tied;
  if (has_types(c) && !is_shifted(c)) return r;
  if (!tied) r.problem = "of this family BERT alone has a decoder with weights of its own";
  const std::string dense = has_types(c) ? "lm_head.dense" : "vocab_transform",
                    norm = has_types(c) ? "lm_head.layer_norm" : "vocab_layer_norm",
                    bias = has_types(c) ? "lm_head.bias" : "vocab_projector.bias";
  r.renames.insert(r.renames.begin(), {{"^cls.predictions.transform.dense", dense},
                                       {"^cls.predictions.transform.LayerNorm", norm},
                                       {"^cls.predictions.bias", bias}});
  return r;
}

}  // namespace lazy::pretrained
