#include "lazy/models/tagger.hpp"

namespace lazy::models {

LSTMTagger::LSTMTagger(const LSTMTaggerConfig& c, Site s)
    : word_embeddings(c.vocabulary, c.embedding, {}, s),
      lstm(c.embedding, c.hidden,
           {.num_layers = c.layers, .batch_first = true, .bidirectional = c.bidirectional}, s),
      hidden2tag(c.hidden * (c.bidirectional ? 2 : 1), c.tags, {}, s) {}

Tensor LSTMTagger::operator()(Arg ids) const {
  const Site s = ids.site();
  return hidden2tag(Arg(lstm(Arg(word_embeddings(std::move(ids)), s)).output, s));
}

}  // namespace lazy::models
