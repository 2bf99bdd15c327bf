// Names a model that writes texts, of whichever architecture.
#pragma once
#include <functional>

#include "lazy/models/models.hpp"
#include "lazy/pretrained/pretrained.hpp"

namespace lazy::text {

/// Refers to a model that tells the scores of what follows a token and remembers the tokens before. The model
/// outlives it.
class CausalModel {
 public:
  CausalModel(const models::GPT2&);   // NOLINT(google-explicit-constructor): a model is one
  CausalModel(const models::Llama&);  // NOLINT(google-explicit-constructor): likewise
  /// Error for a model of another type than GPT2 and Llama.
  CausalModel(pretrained::Model&, Site s = Site::current());  // NOLINT(google-explicit-constructor): likewise

  /// Returns how many tokens a text can have.
  int64_t positions() const { return positions_; }
  /// Returns how many tokens there are scores of.
  int64_t vocab_size() const { return vocab_size_; }
  /// Returns the tokens that end a text, as the model's file says.
  const std::vector<int64_t>& ends() const { return ends_; }
  /// Returns an empty cache for so many sequences, and tokens of each.
  models::KeyValueCache cache(int64_t sequences, int64_t positions, Site s = Site::current()) const;
  /// Returns scores (N, T, V) of what follows each of ids (N, T) behind the cache's tokens, and adds them to
  /// it. Errors as the model has them.
  Tensor operator()(Arg ids, models::KeyValueCache&) const;
  /// Does the same, and returns the scores behind the last of the ids alone, (N, 1, V).
  Tensor next_scores(Arg ids, models::KeyValueCache&) const;

 private:
  const models::GPT2* gpt2_ = nullptr;
  const models::Llama* llama_ = nullptr;
  int64_t positions_ = 0, vocab_size_ = 0;
  std::vector<int64_t> ends_;
};

}  // namespace lazy::text
