#include "lazy/text/model/unigram.hpp"

#include <algorithm>
#include <limits>

#include "lazy/text/unicode/utf8.hpp"
#include "support/error.hpp"

namespace lazy::text::model {

/// Holds the best way to a place of the word: its last token, where that begins, and the sum of scores.
struct Unigram::Best {
  Id id = kNone;
  uint32_t begin = kNone;  // kNone: no way leads here
  double score = 0;
};

bool Unigram::prepare() {
  std::vector<std::pair<std::string_view, uint32_t>> texts;
  constexpr double kPenalty = 10;  // of unknown characters
  double lowest =
      single_precision ? std::numeric_limits<float>::max() : std::numeric_limits<double>::infinity();
  for (Id id = 0; id < vocabulary.end(); ++id) {
    const bool is_user = !is_user_defined.empty() && is_user_defined[id];
    const bool counts = !single_precision || (!is_unused[id] && !is_user);
    if (counts) lowest = std::min(lowest, scores[id]);
    if (!is_unused.empty() && is_unused[id]) continue;
    if (const auto token = vocabulary.token(id); token && !token->empty()) texts.emplace_back(*token, id);
  }
  unknown_score_ = single_precision ? static_cast<float>(lowest - kPenalty) : lowest - kPenalty;
  trie_ = Trie(std::move(texts));
  bytes_ = byte_tokens(vocabulary);
  return !trie_.empty();
}

void Unigram::search(std::string_view word, std::vector<Best>& best, const Site& s) const {
  const auto rounded = [&](double score) { return single_precision ? static_cast<float>(score) : score; };
  for (uint32_t begin = 0; begin < word.size();) {
    const double here = best[begin].score;
    const uint32_t one = unicode::length_of(word[begin]);
    bool has_one = false;
    const auto offer = [&](uint32_t end, Id id, double sum) {
      Best& b = best[end];
      sum = rounded(sum);
      if (b.begin == kNone || sum > b.score) b = {id, begin, sum};
    };
    uint32_t node = Trie::kRoot;
    for (uint32_t at = begin; at < word.size();) {
      node = trie_.step(node, word[at++]);
      if (node == Trie::kNowhere) break;
      const Id id = trie_.value(node);
      if (id == Trie::kNoValue) continue;
      const bool user = !is_user_defined.empty() && is_user_defined[id];
      offer(at, id, (user ? 0 : scores[id]) + here);  // others are below 0
      has_one |= at - begin == one;
    }
    if (!has_one) {
      if (unknown == kNone)
        throw Error("encode: '" + std::string(word.substr(begin, one)) +
                        "' has no token, and the model no unknown token",
                    s);
      offer(begin + one, unknown, unknown_score_ + here);
    }
    begin += one;
  }
}

/// Appends what stands for characters that are no tokens: one for each byte, or the unknown one.
void Unigram::put_unknown(std::string_view word, uint32_t begin, uint32_t end,
                          std::vector<Token>& out) const {
  const std::string_view part = word.substr(begin, end - begin);
  if (const Id id = single_precision ? kNone : vocabulary.find(part); id != kNone) {
    out.push_back({id, begin, end});
    return;
  }
  const auto id_of = [&](char b) { return bytes_[static_cast<unsigned char>(b)]; };
  if (byte_fallback && std::all_of(part.begin(), part.end(), [&](char b) { return id_of(b) != kNone; })) {
    for (const char b : part) out.push_back({id_of(b), begin, end});
    return;
  }
  out.push_back({unknown, begin, end});
}

void Unigram::cut(std::string_view word, std::vector<Token>& out, const Site& s) const {
  std::vector<Best> best(word.size() + 1);
  search(word, best, s);
  std::vector<Token> backwards;
  for (auto end = static_cast<uint32_t>(word.size()); end > 0; end = best[end].begin) {
    const Best& b = best[end];
    if (b.id == unknown && !backwards.empty() && backwards.back().id == unknown)
      backwards.back().begin = b.begin;
    else backwards.push_back({b.id, b.begin, end});
  }
  for (auto t = backwards.rbegin(); t != backwards.rend(); ++t)
    t->id == unknown ? put_unknown(word, t->begin, t->end, out) : out.push_back(*t);
}

}  // namespace lazy::text::model
