#include "lazy/text/pipeline/decoder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "lazy/text/pipeline/bytes.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == text.npos) return;
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  text = out.append(text, done);
}

/// Takes out spaces that stand before punctuation, and before what is left of a contraction, in English.
void clean_up(std::string& text) {
  constexpr std::array<std::array<std::string_view, 2>, 11> kReplacements{{{" .", "."},
                                                                           {" ?", "?"},
                                                                           {" !", "!"},
                                                                           {" ,", ","},
                                                                           {" ' ", "'"},
                                                                           {" n't", "n't"},
                                                                           {" 'm", "'m"},
                                                                           {" do not", " don't"},
                                                                           {" 's", "'s"},
                                                                           {" 've", "'ve"},
                                                                           {" 're", "'re"}}};
  for (const auto& [from, to] : kReplacements) replace_all(text, from, to);
}

/// Returns the byte that "<0x41>" stands for; none if the text is nothing like it.
std::optional<char> byte_token(std::string_view token) {
  constexpr size_t kSize = 6;
  if (token.size() != kSize || !token.starts_with("<0x") || !token.ends_with('>')) return {};
  unsigned value = 0;
  std::string_view digits = token.substr(3, 2);
  if (digits[0] == '+') digits.remove_prefix(1);  // numbers are read so
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return static_cast<char>(value);
}

}  // namespace

void WordPieceDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i != 0) {
      if (tokens[i].starts_with(prefix)) tokens[i].erase(0, prefix.size());
      else tokens[i].insert(0, 1, ' ');
    }
    if (cleanup) clean_up(tokens[i]);
  }
}

void ByteLevelDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  std::string bytes, own;
  for (const std::string& token : tokens) {
    own.clear();
    bool all = true;
    for (size_t at = 0; all && at < token.size();) {
      const int byte = byte_of(unicode::next(token, at));
      all = byte >= 0;
      own.push_back(static_cast<char>(byte));
    }
    bytes += all ? own : token;
  }
  tokens.assign(1, unicode::repaired(bytes));
}

void MetaspaceDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  for (size_t i = 0; i < tokens.size(); ++i)
    replace_all(tokens[i], replacement, i == 0 && drops_first ? "" : " ");
}

void BpeDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  for (size_t i = 0; i < tokens.size(); ++i)
    replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
}

void ReplaceDecoder::operator()(std::vector<std::string>& tokens, const Site& s) const {
  for (std::string& token : tokens) {
    std::string out;
    size_t done = 0;
    pattern.each(token, s, [&](size_t begin, size_t end) {
      out.append(token, done, begin - done).append(content);
      done = end;
    });
    token = out.append(token, done);
  }
}

void ByteFallbackDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  std::vector<std::string> out;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (unicode::first_malformed(bytes) == bytes.npos) out.push_back(bytes);
    else
      for (size_t i = 0; i < bytes.size(); ++i) unicode::append(out.emplace_back(), unicode::kReplacement);
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_token(token)) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    out.push_back(std::move(token));
  }
  flush();
  tokens = std::move(out);
}

void SentencePieceDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  constexpr std::string_view kSpace = "\u2581";
  std::string text, bytes;
  bool at_start = true, dropped = false;
  const auto flush = [&] {
    for (size_t at = 0; at < bytes.size();) {
      const int size = unicode::well_formed(bytes, at);
      if (size > 0) text.append(bytes, at, static_cast<size_t>(size));
      else unicode::append(text, unicode::kReplacement);
      at += size > 0 ? static_cast<size_t>(size) : 1;
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = has_bytes ? byte_token(token) : std::nullopt) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    if (dropped || !text.empty()) at_start = false;
    dropped = false;
    if (token == unknown) {
      text += unknown_surface;
      continue;
    }
    if (at_start && drops_first && token.starts_with(kSpace)) {
      token.erase(0, kSpace.size());
      dropped = !drops_all_first;
    }
    replace_all(token, kSpace, " ");
    text += token;
  }
  flush();
  tokens.assign(1, std::move(text));
}

void FuseDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens.assign(1, std::move(all));
}

void StripDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (uint64_t i = 0; i < start && rest.starts_with(content); ++i) rest.remove_prefix(content.size());
    for (uint64_t i = 0; i < stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
    token = std::string(rest);
  }
}

void CtcDecoder::operator()(std::vector<std::string>& tokens, const Site&) const {
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (std::string& token : tokens) {
    replace_all(token, pad_token, "");
    if (!cleanup) continue;
    clean_up(token);
    replace_all(token, word_delimiter_token, " ");
  }
  std::erase(tokens, "");
}

}  // namespace lazy::text::pipeline
