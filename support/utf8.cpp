#include "support/utf8.hpp"

#include <cstdlib>

namespace lazy::utf8 {

int well_formed(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const size_t left = text.size() - at;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return -1;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte excludes overlong forms, surrogates, and what is above U+10FFFF.
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i)
    if (i >= left || byte(i) < (i == 1 ? low : 0x80u) || byte(i) > (i == 1 ? high : 0xBFu))
      return -static_cast<int>(i);
  return static_cast<int>(length);
}

std::string repaired(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const int length = well_formed(text, at);
    if (length > 0) out.append(text, at, static_cast<size_t>(length));
    else out += "\xef\xbf\xbd";
    at += static_cast<size_t>(std::abs(length));
  }
  return out;
}

}  // namespace lazy::utf8
