// Finds tokens that stand in a text as they are: special ones, and others that were added to a model's.
#pragma once
#include <string>
#include <vector>

#include "lazy/text/model/trie.hpp"
#include "lazy/text/model/vocabulary.hpp"
#include "lazy/text/pipeline/aligned.hpp"
#include "lazy/text/pipeline/normalizer.hpp"

namespace lazy::text::pipeline {

struct AddedToken {
  std::string content;
  model::Id id = model::kNone;
  bool single_word = false;  // not within a word
  bool lstrip = false;       // takes the whitespace before it
  bool rstrip = false;       // takes the whitespace behind it
  bool normalized = true;    // found in the normalized text
  bool special = false;      // left out by decoding
  std::string decoded{};     // what it is decoded from: the normalized content; empty: the content
};

class AddedTokens {
 public:
  static constexpr size_t kLongest = 4096;  // bytes of a token: finding them stays linear

  /// Takes tokens; the first of equal ones counts. Returns false if they are too long, or too many.
  bool set(std::vector<AddedToken> tokens, const Normalizer* normalizer, const Site&);
  /// Takes tokens that are special where tokens are decoded, and text in a text.
  void only_for_decoding(std::vector<AddedToken> tokens);
  /// Normalizes a text and cuts it into added tokens and what lies between.
  Draft operator()(std::string_view text, const Normalizer* normalizer, const Site&) const;

  const std::vector<AddedToken>& all() const { return tokens_; }
  /// Returns an added token by its id; null if there is none.
  const AddedToken* of(model::Id id) const;
  const AddedToken* of(std::string_view content) const;

 private:
  void number();
  template <class F>
  void find(std::string_view text, const model::Trie&, F&& f) const;
  bool is_single(std::string_view text, size_t begin, size_t end) const;
  std::vector<AddedToken> tokens_;
  std::vector<uint32_t> by_id_;  // sorted by id
  model::Vocabulary contents_;   // to numbers in tokens_
  model::Trie raw_, normalized_;
};

}  // namespace lazy::text::pipeline
