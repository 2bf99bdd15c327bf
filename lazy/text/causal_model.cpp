#include "lazy/text/causal_model.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/error.hpp"

namespace lazy::text {
namespace {

/// Returns the ids that a model's config, or metadata of GGUF, says end a text.
std::vector<int64_t> ends_of(const std::string& config) {
  std::vector<int64_t> ids;
  const auto j = nlohmann::json::parse(config, nullptr, false);
  const auto add = [&](const nlohmann::json& v) {
    if (v.is_number() && v.get<double>() >= 0 && v.get<double>() < 1e9) ids.push_back(v.get<int64_t>());
  };
  for (const char* key : {"eos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
    if (j.is_object() && j.contains(key)) {
      if (j[key].is_array()) std::for_each(j[key].begin(), j[key].end(), add);
      else add(j[key]);
    }
  return ids;
}

}  // namespace

CausalModel::CausalModel(const models::GPT2& m)
    : gpt2_(&m), positions_(m.config().n_positions), vocab_size_(m.config().vocab_size) {}

CausalModel::CausalModel(const models::Llama& m)
    : llama_(&m), positions_(m.longest()), vocab_size_(m.config().vocab_size) {}

CausalModel::CausalModel(pretrained::Model& m, Site s) {
  if (const auto* const gpt2 = m.get<models::GPT2>()) *this = CausalModel(*gpt2);
  else if (const auto* const llama = m.get<models::Llama>()) *this = CausalModel(*llama);
  else throw Error("CausalModel: a " + m.name() + " does not write texts, expected a GPT2 or Llama", s);
  ends_ = ends_of(m.config());
}

models::KeyValueCache CausalModel::cache(int64_t sequences, int64_t positions, Site s) const {
  return gpt2_ ? gpt2_->cache(sequences, positions, s) : llama_->cache(sequences, positions, s);
}

Tensor CausalModel::operator()(Arg ids, models::KeyValueCache& cache) const {
  return gpt2_ ? (*gpt2_)(std::move(ids), cache) : (*llama_)(std::move(ids), cache);
}

Tensor CausalModel::next_scores(Arg ids, models::KeyValueCache& cache) const {
  return gpt2_ ? gpt2_->next_scores(std::move(ids), cache) : llama_->next_scores(std::move(ids), cache);
}

}  // namespace lazy::text
