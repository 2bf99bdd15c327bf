// Reads and writes UTF-8. Texts are checked once, where they come in; what is inside reads without checks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/utf8.hpp"

namespace lazy::text::unicode {

inline constexpr char32_t kReplacement = 0xFFFD;  // stands for bytes that are no UTF-8

/// Returns whether a byte goes on with a character that began before it.
inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Returns how many bytes the character has that begins with this byte.
inline uint32_t length_of(char first) {
  const auto b = static_cast<unsigned char>(first);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}
inline uint32_t length_of(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

/// Returns the character at `at`, and moves `at` behind it. Invariant: the text is UTF-8.
inline char32_t next(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t first = byte(0);
  if (first < 0x80) {
    ++at;
    return first;
  }
  char32_t c = 0;
  const uint32_t length = length_of(text[at]);
  if (length == 2) c = (first & 0x1F) << 6 | (byte(1) & 0x3F);
  if (length == 3) c = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  if (length == 4) c = (first & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  at += length;
  return c;
}

/// Returns the character that ends before `at`, and moves `at` to where it begins. Invariant: there is one.
inline char32_t previous(std::string_view text, size_t& at) {
  do --at;
  while (continues(text[at]));
  size_t begin = at;
  return next(text, begin);
}

/// Appends a character.
inline void append(std::string& to, char32_t c) {
  const auto put = [&](char32_t bits) { to.push_back(static_cast<char>(bits)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

using utf8::repaired;
using utf8::well_formed;
/// Returns the place of the first byte that is no UTF-8, or npos.
size_t first_malformed(std::string_view text);
/// Returns whether all bytes are below 0x80.
bool is_ascii(std::string_view text);
/// Returns how many characters a text has. Invariant: it is UTF-8.
size_t count(std::string_view text);

}  // namespace lazy::text::unicode
