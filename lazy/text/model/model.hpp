// Defines what a model of a tokenizer does: it cuts a word into tokens of its vocabulary.
#pragma once
#include <string_view>
#include <vector>

#include "lazy/text/model/vocabulary.hpp"
#include "support/site.hpp"

namespace lazy::text::model {

/// Holds a token of a word: its id, and which bytes of the word it stands for.
struct Token {
  Id id;
  uint32_t begin, end;
};

class Model {
 public:
  virtual ~Model() = default;
  /// Appends the tokens of a word. Error for what the vocabulary has no token for, unknown ones included.
  /// Any thread may call it.
  virtual void cut(std::string_view word, std::vector<Token>& out, const Site&) const = 0;

  Vocabulary vocabulary;
};

/// Returns the ids of "<0x00>" to "<0xFF>", kNone for those that are no tokens.
std::vector<Id> byte_tokens(const Vocabulary&);

}  // namespace lazy::text::model
