#include "lazy/text/pipeline/charsmap.hpp"

#include <algorithm>
#include <cstring>

#include "lazy/text/unicode/properties.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::pipeline {
namespace {

// A unit of the double array: the label of the edge that leads to it (or, with the upper bit, a value), where
// its children are, and whether a text ends at it.
uint32_t label(uint32_t unit) { return unit & (0x80000000u | 0xFF); }
bool ends(uint32_t unit) { return unit >> 8 & 1; }
uint32_t children(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

}  // namespace

std::string Charsmap::set(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof size) return "the table has fewer than 4 bytes";
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size > bytes.size() || size % sizeof(uint32_t) != 0 || size == 0)
    return "its first part has " + std::to_string(size) + " bytes, but " + std::to_string(bytes.size()) +
           " follow";
  units_.resize(size / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes.data(), size);
  texts_ = bytes.substr(size);
  if (const size_t at = unicode::first_malformed(texts_); at != texts_.npos) {
    units_.clear();
    return "its texts are no UTF-8 at byte " + std::to_string(at);
  }
  return {};
}

std::optional<Charsmap::Found> Charsmap::find(std::string_view text, bool first) const {
  std::optional<Found> found;
  if (units_.empty()) return found;
  uint64_t node = children(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= children(unit);
    if (!ends(unit) || node >= units_.size()) continue;
    const uint32_t begin = units_[node] & 0x7FFFFFFFu;
    if (begin >= texts_.size() || unicode::continues(texts_[begin])) continue;
    const char* const from = texts_.data() + begin;
    found = Found{{from, strnlen(from, texts_.size() - begin)}, i + 1};
    if (first) break;
  }
  return found;
}

void Precompiled::operator()(Aligned& text, const Site&) const {
  constexpr size_t kLongestCluster = 5;  // bytes; longer ones are replaced character by character
  const std::string_view bytes = text.bytes();
  std::vector<unicode::Change> changes;
  changes.reserve(bytes.size());
  bool any = false;
  const auto put = [&](std::string_view part) {
    const auto found = map.shortest(part);
    if (!found) return false;
    any = true;
    const auto before = static_cast<int32_t>(unicode::count(part));
    const auto after = static_cast<int32_t>(unicode::count(found->text));
    int32_t n = 0;
    for (size_t at = 0; at < found->text.size(); ++n)
      changes.push_back({unicode::next(found->text, at), n >= before ? 1 : 0});
    if (after < before && !changes.empty()) changes.back().change -= before - after;
    return true;
  };
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = begin;
    char32_t last = unicode::next(bytes, end);
    unicode::ClusterBreaks breaks;
    for (size_t after = end; after < bytes.size(); end = after) {
      const char32_t c = unicode::next(bytes, after);
      if (breaks.between(last, c)) break;
      last = c;
    }
    if (end - begin <= kLongestCluster && put(bytes.substr(begin, end - begin))) {
      begin = end;
      continue;
    }
    while (begin < end) {
      size_t after = begin;
      const char32_t c = unicode::next(bytes, after);
      if (!put(bytes.substr(begin, after - begin))) changes.push_back({c, 0});
      begin = after;
    }
  }
  if (any) text.transform(changes);
}

bool SentencePieceNormalizer::prepare() {
  std::vector<std::pair<std::string_view, uint32_t>> texts;
  for (const std::string& u : user_defined) texts.emplace_back(u, 0);
  if (texts.empty()) return true;
  user_ = model::Trie(std::move(texts));
  return !user_.empty();
}

/// Returns how many bytes at `at` are replaced, and by what.
size_t SentencePieceNormalizer::step(std::string_view text, size_t at, std::string_view& replacement) const {
  const std::string_view rest = text.substr(at);
  if (!user_.empty()) {
    size_t size = 0;
    uint32_t node = user_.kRoot;
    for (size_t i = 0; i < rest.size() && (node = user_.step(node, rest[i])) != user_.kNowhere; ++i)
      if (user_.value(node) != user_.kNoValue) size = i + 1;
    if (size > 0) {
      replacement = rest.substr(0, size);
      return size;
    }
  }
  if (const auto found = map.longest(rest)) {
    replacement = found->text;
    return found->size;
  }
  const uint32_t size = unicode::length_of(rest[0]);
  replacement = rest.substr(0, size);
  return size;
}

/// Collects the result, in which characters stand for parts of the text.
struct SentencePieceNormalizer::Out {
  Aligned text;
  const Aligned& from;
  std::string_view space;
  void put_space(size_t at) { text.append(space, from, static_cast<int64_t>(at)); }
};

void SentencePieceNormalizer::operator()(Aligned& text, const Site&) const {
  const std::string_view bytes = text.bytes();
  Out out{{}, text, escape_whitespaces ? "\u2581" : " "};
  size_t at = 0, last_space = 0;
  std::string_view part;
  if (remove_extra_whitespaces)
    while (at < bytes.size()) {
      const size_t size = step(bytes, at, part);
      if (part != " ") break;
      at += size;
    }
  if (at == bytes.size()) {
    text = {};
    return;
  }
  bool after_space = remove_extra_whitespaces;
  if (add_dummy_prefix && !whitespace_is_suffix) out.put_space(at);
  while (at < bytes.size()) {
    const size_t size = step(bytes, at, part);
    if (after_space)
      while (part.starts_with(' ')) part.remove_prefix(1);
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] == ' ') {
        out.put_space(at);
      } else {
        size_t end = part.find(' ', i);
        if (end == part.npos) end = part.size();
        if (part.data() == bytes.data() + at)
          out.text.append(text, static_cast<uint32_t>(at + i), static_cast<uint32_t>(at + end));
        else out.text.append(part.substr(i, end - i), text, static_cast<int64_t>(at));
        i = end - 1;
      }
    }
    if (!part.empty()) after_space = remove_extra_whitespaces && part.ends_with(' ');
    at += size;
    last_space = at;
  }
  Aligned result;
  std::string_view written = out.text.bytes();
  while (remove_extra_whitespaces && written.ends_with(out.space)) written.remove_suffix(out.space.size());
  result.append(out.text, 0, static_cast<uint32_t>(written.size()));
  if (add_dummy_prefix && whitespace_is_suffix)
    result.append(out.space, text, static_cast<int64_t>(last_space) - 1);
  text = std::move(result);
}

}  // namespace lazy::text::pipeline
