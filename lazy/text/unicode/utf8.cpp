#include "lazy/text/unicode/utf8.hpp"

#include <algorithm>
#include <cstring>

namespace lazy::text::unicode {

bool is_ascii(std::string_view text) {
  size_t at = 0;
  for (uint64_t eight; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if (eight & 0x8080808080808080u) return false;
  }
  for (; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  return true;
}

size_t first_malformed(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const int length = well_formed(text, at);
    if (length < 0) return at;
    at += static_cast<size_t>(length);
  }
  return std::string_view::npos;
}

size_t count(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

}  // namespace lazy::text::unicode
