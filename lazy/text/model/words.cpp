#include "lazy/text/model/words.hpp"

#include "lazy/text/unicode/utf8.hpp"
#include "support/error.hpp"

namespace lazy::text::model {
namespace {

/// Returns the id of the unknown token, or throws Error: the word has no token.
Id unknown_id(const Vocabulary& v, const std::string& unknown, std::string_view word, const Site& s) {
  const Id id = v.find(unknown);
  if (id == kNone)
    throw Error("encode: '" + std::string(word.substr(0, 64)) +
                    "' has no token, and the vocabulary has no unknown token '" + unknown + "'",
                s);
  return id;
}

}  // namespace

std::vector<Id> byte_tokens(const Vocabulary& v) {
  const char* const digits = "0123456789ABCDEF";
  std::vector<Id> ids;
  for (int b = 0; b < 256; ++b)
    ids.push_back(v.find(std::string("<0x") + digits[b >> 4] + digits[b & 15] + ">"));
  return ids;
}

void WordLevel::cut(std::string_view word, std::vector<Token>& out, const Site& s) const {
  Id id = vocabulary.find(word);
  if (id == kNone) id = unknown_id(vocabulary, unknown, word, s);
  out.push_back({id, 0, static_cast<uint32_t>(word.size())});
}

bool WordPiece::prepare() {
  std::vector<std::pair<std::string_view, uint32_t>> texts;
  for (Id id = 0; id < vocabulary.end(); ++id)
    if (const auto token = vocabulary.token(id); token && vocabulary.find(*token) == id)
      texts.emplace_back(*token, id);
  trie_ = Trie(std::move(texts));
  if (trie_.empty()) return false;
  inside_ = trie_.walk(prefix);
  return true;
}

void WordPiece::cut(std::string_view word, std::vector<Token>& out, const Site& s) const {
  const size_t first = out.size();
  bool known = word.size() <= longest_word || unicode::count(word) <= longest_word;
  for (size_t begin = 0; known && begin < word.size();) {
    uint32_t node = begin == 0 ? Trie::kRoot : inside_;
    size_t end = begin;
    Id id = kNone;
    for (size_t at = begin; at < word.size() && node != Trie::kNowhere;) {
      node = trie_.step(node, word[at++]);
      if (node != Trie::kNowhere && trie_.value(node) != Trie::kNoValue) {
        id = trie_.value(node);
        end = at;
      }
    }
    known = id != kNone;
    out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    begin = end;
  }
  if (known) return;
  out.resize(first);
  out.push_back({unknown_id(vocabulary, unknown, word, s), 0, static_cast<uint32_t>(word.size())});
}

}  // namespace lazy::text::model
