// Defines the models that go word by word: whole words, and the longest parts.
#pragma once
#include <string>

#include "lazy/text/model/model.hpp"
#include "lazy/text/model/trie.hpp"

namespace lazy::text::model {

/// Takes a word that is a token as it is, and any other as the unknown one.
class WordLevel : public Model {
 public:
  std::string unknown;
  void cut(std::string_view word, std::vector<Token>& out, const Site&) const override;
};

/// Takes the longest token that a word begins with, then, with a prefix, the longest that the rest does. What
/// can't be taken apart so is the unknown token as a whole.
class WordPiece : public Model {
 public:
  std::string unknown, prefix = "##";
  uint64_t longest_word = 100;  // in characters
  /// Builds what cut() needs. Returns false if the vocabulary is too large for it.
  bool prepare();
  void cut(std::string_view word, std::vector<Token>& out, const Site&) const override;

 private:
  Trie trie_;
  uint32_t inside_ = Trie::kNowhere;  // where the prefix leads
};

}  // namespace lazy::text::model
