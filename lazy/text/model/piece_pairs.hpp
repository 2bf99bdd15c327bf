// Defines byte pair encoding as SentencePiece has it: neighbours are joined where the two together are a
// piece.
#pragma once
#include "lazy/text/model/model.hpp"
#include "lazy/text/model/trie.hpp"

namespace lazy::text::model {

/// Joins neighbours, the piece of the largest score first, until no two are a piece. User-defined pieces are
/// found first and stay as they are; unused ones are taken apart again at the end.
class PiecePairs : public Model {
 public:
  enum class Kind : uint8_t { normal, user_defined, unused, reserved };  // reserved: never made of text
  std::vector<double> scores;                                            // by id
  std::vector<Kind> kinds;                                               // by id
  Id unknown = kNone;
  bool byte_fallback = false;
  /// Builds what cut() needs. Returns false if there is too much user-defined.
  bool prepare();
  void cut(std::string_view word, std::vector<Token>& out, const Site&) const override;

 private:
  class Joining;
  uint32_t first_symbol(std::string_view rest, bool& frozen) const;
  void put(std::string_view word, uint32_t begin, uint32_t end, std::vector<Token>& out) const;
  Trie user_;
  std::vector<Id> bytes_;
  bool any_unused_ = false;
};

}  // namespace lazy::text::model
