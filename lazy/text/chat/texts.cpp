#include <algorithm>

#include "lazy/text/chat/builtins.hpp"
#include "lazy/text/unicode/properties.hpp"
#include "lazy/text/unicode/utf8.hpp"

namespace lazy::text::chat {
namespace {

/// Returns whether Python's str.strip() takes the character away.
bool is_stripped(char32_t c) { return unicode::is_whitespace(c) || (c >= 0x1C && c <= 0x1F); }

void append_lower(std::string& to, char32_t c) {
  const unicode::Lower l = unicode::lower(c);
  unicode::append(to, l.first);
  if (l.second) unicode::append(to, l.second);
}
void append_upper(std::string& to, char32_t c) {
  if (c == 0xDF) to += "SS";  // the one character of many texts that becomes two
  else unicode::append(to, unicode::upper(c));
}

}  // namespace

std::string stripped(const std::string& s, const std::string* characters, bool left, bool right) {
  const auto strips = [&](char32_t c) {
    if (!characters) return is_stripped(c);
    for (size_t i = 0; i < characters->size();)
      if (unicode::next(*characters, i) == c) return true;
    return false;
  };
  size_t begin = 0, end = s.size();
  while (left && begin < end) {
    size_t next = begin;
    if (!strips(unicode::next(s, next))) break;
    begin = next;
  }
  while (right && end > begin) {
    size_t before = end;
    if (!strips(unicode::previous(s, before))) break;
    end = before;
  }
  return s.substr(begin, end - begin);
}

std::string upper(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size();) append_upper(out, unicode::next(s, i));
  return out;
}
std::string lower(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size();) append_lower(out, unicode::next(s, i));
  return out;
}
std::string capitalized(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    const bool first = i == 0;
    const char32_t c = unicode::next(s, i);
    if (first) append_upper(out, c);
    else append_lower(out, c);
  }
  return out;
}
std::string titled(const std::string& s) {
  std::string out;
  bool inside = false;  // a word
  for (size_t i = 0; i < s.size();) {
    const char32_t c = unicode::next(s, i);
    if (inside) append_lower(out, c);
    else append_upper(out, c);
    inside = unicode::is_letter(c);
  }
  return out;
}

std::string replaced(Meter& m, const std::string& s, const std::string& from, const std::string& to,
                     int64_t most) {
  std::string out;
  if (from.empty()) m.fail("an empty text can't be replaced");
  size_t at = 0;
  for (size_t found = 0; most != 0 && (found = s.find(from, at)) != s.npos; --most) {
    m.charge(1 + to.size() / 16);
    out.append(s, at, found - at).append(to);
    at = found + from.size();
  }
  return out.append(s, at);
}

}  // namespace lazy::text::chat
