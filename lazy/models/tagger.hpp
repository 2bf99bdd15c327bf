// A tagger of sequences by an LSTM, with the names of torch's tutorial.
#pragma once
#include "lazy/nn/modules/embedding.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/nn/modules/recurrent.hpp"

namespace lazy::models {

struct LSTMTaggerConfig {
  int64_t vocabulary = 20000, embedding = 128, hidden = 256, tags = 50, layers = 1;
  bool bidirectional = false;
};

/// Returns for each token of ids (N, T) the scores (N, T, tags) of its tag.
struct LSTMTagger : nn::Module {
  nn::Embedding word_embeddings;
  nn::LSTM lstm;
  nn::Linear hidden2tag;
  explicit LSTMTagger(const LSTMTaggerConfig& config = {}, Site s = Site::current());
  Tensor operator()(Arg ids) const;
  LAZY_MODULE(word_embeddings, lstm, hidden2tag)
};

}  // namespace lazy::models
