// Compiles regular expressions and finds what they match, by PCRE2.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/site.hpp"

namespace lazy::text::unicode {

/// Holds a regular expression over UTF-8. Any thread may match it. What a match may cost is bounded: a file's
/// expression can't make a call run for ever.
class Regex {
 public:
  /// Compiles an expression. Error, with what is wrong and where, for one that is none.
  Regex(std::string_view pattern, const Site&);

  /// Holds a place in a text: [begin, end).
  using Match = std::pair<size_t, size_t>;
  /// Returns the first match that begins at `from` or later, none if there is none. Error if finding out
  /// takes too many steps. Invariant: the text is UTF-8, and `from` lies at a character.
  std::optional<Match> find(std::string_view text, size_t from, const Site&) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

/// Calls f(begin, end) for each match, from left to right; an empty one right behind another is none.
template <class F>
void each_match(const Regex& regex, std::string_view text, const Site& s, F&& f) {
  size_t from = 0, last_end = std::string_view::npos;
  while (from <= text.size()) {
    const auto match = regex.find(text, from, s);
    if (!match) return;
    if (match->first == match->second && match->second == last_end) {
      if (from == text.size()) return;
      do ++from;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80);
      continue;
    }
    from = last_end = match->second;
    f(match->first, match->second);
  }
}

}  // namespace lazy::text::unicode
