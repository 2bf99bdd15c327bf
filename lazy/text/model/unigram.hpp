// Defines the model that takes the most probable way of cutting a word.
#pragma once
#include "lazy/text/model/model.hpp"
#include "lazy/text/model/trie.hpp"

namespace lazy::text::model {

/// Cuts a word so that the sum of the tokens' scores is the largest. Characters without a token count as 10
/// less than the lowest score; neighbours of them are one unknown token.
class Unigram : public Model {
 public:
  std::vector<double> scores;  // by id
  Id unknown = kNone;
  bool byte_fallback = false;
  // Sums are rounded to float32 after each token, as SentencePiece's own library has them.
  bool single_precision = false;
  std::vector<bool> is_unused;        // by id, where any is: such tokens are never taken
  std::vector<bool> is_user_defined;  // by id, where any is: such tokens have the score 0

  /// Builds what cut() needs. Returns false if the vocabulary is too large for it.
  bool prepare();
  void cut(std::string_view word, std::vector<Token>& out, const Site&) const override;

 private:
  struct Best;
  void search(std::string_view word, std::vector<Best>& best, const Site&) const;
  void put_unknown(std::string_view word, uint32_t begin, uint32_t end, std::vector<Token>& out) const;
  Trie trie_;
  std::vector<Id> bytes_;
  double unknown_score_ = 0;
};

}  // namespace lazy::text::model
