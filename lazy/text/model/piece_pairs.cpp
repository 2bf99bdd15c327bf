#include "lazy/text/model/piece_pairs.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::model {

bool PiecePairs::prepare() {
  std::vector<std::pair<std::string_view, uint32_t>> texts;
  for (Id id = 0; id < kinds.size(); ++id) {
    any_unused_ |= kinds[id] == Kind::unused;
    if (const auto token = vocabulary.token(id); token && kinds[id] == Kind::user_defined)
      texts.emplace_back(*token, id);
  }
  bytes_ = byte_tokens(vocabulary);
  if (texts.empty()) return true;
  user_ = Trie(std::move(texts));
  return !user_.empty();
}

/// Returns the bytes of what a text begins with: the longest user-defined piece, or a character.
uint32_t PiecePairs::first_symbol(std::string_view rest, bool& frozen) const {
  uint32_t size = 0;
  if (!user_.empty()) {
    uint32_t node = Trie::kRoot;
    for (uint32_t i = 0; i < rest.size() && (node = user_.step(node, rest[i])) != Trie::kNowhere; ++i)
      if (user_.value(node) != Trie::kNoValue) size = i + 1;
  }
  frozen = size > 0;
  return frozen ? size : unicode::length_of(rest[0]);
}

/// Joins the symbols of a word.
class PiecePairs::Joining {
 public:
  struct Symbol {
    uint32_t begin, size;  // size 0: joined to the one before
    int32_t before, after;
    bool frozen;
  };
  Joining(const PiecePairs& model, std::string_view word) : model_(model), word_(word) {
    for (uint32_t at = 0; at < word.size();) {
      const auto n = static_cast<int32_t>(symbols.size());
      bool frozen = false;
      const uint32_t size = model.first_symbol(word.substr(at), frozen);
      symbols.push_back({at, size, n - 1, n + 1, frozen});
      at += size;
    }
    const auto end = static_cast<int32_t>(symbols.size());
    symbols.back().after = -1;
    for (int32_t i = 1; i < end; ++i) offer(i - 1, i);
  }

  void run() {
    while (!open_.empty()) {
      const Pair pair = open_.top();
      open_.pop();
      Symbol &left = at(pair.left), &right = at(pair.right);
      if (left.size == 0 || right.size == 0 || left.size + right.size != pair.size) continue;
      left.size = pair.size;
      left.after = right.after;
      if (right.after >= 0) at(right.after).before = pair.left;
      right.size = 0;
      offer(left.before, pair.left);
      offer(pair.left, left.after);
    }
  }
  /// Appends a symbol, unused pieces as what they were joined of.
  void put(const Symbol& symbol, std::vector<Token>& out) const {
    std::vector<std::pair<uint32_t, uint32_t>> stack{{symbol.begin, symbol.begin + symbol.size}};
    while (!stack.empty()) {
      const auto [begin, end] = stack.back();
      stack.pop_back();
      const auto parts = unused_.find(word_.substr(begin, end - begin));
      if (parts == unused_.end()) {
        model_.put(word_, begin, end, out);
      } else {
        stack.emplace_back(begin + parts->second, end);
        stack.emplace_back(begin, begin + parts->second);
      }
    }
  }
  std::vector<Symbol> symbols;

 private:
  struct Pair {
    double score;
    int32_t left, right;
    uint32_t size;
    bool operator<(const Pair& o) const { return score != o.score ? score < o.score : left > o.left; }
  };
  Symbol& at(int32_t i) { return symbols[static_cast<size_t>(i)]; }
  void offer(int32_t left, int32_t right) {
    if (left < 0 || right < 0 || at(left).frozen || at(right).frozen) return;
    const uint32_t size = at(left).size + at(right).size;
    const std::string_view both = word_.substr(at(left).begin, size);
    const Id id = model_.vocabulary.find(both);
    if (id == kNone || model_.kinds[id] == Kind::reserved) return;
    open_.push({model_.scores[id], left, right, size});
    if (model_.any_unused_ && model_.kinds[id] == Kind::unused) unused_[both] = at(left).size;
  }
  const PiecePairs& model_;
  std::string_view word_;
  std::priority_queue<Pair> open_;
  std::map<std::string_view, uint32_t> unused_;  // bytes of the left part of unused pieces
};

void PiecePairs::put(std::string_view word, uint32_t begin, uint32_t end, std::vector<Token>& out) const {
  const std::string_view part = word.substr(begin, end - begin);
  const Id id = vocabulary.find(part);
  if (id != kNone && id != unknown) {
    out.push_back({id, begin, end});
  } else if (byte_fallback) {
    for (const char b : part) out.push_back({bytes_[static_cast<unsigned char>(b)], begin, end});
  } else if (!out.empty() && out.back().id == unknown && out.back().end == begin) {
    out.back().end = end;
  } else {
    out.push_back({unknown, begin, end});
  }
}

void PiecePairs::cut(std::string_view word, std::vector<Token>& out, const Site&) const {
  if (word.empty()) return;
  Joining joining(*this, word);
  joining.run();
  std::vector<Token> tokens;
  for (const auto& symbol : joining.symbols)
    if (symbol.size > 0) joining.put(symbol, tokens);
  out.insert(out.end(), tokens.begin(), tokens.end());
}

}  // namespace lazy::text::model
