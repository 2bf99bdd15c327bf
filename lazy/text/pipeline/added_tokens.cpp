#include "lazy/text/pipeline/added_tokens.hpp"

#include <algorithm>

#include "lazy/text/unicode/properties.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {

using model::Trie;

bool AddedTokens::set(std::vector<AddedToken> tokens, const Normalizer* normalizer, const Site& s) {
  tokens_ = std::move(tokens);
  std::vector<std::string> texts(tokens_.size());
  std::vector<std::pair<std::string_view, uint32_t>> raw, normalized;
  for (size_t i = tokens_.size(); i-- > 0;) {  // the last of equal ones counts
    AddedToken& token = tokens_[i];
    if (token.content.size() > kLongest) return false;
    Aligned text(token.content, 0);
    if (token.normalized && normalizer) (*normalizer)(text, s);
    texts[i] = token.decoded = text.bytes();
    if (!texts[i].empty())
      (token.normalized ? normalized : raw).emplace_back(texts[i], static_cast<uint32_t>(i));
  }
  const bool any_raw = !raw.empty(), any_normalized = !normalized.empty();
  raw_ = any_raw ? Trie(std::move(raw)) : Trie();
  normalized_ = any_normalized ? Trie(std::move(normalized)) : Trie();
  number();
  return !(any_raw && raw_.empty()) && !(any_normalized && normalized_.empty());
}

void AddedTokens::number() {
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    by_id_.push_back(i);
    if (contents_.find(tokens_[i].content) == model::kNone) contents_.add(tokens_[i].content, i);
  }
  std::stable_sort(by_id_.begin(), by_id_.end(),
                   [&](uint32_t a, uint32_t b) { return tokens_[a].id < tokens_[b].id; });
}

void AddedTokens::only_for_decoding(std::vector<AddedToken> tokens) {
  tokens_ = std::move(tokens);
  number();
}

const AddedToken* AddedTokens::of(model::Id id) const {
  // Of two with one id the last one is its text.
  const auto after = std::upper_bound(by_id_.begin(), by_id_.end(), id,
                                      [&](model::Id v, uint32_t i) { return v < tokens_[i].id; });
  if (after == by_id_.begin() || tokens_[*(after - 1)].id != id) return nullptr;
  return &tokens_[*(after - 1)];
}

const AddedToken* AddedTokens::of(std::string_view content) const {
  const model::Id i = contents_.find(content);
  return i == model::kNone ? nullptr : &tokens_[i];
}

bool AddedTokens::is_single(std::string_view text, size_t begin, size_t end) const {
  size_t before = begin, after = end;
  return (begin == 0 || !unicode::is_word(unicode::previous(text, before))) &&
         (end == text.size() || !unicode::is_word(unicode::next(text, after)));
}

/// Calls f(begin, end, token) for what lies between tokens (null) and for these, from left to right.
template <class F>
void AddedTokens::find(std::string_view text, const Trie& trie, F&& f) const {
  size_t done = 0;  // up to here all is given to f
  for (size_t at = 0; !trie.empty() && at < text.size();) {
    uint32_t node = trie.step(Trie::kRoot, text[at]);
    const AddedToken* token = nullptr;
    size_t end = at;
    for (size_t i = at + 1; node != Trie::kNowhere; node = trie.step(node, text[i++])) {
      if (trie.value(node) != Trie::kNoValue) {
        token = &tokens_[trie.value(node)];
        end = i;
      }
      if (i == text.size()) break;
    }
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at;
    at = end;
    if (token->single_word && !is_single(text, begin, end)) continue;
    if (token->lstrip)
      for (size_t b = begin; b > done && unicode::is_whitespace(unicode::previous(text, b));) begin = b;
    if (token->rstrip)
      for (size_t e = end; e < text.size() && unicode::is_whitespace(unicode::next(text, e));) end = e;
    begin = std::max(begin, done);
    end = std::max(end, begin);
    if (done < begin) f(done, begin, nullptr);
    f(begin, end, token);
    done = end;
  }
  if (done < text.size()) f(done, text.size(), nullptr);
}

Draft AddedTokens::operator()(std::string_view text, const Normalizer* normalizer, const Site& s) const {
  Draft draft;
  const auto put = [&](const Aligned& from, size_t begin, size_t end, const AddedToken* token) {
    const auto at = static_cast<uint32_t>(draft.text.bytes().size());
    draft.text.append(from, static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
    draft.pieces.push_back(
        {at, static_cast<uint32_t>(draft.text.bytes().size()), token ? token->id : model::kNone});
  };
  find(text, raw_, [&](size_t begin, size_t end, const AddedToken* token) {
    Aligned part(std::string(text.substr(begin, end - begin)), static_cast<uint32_t>(begin));
    if (token) return put(part, 0, end - begin, token);
    if (normalizer) (*normalizer)(part, s);
    const bool is_all = draft.pieces.empty() && end == text.size() && normalized_.empty();
    if (is_all && !part.bytes().empty()) {
      draft.pieces.push_back({0, static_cast<uint32_t>(part.bytes().size())});
      draft.text = std::move(part);
      return;
    }
    find(part.bytes(), normalized_, [&](size_t b, size_t e, const AddedToken* t) { put(part, b, e, t); });
  });
  return draft;
}

}  // namespace lazy::text::pipeline
